// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets in flight, recycled.

use std::mem::{forget, take};

use etalon_net::{Arrival, Class, HostId};
use etalon_scenario::Pair;
use etalon_tcp::{RareOptions, Segment};

use crate::telemetry::Telemetry;

/// Ethernet header (14 bytes) and IPv4 header (20 bytes) around a TCP segment.
pub(crate) const ETHERNET_AND_IP: u32 = 34;

/// From which host to which.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Route {
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
}

impl Route {
    /// From which rack to which.
    #[inline]
    pub(crate) fn pair(&self) -> Pair {
        Pair {
            src: self.src.rack(),
            dst: self.dst.rack(),
        }
    }
}

/// A packet's length and class, in one word: a packet is a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size(u32);

/// Bits of a length.
const LENGTH: u32 = 24;

impl Size {
    /// Without a length, of a class.
    pub(crate) const fn of(class: Class) -> Size {
        Size((class.0 as u32) << LENGTH)
    }

    /// Of the same class, `bytes` long on the wire, Ethernet header included.
    #[inline]
    pub(crate) const fn with(self, bytes: u32) -> Size {
        Size(self.0 | bytes)
    }

    #[inline]
    pub(crate) const fn bytes(self) -> u32 {
        self.0 & ((1 << LENGTH) - 1)
    }

    #[inline]
    pub(crate) const fn class(self) -> Class {
        Class((self.0 >> LENGTH) as u8)
    }
}

/// What is around a segment: the same for all packets of an endpoint, but for their lengths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Envelope {
    /// The receiving endpoint: twice the flow's number, plus one for the flow's server.
    pub(crate) to: u32,
    /// Where that is among those of open flows.
    pub(crate) place: u32,
    pub(crate) route: Route,
    /// What tells its flow from others between these hosts.
    pub(crate) label: u16,
    /// Identification in the IP header, set where packets are captured.
    pub(crate) ip_id: u16,
    pub(crate) size: Size,
}

/// A packet between two hosts: one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    pub(crate) envelope: Envelope,
}

const _: () = assert!(size_of::<Packet>() == 64, "a packet is one cache line");

impl Packet {
    /// What the network needs to know of it.
    #[inline]
    pub(crate) fn entering(&self, id: PacketId) -> Arrival<PacketId> {
        let Envelope {
            route, label, size, ..
        } = self.envelope;
        Arrival {
            packet: etalon_net::Packet {
                handle: id,
                src: route.src,
                dst: route.dst,
                bytes: size.bytes(),
            },
            ect: self.segment.ect,
            pure_ack: self.segment.len == 0,
            class: size.class(),
            label,
        }
    }
}

/// A packet's place in the pool.
pub(crate) type PacketId = u32;

/// Packets of whose options the memory is kept at most.
const MOST_SPARE: usize = 64;

/// All packets in flight. Places are used again, last out first in.
#[derive(Debug, Default)]
pub(crate) struct PacketPool {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    /// Memory of options that were in packets.
    spare: Vec<RareOptions>,
    /// What lies beside them, if any carries telemetry.
    pub(crate) telemetry: Option<Box<Telemetry>>,
}

impl PacketPool {
    /// Has room for a packet of each of so many flows, which may all connect at a time: to grow, all is copied.
    pub(crate) fn with_room(flows: usize) -> PacketPool {
        PacketPool {
            packets: Vec::with_capacity(flows),
            ..PacketPool::default()
        }
    }

    /// Takes a place, to be filled in. The segment there has no rare options.
    #[inline]
    pub(crate) fn take(&mut self) -> (PacketId, &mut Packet) {
        let id = match self.free.pop() {
            Some(id) => id,
            None => self.grow(),
        };
        let packet = &mut self.packets[id as usize];
        if !packet.segment.rare.is_empty() {
            set_aside(&mut self.spare, packet);
            // So that the compiler sees it, and asks no more.
            forget(take(&mut packet.segment.rare));
        }
        (id, packet)
    }

    /// Memory for options, if there is some.
    pub(crate) fn spare(&mut self) -> RareOptions {
        self.spare.pop().unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self) -> PacketId {
        self.packets.push(Packet::default());
        self.packets.len() as PacketId - 1
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// The packet's place may be used again.
    #[inline]
    pub(crate) fn free(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// The largest number of packets that were in flight together.
    pub(crate) fn peak(&self) -> usize {
        // A place that was never filled in has no length.
        self.packets
            .iter()
            .filter(|p| p.envelope.size.bytes() > 0)
            .count()
    }
}

/// Keeps the memory of a packet's options for others.
#[cold]
#[inline(never)]
fn set_aside(spare: &mut Vec<RareOptions>, packet: &mut Packet) {
    let memory = packet.segment.rare.take_memory();
    if spare.len() < MOST_SPARE {
        spare.push(memory);
    }
}
