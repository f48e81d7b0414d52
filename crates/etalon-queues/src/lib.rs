// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of packets inside networks, and what finds out which of many is next.
//!
//! - [`Pool`]: all packets of a network; [`Queue`] and [`Line`] are lists through it.
//! - [`Classes`]: one queue with a list for each class of traffic, which drops, marks, trims or returns what finds no room.
//! - [`DropTail`]: a queue whose departures are known when packets come.
//! - [`Fifo`]: first in, first out, in one piece of memory.
//! - [`Calendar`], [`Pending`]: the first of many ports or hosts that have something to do.
//!
//! Like all of a network it is sans-I/O and `no_std`: time is an argument.
#![no_std]

extern crate alloc;

mod calendar;
mod classes;
mod drop_tail;
mod fifo;
mod pending;
mod pool;

pub use calendar::Calendar;
pub use classes::{Classes, Lists, Room};
pub use drop_tail::DropTail;
pub use fifo::Fifo;
pub use pending::Pending;
pub use pool::{Line, PacketId, Pool, Queue};
