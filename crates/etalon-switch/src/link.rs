//! A store-and-forward link: a transmitter, and the packets on the way to the far end.

use etalon_units::{Rate, Serializer, Span, Time};

use crate::event_queue::{EventQueue, Kind, Source};
use crate::pool::{PacketId, Pool, Queue};

/// A link. It has two kinds of events: its transmitter is to be served, and a packet reaches the far end.
#[derive(Debug)]
pub(crate) struct Link {
    transmitter: Serializer,
    delay: Span,
    /// Packets in transmission or propagation. Each takes the same delay, so they arrive in order.
    on_the_way: Queue,
    source: Source,
    /// Among the links of its kind.
    port: u16,
    free: Kind,
    arrival: Kind,
    /// When it is to be served, and when the first packet reaches the far end; [`Time::MAX`] for never.
    serve: Time,
    arrives: Time,
}

impl Link {
    pub(crate) fn new(rate: Rate, delay: Span, source: Source, port: u16) -> Link {
        let (free, arrival) = match source {
            Source::Schedule | Source::Circuit => (Kind::CircuitFree, Kind::CircuitArrival),
            Source::Downlink => (Kind::DownlinkFree, Kind::DownlinkArrival),
            Source::Uplink => (Kind::UplinkFree, Kind::UplinkArrival),
        };
        Link {
            transmitter: Serializer::new(rate),
            delay,
            on_the_way: Queue::new(),
            source,
            port,
            free,
            arrival,
            serve: Time::MAX,
            arrives: Time::MAX,
        }
    }

    /// When the transmitter is done with its last packet.
    #[inline]
    pub(crate) const fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// The earliest of its events, if what follows the arrival of a packet takes `after_arrival`, and service `after_service`.
    pub(crate) fn next(&self, after_arrival: Span, after_service: Span) -> Time {
        let served = self.serve.saturating_add(after_service);
        self.arrives.saturating_add(after_arrival).min(served)
    }

    /// Sets its event: the first of two.
    #[inline]
    fn schedule(&self, event_queue: &mut EventQueue) {
        let (serve, arrives) = ((self.serve, self.free), (self.arrives, self.arrival));
        let (time, kind) = serve.min(arrives);
        event_queue.set(self.source, self.port, time, kind);
    }

    /// Asks to be served at `time`, [`Time::MAX`] for not at all.
    #[inline]
    pub(crate) fn serve_at(&mut self, event_queue: &mut EventQueue, time: Time) {
        if self.serve != time {
            self.serve = time;
            self.schedule(event_queue);
        }
    }

    /// Starts to transmit a packet; the transmitter must be free. Returns when the transmission ends.
    #[inline(always)] // with every packet, in three places
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
            self.arrives = end + self.delay;
            self.schedule(event_queue);
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
        self.arrives = next.map_or(Time::MAX, |id| pool.get(id).due);
        self.schedule(event_queue);
        id
    }
}
