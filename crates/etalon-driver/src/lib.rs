// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the network driver of the virtual-time kernel does, without the kernel.
//!
//! The kernel hands over the packets that its hosts send, and calls when its one timer is due; packets come back through
//! a [`Kernel`], and everything that happens is written to a log of
//! [events](etalon_events::Event) in 32-byte records. Like the switch, the crate is
//! sans-I/O and `no_std`: time is an argument, packets are opaque handles.
//!
//! - [`Driver`]: the net around one timer, and the kernel's clock.
#![no_std]

extern crate alloc;

mod c;
mod claims;
mod connections;
mod desk;
mod driver;
mod edge;
mod weeks;

pub use c::CPacket;
pub use desk::{Order, encode_orders, encode_week};
pub use driver::{Driver, NewError};
pub use edge::{Kernel, Sent, Socket};
pub use etalon_net::Milestone;
pub use weeks::{WeekReader, tell_demand, tell_week};
