// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens in a network and around it: one [`Event`] type, and all that follows from it.
//!
//! Whoever does something says so to a [`Probe`]; whoever measures, records or compares is one. An event's record of 32
//! bytes, its part in a run's digest, its name and the names of its fields are derived from its one declaration in
//! `event.rs`, so that a new event is declared there, emitted where it happens, and is in logs, digests, traces and the
//! differential test.
//!
//! Like the switch, the crate is sans-I/O and `no_std`.
#![no_std]

#[cfg(test)]
extern crate std;

mod counter;
mod declare;
mod digest;
mod drop_reason;
mod event;
mod packet;
mod place;
mod probe;
mod record;
mod recovery_state;

pub use counter::Counter;
pub use digest::Digest;
pub use drop_reason::DropReason;
pub use etalon_scenario::{HostId, Pair, Plane, QueueId};
pub use event::{Event, Source};
pub use packet::{MOST_FLOWS, PacketHeader};
pub use probe::{Listener, Probe, Weeks};
pub use record::{DATA_MAX, RECORD_BYTES, Record, RecordError};
pub use recovery_state::RecoveryState;
