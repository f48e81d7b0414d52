// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store-and-forward link: a transmitter, and the packets on the way to the far end.

use alloc::vec::Vec;

use etalon_queues::{Line, PacketId};
use etalon_units::{Rate, Serializer, Span, Time};

use crate::entry::Pool;
use crate::event_queue::{EventQueue, Kind, Label, Pending, Place, Source};
use crate::{Packet, QueueId, Transmission};

/// A link. It has two kinds of events: its transmitter is to be served, and a packet reaches the far end.
#[derive(Debug)]
pub(crate) struct Link {
    transmitter: Serializer,
    /// Bytes that were given to it, where telemetry is wanted.
    sent: u64,
    delay: Span,
    /// Packets in transmission or propagation. Each takes the same delay, so they arrive in order.
    on_the_way: Line,
    place: Place,
    free: Label,
    arrival: Label,
    /// It is to be served, and the first packet reaches the far end.
    serve: Pending,
    arrives: Pending,
}

impl Link {
    pub(crate) fn new(
        rate: Rate,
        delay: Span,
        source: Source,
        port: u16,
        event_queue: &EventQueue,
    ) -> Link {
        let (free, arrival) = match source {
            Source::Schedule | Source::Circuit => (Kind::CircuitFree, Kind::CircuitArrival),
            Source::Downlink => (Kind::DownlinkFree, Kind::DownlinkArrival),
            Source::Uplink => (Kind::UplinkFree, Kind::UplinkArrival),
        };
        Link {
            transmitter: Serializer::new(rate),
            sent: 0,
            delay,
            on_the_way: Line::new(),
            place: event_queue.place(source, port),
            free: event_queue.label(free, port),
            arrival: event_queue.label(arrival, port),
            serve: Pending::NONE,
            arrives: Pending::NONE,
        }
    }

    /// When the transmitter is done with its last packet.
    #[inline]
    pub(crate) const fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// What telemetry says of a packet of so many bytes that is about to be sent, and leaves so many in its queue: all before it have been
    /// transmitted. Every packet is to be asked about, or none.
    #[inline]
    pub(crate) fn transmission(&mut self, port: QueueId, bytes: u32, queue: u64) -> Transmission {
        let sent = self.sent;
        self.sent += u64::from(bytes);
        Transmission {
            port,
            queue,
            sent,
            rate: self.transmitter.rate(),
        }
    }

    /// The same where nobody is told.
    #[inline]
    pub(crate) const fn no_transmission(&self) -> Transmission {
        Transmission {
            port: QueueId { at: 0, number: 0 },
            queue: 0,
            sent: 0,
            rate: self.transmitter.rate(),
        }
    }

    /// The earliest of its events, if what follows the arrival of a packet takes `after_arrival`, and service `after_service`.
    pub(crate) fn next(
        &self,
        event_queue: &EventQueue,
        after_arrival: Span,
        after_service: Span,
    ) -> Time {
        let later = |event, span| event_queue.time_of(event).saturating_add(span);
        later(self.arrives, after_arrival).min(later(self.serve, after_service))
    }

    /// Sets its event: the first of two.
    #[inline]
    fn schedule(&self, event_queue: &mut EventQueue) {
        event_queue.set(&self.place, self.serve.min(self.arrives));
    }

    /// Asks to be served at `time`, [`Time::MAX`] for not at all.
    #[inline]
    pub(crate) fn serve_at(&mut self, event_queue: &mut EventQueue, time: Time) {
        let serve = event_queue.at(time, self.free);
        if self.serve != serve {
            self.serve = serve;
            self.schedule(event_queue);
        }
    }

    /// Asks to be served when the transmitter, which is busy, is free: the only time at which one that is busy may have been asked before.
    #[inline]
    pub(crate) fn serve_when_free(&mut self, event_queue: &mut EventQueue) {
        if self.serve == Pending::NONE {
            self.await_free(event_queue);
        }
    }

    #[inline(never)] // most have been asked
    fn await_free(&mut self, event_queue: &mut EventQueue) {
        let free_at = self.free_at();
        self.serve_at(event_queue, free_at);
    }

    /// Starts to transmit a packet of so many bytes; the transmitter must be free. If there is more to send, it is to be served when the
    /// transmission ends. Returns when that is.
    #[inline(always)] // with every packet, in three places
    pub(crate) fn send<H: Copy>(
        &mut self,
        now: Time,
        id: PacketId,
        bytes: u32,
        has_more: bool,
        pool: &mut Pool<H>,
        event_queue: &mut EventQueue,
    ) -> Time {
        debug_assert!(self.free_at() <= now, "the transmitter is busy");
        let end = self.transmitter.transmit(now, bytes);
        let arrives = event_queue.at(end + self.delay, self.arrival);
        pool.get_mut(id).arrives = arrives;
        let serve = match has_more {
            true => event_queue.at(end, self.free),
            false => Pending::NONE,
        };
        let changes = self.serve != serve;
        self.serve = serve;
        if self.on_the_way.push(pool, id) {
            self.arrives = arrives;
            self.schedule(event_queue);
        } else if changes {
            self.schedule(event_queue);
        }
        end
    }

    /// The transmitter starts nothing more before `time`, also if it was asked to.
    pub(crate) fn rest_until(&mut self, time: Time, event_queue: &mut EventQueue) {
        self.transmitter.rest_until(time);
        if self.serve != Pending::NONE {
            let free_at = self.free_at();
            self.serve_at(event_queue, free_at);
        }
    }

    /// Takes those packets off that are in transmission or on the way, and lost.
    pub(crate) fn cut<H: Copy>(
        &mut self,
        pool: &mut Pool<H>,
        event_queue: &mut EventQueue,
        is_lost: impl Fn(&Packet<H>) -> bool,
    ) -> Vec<PacketId> {
        let mut lost = Vec::new();
        let mut kept = Line::new();
        self.arrives = Pending::NONE;
        while !self.on_the_way.is_empty() {
            let (id, _) = self.on_the_way.pop(pool);
            let entry = pool.get(id);
            if is_lost(&entry.packet) {
                lost.push(id);
                continue;
            }
            let arrives = entry.arrives;
            if kept.push(pool, id) {
                self.arrives = arrives;
            }
        }
        self.on_the_way = kept;
        self.schedule(event_queue);
        lost
    }

    /// Takes the first packet from the far end, which it has reached.
    #[inline(always)] // in one place, whichever link it is
    pub(crate) fn receive<H: Copy>(
        &mut self,
        pool: &Pool<H>,
        event_queue: &mut EventQueue,
    ) -> PacketId {
        let (id, next) = self.on_the_way.pop(pool);
        self.arrives = next.map_or(Pending::NONE, |next| next.arrives);
        self.schedule(event_queue);
        id
    }
}
