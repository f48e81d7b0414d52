// SPDX-License-Identifier: MIT OR Apache-2.0
//! An egress port: a drop-tail queue in front of a link.

use etalon_queues::{PacketId, Queue};
use etalon_switch::{Packet, QueueId, Transmission};
use etalon_units::{Serializer, Time};

use etalon_scenario::{Egress, Node};

/// A packet in the fabric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside<H> {
    pub(crate) packet: Packet<H>,
    pub(crate) entered: Time,
    /// Of its flow.
    pub(crate) hash: u32,
    pub(crate) ect: bool,
    pub(crate) ce: bool,
}

/// All packets in the fabric.
pub(crate) type Pool<H> = etalon_queues::Pool<Inside<H>>;

/// An egress port.
#[derive(Debug)]
pub(crate) struct Port {
    link: Serializer,
    /// Where it leads.
    pub(crate) to: Node,
    pub(crate) queue: QueueId,
    /// Which of the fabric's wires is behind it.
    pub(crate) wire: u8,
    pub(crate) is_up: bool,
    /// Packets that fit.
    capacity: u32,
    mark_above: u32,
    /// Packets that count as queued, the one in transmission included.
    pub(crate) len: u32,
    /// Of so many bytes, and bytes that were transmitted: where telemetry is wanted.
    pub(crate) bytes: u64,
    pub(crate) sent: u64,
    /// Those that can be transmitted: the first is in transmission.
    ready: Queue,
}

impl Port {
    pub(crate) fn new(egress: &Egress, wire: u8) -> Port {
        Port {
            link: Serializer::new(egress.link.rate),
            to: egress.to,
            queue: egress.queue,
            wire,
            is_up: true,
            capacity: egress.link.queue,
            mark_above: egress.link.mark_above.unwrap_or(u32::MAX),
            len: 0,
            bytes: 0,
            sent: 0,
            ready: Queue::new(),
        }
    }

    /// Takes a packet into account, or returns false if the queue is full.
    #[inline]
    pub(crate) fn admit(&mut self) -> bool {
        let fits = self.len < self.capacity;
        self.len += u32::from(fits);
        fits
    }

    /// What telemetry says of the packet that was just transmitted; of use where its bytes were counted.
    #[inline]
    pub(crate) const fn transmission(&self) -> Transmission {
        Transmission {
            port: self.queue,
            queue: self.bytes,
            sent: self.sent,
            rate: self.link.rate(),
        }
    }

    /// Whether a packet that was just admitted is to be marked.
    #[inline]
    pub(crate) fn marks(&self) -> bool {
        self.len > self.mark_above
    }

    /// A packet that was admitted can be transmitted. Returns when its transmission ends, if it begins.
    #[inline]
    pub(crate) fn push<H: Copy>(
        &mut self,
        now: Time,
        pool: &mut Pool<H>,
        id: PacketId,
    ) -> Option<Time> {
        let is_idle = self.ready.is_empty();
        self.ready.push(pool, id);
        is_idle.then(|| self.link.transmit(now, pool.get_mut(id).packet.bytes))
    }

    /// The packet in transmission is transmitted. Returns it, and when the transmission of the next ends, if there is one.
    #[inline]
    pub(crate) fn pop<H: Copy>(
        &mut self,
        now: Time,
        pool: &mut Pool<H>,
    ) -> Option<(PacketId, Option<Time>)> {
        let id = self.ready.pop(pool)?;
        self.len -= 1;
        let next = self.ready.front();
        let end = next.map(|next| self.link.transmit(now, pool.get(next).packet.bytes));
        Some((id, end))
    }

    /// Takes the first packet that can be transmitted, of a link that is down.
    pub(crate) fn lose<H: Copy>(&mut self, pool: &mut Pool<H>) -> Option<PacketId> {
        self.link = Serializer::new(self.link.rate());
        let id = self.ready.pop(pool)?;
        self.len -= 1;
        Some(id)
    }
}
