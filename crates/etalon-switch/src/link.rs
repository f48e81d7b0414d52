//! A store-and-forward link: a transmitter, and the packets on the way to the far end.

use etalon_units::{Rate, Serializer, Span, Time};

use crate::event_queue::{EventQueue, Kind};
use crate::pool::{PacketId, Pool, Queue};

/// A link. It has two events: its transmitter is free again, and a packet reaches the far end.
#[derive(Debug)]
pub(crate) struct Link {
    transmitter: Serializer,
    delay: Span,
    /// Packets in transmission or propagation. Each takes the same delay, so they arrive in order.
    on_the_way: Queue,
    /// Among the links of its kind.
    port: u16,
    free: Kind,
    arrival: Kind,
}

impl Link {
    pub(crate) fn new(rate: Rate, delay: Span, port: u16, free: Kind, arrival: Kind) -> Link {
        Link {
            transmitter: Serializer::new(rate),
            delay,
            on_the_way: Queue::new(),
            port,
            free,
            arrival,
        }
    }

    /// When the transmitter is done with its last packet.
    #[inline]
    pub(crate) const fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// Asks to be served at `time`, [`Time::MAX`] for not at all.
    #[inline]
    pub(crate) fn serve_at(&self, event_queue: &mut EventQueue, time: Time) {
        event_queue.set(self.free, self.port, time);
    }

    /// Starts to transmit a packet; the transmitter must be free. Returns when the transmission ends.
    #[inline]
    pub(crate) fn send<H: Copy>(
        &mut self,
        now: Time,
        id: PacketId,
        pool: &mut Pool<H>,
        event_queue: &mut EventQueue,
    ) -> Time {
        debug_assert!(self.free_at() <= now, "the transmitter is busy");
        let entry = pool.get_mut(id);
        let end = self.transmitter.transmit(now, entry.packet.bytes);
        entry.due = end + self.delay;
        if self.on_the_way.is_empty() {
            event_queue.set(self.arrival, self.port, end + self.delay);
        }
        self.on_the_way.push(pool, id);
        end
    }

    /// Takes the first packet from the far end.
    #[inline]
    pub(crate) fn receive<H: Copy>(
        &mut self,
        pool: &Pool<H>,
        event_queue: &mut EventQueue,
    ) -> Option<PacketId> {
        let id = self.on_the_way.pop(pool);
        let next = self.on_the_way.front();
        event_queue.set(
            self.arrival,
            self.port,
            next.map_or(Time::MAX, |id| pool.get(id).due),
        );
        id
    }
}
