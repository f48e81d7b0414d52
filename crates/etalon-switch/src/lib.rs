// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hybrid switch of a reconfigurable data centre network.
//!
//! Racks are joined by a packet network, slow and always there, and by a circuit network, fast and only there for the
//! rack pairs of the current matching. Each top-of-rack switch holds a virtual output queue ([VOQ](Switch::voq_len))
//! for every other rack; both networks drain the VOQs.
//!
//! The crate is sans-I/O: time is an argument, packets are opaque handles, and what happens comes out through the
//! [`Sink`] (packets) and a [`Probe`] (events). It is `no_std`, so that a simulator and a kernel drive the same code.
#![no_std]

extern crate alloc;

mod changes;
mod circuit_network;
mod core;
mod entry;
mod event_queue;
mod executor;
mod faults;
mod link;
mod packet;
mod packet_network;
mod round_robin;
mod rules;
mod sink;
mod sleep;
mod steps;
mod switch;
pub mod tell;
mod voq;
mod week;

pub use etalon_events::{DropReason, Event, Plane, Probe, QueueId, Weeks};
pub use etalon_scenario::{
    CircuitNetwork, Class, ConfigError, Configuration, CrossConnect, HostId, Marking, Matching,
    Night, Notify, PacketNetwork, Pair, PairVoq, Rdcn, Resize, Schedule, ScheduleError, VoqConfig,
};
pub use packet::{Arrival, Packet};
pub use sink::{Departure, Sink, Transmission};
pub use switch::Switch;
