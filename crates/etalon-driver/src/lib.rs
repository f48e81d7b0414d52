//! What the network driver of the virtual-time kernel does, without the kernel.
//!
//! The kernel hands over the packets that its hosts send, and calls when its one timer is due; packets come back through
//! an [`Environment`], and everything that happens is written to a log of 32-byte records. Like the switch, the crate is
//! sans-I/O and `no_std`: time is an argument, packets are opaque handles.
//!
//! - [`Driver`]: hosts, network and milestones around one timer.
//! - [`setup`]: what the kernel is started with, in bytes.
//! - [`record`]: the log, in bytes.
#![no_std]

extern crate alloc;

mod driver;
mod edge;
pub mod record;
pub mod setup;
mod words;

pub use driver::{Driver, NewError};
pub use edge::{Environment, Milestone, Sent, Socket};
