//! The hybrid switch of a reconfigurable data centre network.
//!
//! Racks are joined by a packet network, slow and always there, and by a circuit network, fast and only there for the
//! rack pairs of the current matching. Each top-of-rack switch holds a virtual output queue ([VOQ](Switch::voq_len))
//! for every other rack; both networks drain the VOQs.
//!
//! The crate is sans-I/O: time is an argument, packets are opaque handles, and what happens comes out through the
//! [`Sink`] (packets) and the [`Probe`] (events). It is `no_std`, so that a simulator and a kernel drive the same code.
#![no_std]

extern crate alloc;

mod config;
mod probe;
mod schedule;

pub use config::{Config, CircuitNetwork, Marking, PacketNetwork, Resize, VoqConfig};
pub use probe::{Departure, DropReason, Network, Pair, Probe, Sink};
pub use schedule::{Configuration, Matching, Schedule, ScheduleError};
