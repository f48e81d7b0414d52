// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of a packet, the same in every network: to probes, and to whoever takes what comes out.

use etalon_units::Time;

use crate::{Departure, DropReason, Event, Packet, Pair, Probe, QueueId, Sink};

/// A packet of so many bytes has joined a queue, which holds `len` with it, and was marked there or not.
#[inline]
pub fn joined<P: Probe>(
    now: Time,
    (pair, queue): (Pair, QueueId),
    (len, bytes): (u32, u32),
    is_marked: bool,
    probe: &mut P,
) {
    let enqueue = Event::Enqueue {
        pair,
        queue,
        len,
        bytes,
    };
    probe.on(now, enqueue);
    if is_marked {
        probe.on(now, Event::Marked { pair, queue, len });
    }
}

/// A packet has passed the network.
#[inline]
pub fn departed<H: Copy, S: Sink<H>, P: Probe>(
    departure: Departure<H>,
    sink: &mut S,
    probe: &mut P,
) {
    let event = Event::Departed {
        pair: departure.packet.pair(),
        queue: departure.queue,
        bytes: departure.packet.bytes,
        latency: departure.latency,
        plane: departure.plane,
    };
    probe.on(departure.time, event);
    sink.deliver(departure);
}

/// A packet is no more; the queue that it was in, or that had no room for it, holds `len`.
#[inline]
pub fn lost<H: Copy, S: Sink<H>, P: Probe>(
    now: Time,
    packet: &Packet<H>,
    (queue, len): (QueueId, u32),
    reason: DropReason,
    sink: &mut S,
    probe: &mut P,
) {
    let pair = packet.pair();
    let dropped = Event::Dropped {
        pair,
        queue,
        len,
        bytes: packet.bytes,
        reason,
    };
    probe.on(now, dropped);
    sink.discard(now, packet.handle, pair, reason);
}
