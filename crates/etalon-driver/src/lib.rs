//! What the network driver of the virtual-time kernel does, without the kernel.
//!
//! The kernel hands over the packets that its hosts send, and calls when its one timer is due; packets come back through
//! an [`Environment`], and everything that happens is written to a log of
//! [events](etalon_events::Event) in 32-byte records. Like the switch, the crate is
//! sans-I/O and `no_std`: time is an argument, packets are opaque handles.
//!
//! - [`Driver`]: hosts, network, milestones and the computing of weeks around one timer.
//! - [`Network`]: the network, also for whoever follows a log outside the kernel.
//! - [`setup`]: what the kernel is started with, in bytes.
#![no_std]

extern crate alloc;

mod accounts;
mod driver;
mod edge;
mod network;
pub mod setup;
mod weeks;
mod words;

pub use driver::{Driver, NewError};
pub use edge::{Environment, Milestone, Sent, Socket};
pub use network::Network;
pub use weeks::{WeekReader, tell_week};
