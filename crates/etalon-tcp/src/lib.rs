// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sans-I/O TCP endpoint that behaves like Linux's where it matters to the results of reconfigurable networks.
//!
//! Whoever owns the clock feeds a [`Connection`] with segments and timer expiries and takes segments out of it. All times
//! are host time: nanoseconds on the end host's own clock, which under time dilation runs faster than the network's.
//! Payload is counted, not carried.

mod calls;
pub mod cc;
mod config;
mod connection;
mod handshake;
mod linux;
mod memory;
pub mod mptcp;
mod options;
mod outlet;
mod prediction;
mod rare;
mod receiving;
mod segment;
mod sending;
mod seq;
mod stats;
mod tdn_option;
mod tdtcp;
pub mod telemetry;
mod timers;
mod transmit;

pub use calls::PendingTimer;
pub use config::{Config, Ecn, Tdtcp};
pub use connection::{CloseReason, Connection, ConnectionState};
pub use memory::Memory;
pub use options::{RareOptions, SynOptions};
pub use outlet::Outlet;
pub use segment::{Flags, Segment};
pub use sending::path::{Path, Pipe};
pub use sending::scoreboard::Sums;
pub use stats::Stats;
pub use tdn_option::{PathId, TdDataAck, TdnOption};
