// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets in flight that are not TCP's.

use etalon_net::{Arrival, Class};
use etalon_transports::ndp;

use crate::packet::{PacketId, Route};

/// Packets with this bit in their handle are here, the others in the [pool](crate::packet::PacketPool) of TCP's.
const APART: PacketId = 1 << 31;

/// What a packet is to its transport.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Ndp(ndp::Header),
    /// A packet of a flow that RotorLB carries, by its number.
    Bulk(u32),
}

impl Body {
    /// Whether it has payload.
    pub(crate) fn is_data(&self) -> bool {
        match self {
            Body::Ndp(packet) => packet.is_data(),
            Body::Bulk(_) => true,
        }
    }
}

/// A packet of a transport that is not TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    pub(crate) body: Body,
    pub(crate) flow: u32,
    pub(crate) route: Route,
    /// Which of the network's paths it takes.
    pub(crate) label: u16,
    pub(crate) class: Class,
    /// Length on the wire in bytes.
    pub(crate) bytes: u32,
}

/// Whether a handle is of one of these.
#[inline(always)] // with every packet
pub(crate) fn is_parcel(handle: PacketId) -> bool {
    handle & APART != 0
}

/// All of them. Places are used again, last out first in.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    parcels: Vec<Parcel>,
    free: Vec<PacketId>,
}

impl Parcels {
    pub(crate) fn insert(&mut self, parcel: Parcel) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.parcels[(id ^ APART) as usize] = parcel;
            return id;
        }
        self.parcels.push(parcel);
        (self.parcels.len() - 1) as PacketId | APART
    }

    pub(crate) fn get(&self, id: PacketId) -> &Parcel {
        &self.parcels[(id ^ APART) as usize]
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, id: PacketId) -> Parcel {
        self.free.push(id);
        *self.get(id)
    }

    /// What the network needs to know of one.
    pub(crate) fn entering(&self, id: PacketId) -> Arrival<PacketId> {
        let parcel = self.get(id);
        Arrival {
            packet: etalon_net::Packet {
                handle: id,
                src: parcel.route.src,
                dst: parcel.route.dst,
                bytes: parcel.bytes,
            },
            ect: false,
            pure_ack: !parcel.body.is_data(),
            class: parcel.class,
            label: parcel.label,
        }
    }

    /// The largest number that were in flight together.
    pub(crate) fn peak(&self) -> usize {
        self.parcels.len()
    }
}
