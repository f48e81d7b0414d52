// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes out of a switch: packets to a sink.

use etalon_units::{Rate, Span, Time};

use crate::{DropReason, Packet, Pair, Plane, QueueId};

/// A packet that leaves a network at the ToR switch of the host that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Departure<H> {
    /// The packet, as it entered.
    pub packet: Packet<H>,
    /// When it leaves.
    pub time: Time,
    /// From entering the switch to leaving it.
    pub latency: Span,
    /// The queue that it waited in.
    pub queue: QueueId,
    /// The plane that carried it.
    pub plane: Plane,
    /// The switch marked it: set CE in the IP header.
    pub ce: bool,
    /// A circuit for the opposite direction is up or near: set ECE in the TCP header.
    pub ece: bool,
    /// Only its header is left, which is as long as the packet says.
    pub trimmed: bool,
}

/// A packet's port, as it was when the packet left its queue: in-band telemetry (INT; HPCC, SIGCOMM'19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Which port, by the node that it is of and a number there that no other has; in the hybrid switch its rack and the plane.
    pub port: QueueId,
    /// Bytes that are left in the queue.
    pub queue: u64,
    /// Bytes that the port has transmitted by then.
    pub sent: u64,
    /// Rate of the link.
    pub rate: Rate,
}

/// Takes the packets that leave the switch, one way or the other. Each handle comes out exactly once.
pub trait Sink<H> {
    /// A packet leaves towards its host.
    fn deliver(&mut self, departure: Departure<H>);

    /// A packet is dropped.
    fn discard(&mut self, now: Time, handle: H, pair: Pair, reason: DropReason);

    /// Whether it is told what its packets met in their queues ([`Transmission`]): keeping that costs something with each packet.
    const STAMPS: bool = false;

    /// A packet left its queue. In the hybrid switch that is its VOQ, or its hold, and its transmission starts: what a demand estimator
    /// counts down by; one that was [held](crate::Event::Held) is dequeued once more. In other networks it is each queue on its way.
    /// `from` is of use where [`STAMPS`](Sink::STAMPS) says so.
    #[inline]
    fn dequeued(&mut self, now: Time, handle: H, from: Transmission) {
        let _ = (now, handle, from);
    }

    /// A packet for which there was no room, or no way, is back at the host that sent it. Whoever makes nothing of that has it dropped.
    #[inline]
    fn give_back(&mut self, now: Time, handle: H, pair: Pair, why: DropReason) {
        self.discard(now, handle, pair, why);
    }

    /// A slice of time starts, number `slice` from 0: circuits are others than before.
    #[inline]
    fn slice_began(&mut self, now: Time, slice: u64) {
        let _ = (now, slice);
    }

    /// The ToR of `pair.src` tells its hosts that the TDN `tdn` leads to rack `pair.dst` from [`Notify::before`](crate::Notify)
    /// after `now` on (TDTCP, SIGCOMM'22 section 4.2); only if that is set. The number of a TDN is that of its plane.
    ///
    /// Hosts begin with [`Plane::PACKET`] for every rack, and what differs from that when the first week starts is told then. If a
    /// week is adopted that does not go on as the old one would have, its roll-over is when hosts are told.
    fn tdn_changed(&mut self, now: Time, pair: Pair, tdn: Plane) {
        let _ = (now, pair, tdn);
    }
}
