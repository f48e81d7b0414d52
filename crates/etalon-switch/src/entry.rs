// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the switch knows of a packet.

use etalon_units::Time;

use crate::Packet;
use crate::event_queue::Pending;

/// A packet inside the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<H> {
    pub(crate) packet: Packet<H>,
    /// When it entered the switch.
    pub(crate) entered: Time,
    /// That it reaches the far end of the link that it is on.
    pub(crate) arrives: Pending,
    /// Marked CE by the switch.
    pub(crate) ce: bool,
}

/// All of them.
pub(crate) type Pool<H> = etalon_queues::Pool<Entry<H>>;
