// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network that both engines drive: all that lies between the TCPs of hosts, and the order in which it happens.
//!
//! A [`Net`] owns hosts' NICs, delays and jitter, the network between racks, the controller of its weeks, the accounts of
//! demand, the queues in front of hosts, what hosts are told of the network, and the milestones of the experiment. Its owner sends packets, asks what comes next,
//! and has it done; packets come out through an [`Environment`], events through a [`Probe`](etalon_switch::Probe). The simulator
//! puts TCP endpoints and applications on it, the kernel its netdevices.
//!
//! - [`Due`]: the order of what happens at one instant.
//! - [`Edge`]: where hosts meet the network, all that is not between racks.
//! - [`Network`]: a kind of network between racks: [`Hybrid`], the switch of packet and circuit network, or [`Chain`], a plain
//!   chain of queues; [`AnyNetwork`] is one of them, and [`visit`] has code compiled for each.
//! - [`Accounts`]: what hosts say of their demand, and what the network does with it.
//!
//! Like the switch, the crate is sans-I/O and `no_std`: time is an argument, packets are opaque handles of any `Copy` type.
#![no_std]

extern crate alloc;

mod accounts;
mod around;
mod chain;
mod delivery;
mod downlinks;
mod due;
mod edge;
mod environment;
pub mod fabric;
mod host;
mod hybrid;
mod net;
mod network;
mod notices;
mod ocs;
mod switched;

pub use accounts::{Accounts, FourTuple, Part, Segment};
pub use chain::{Chain, Stage};
pub use delivery::Delivery;
pub use due::Due;
pub use edge::{Edge, Milestone};
pub use environment::Environment;
pub use etalon_queues::Fifo;
pub use etalon_scenario::{HostId, Hosts};
pub use etalon_switch::{Arrival, Class, Packet, Transmission};
pub use hybrid::Hybrid;
pub use net::{Advanced, Net, NewError};
pub use network::{AnyNetwork, Described, Network, Visitor, visit};
pub use ocs::Circuits;
