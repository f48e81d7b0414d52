// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet, as a network between racks knows it.

use crate::{Class, HostId, Pair};

/// A packet between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Packet<H> {
    /// Whatever the caller knows the packet by.
    pub handle: H,
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// Length on the wire in bytes.
    pub bytes: u32,
}

impl<H> Packet<H> {
    /// Source and destination rack.
    #[must_use]
    #[inline]
    pub fn pair(&self) -> Pair {
        Pair {
            src: self.src.rack(),
            dst: self.dst.rack(),
        }
    }
}

/// A packet that enters a network at the ToR switch of its host.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<H> {
    /// The packet.
    pub packet: Packet<H>,
    /// The sender is ECN-capable: its IP header may be marked CE.
    pub ect: bool,
    /// It has no payload.
    pub pure_ack: bool,
    /// Its class, where ports have a queue for each.
    pub class: Class,
    /// What tells its flow from others between these hosts, where flows choose among equal ways
    /// ([`flow_label`](etalon_scenario::flow_label)).
    pub label: u16,
}
