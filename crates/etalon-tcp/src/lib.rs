//! A sans-I/O TCP endpoint that behaves like Linux's where it matters to the results of reconfigurable networks.
//!
//! Whoever owns the clock feeds a [`Connection`] with segments and timer expiries and takes segments out of it. All times
//! are host time: nanoseconds on the end host's own clock, which under time dilation runs faster than the network's.
//! Payload is counted, not carried.

mod ack;
mod buffers;
mod calls;
pub mod cc;
mod config;
mod connection;
mod digest;
mod episode;
mod frto;
mod handshake;
mod linux;
mod memory;
pub mod mptcp;
mod newreno;
mod options;
mod outlet;
mod pacing;
mod path;
mod paths;
mod prediction;
mod prr;
mod rack;
mod rare;
mod receiving;
mod recovery;
mod rtt;
mod sack;
mod scoreboard;
mod segment;
mod send_buffer;
mod sender;
mod seq;
mod stats;
mod tdn;
mod tdtcp;
mod timeout;
mod timers;
mod tlp;
mod transmit;
mod tso;
mod undo;
mod validation;

pub use calls::PendingTimer;
pub use config::{Config, Ecn};
pub use connection::{CloseReason, Connection, ConnectionState};
pub use memory::Memory;
pub use options::{RareOptions, SynOptions};
pub use outlet::Outlet;
pub use path::{Path, PathId, Pipe};
pub use scoreboard::Sums;
pub use segment::{Flags, Segment};
pub use stats::Stats;
pub use tdtcp::{TdDataAck, TdnOption, Tdtcp};
