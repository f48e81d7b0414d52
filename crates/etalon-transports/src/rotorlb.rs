// SPDX-License-Identifier: MIT OR Apache-2.0
//! RotorLB: bulk waits at hosts until a circuit leads to its rack, or goes by a host of another rack with what circuits have left.
//!
//! When racks come to be connected, [`Fleet::meet`] decides what each of their hosts sends while they are: first what was relayed and is
//! for the other rack, then what is for it directly, then what others may relay. Each host sends at a steady pace, and knows of no more than
//! its own queues. What cannot leave in time comes back to its queue. After Mellette et al., 'RotorNet: A scalable, low-complexity,
//! optical datacenter network' (SIGCOMM 2017), and 'Expanding across time to deliver bandwidth efficiency and
//! low latency' (NSDI 2020), whose hosts, not ToR switches, hold all queues.

mod commit;
mod fleet;
mod host;
mod queue;
mod shares;

pub use fleet::{Circuit, Config, Fleet};
pub use host::{Bulk, Sending};
