//! What lies between the TCPs of hosts: each [`Host`]'s NIC, delay and jitter, then a [`Fabric`], which is the hybrid
//! switch ([`Hybrid`]) or a plain chain of queues ([`Chain`]).
//!
//! Like the switch, the crate is sans-I/O and `no_std`: time is an argument, packets are opaque handles of any `Copy` type,
//! and packets come out through a [`Sink`](etalon_switch::Sink), so that a simulator and a kernel drive the same code.
//! Whoever drives it does the fabric's events before those of hosts at the same instant.
#![no_std]

extern crate alloc;

mod chain;
mod fabric;
mod fifo;
mod host;

pub use chain::{Chain, Stage};
pub use fabric::{Entering, Fabric, Hybrid};
pub use fifo::Fifo;
pub use host::Host;
