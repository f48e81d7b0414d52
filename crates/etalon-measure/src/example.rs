// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan and events for tests.

use etalon_events::{DropReason, Event, Pair, Plane, QueueId};
use etalon_scenario::Scenario;
use etalon_units::Span;

pub(crate) const FORTH: Pair = Pair { src: 0, dst: 1 };
pub(crate) const BACK: Pair = Pair { src: 1, dst: 0 };
pub(crate) const PACKET: Plane = Plane::PACKET;
pub(crate) const CIRCUIT: Plane = Plane::CIRCUIT;

/// Two flows from rack 0 to rack 1, of no end and of 10,000 bytes. A day of 80 us for both pairs at 80 Gb/s and a night of
/// 20 us, a packet network of 10 Gb/s; 1.1 ms, of which the first 100 us are not measured.
pub(crate) fn plan() -> Scenario {
    Scenario::from_json(include_str!("../tests/plan.json")).expect("a good plan")
}

pub(crate) fn enqueue(pair: Pair, len: u32) -> Event {
    let (queue, bytes) = (QueueId::voq(pair), 9014);
    Event::Enqueue {
        pair,
        queue,
        len,
        bytes,
    }
}

pub(crate) fn dequeue(pair: Pair, len: u32, bytes: u32, plane: Plane) -> Event {
    let queue = QueueId::voq(pair);
    Event::Dequeue {
        pair,
        queue,
        len,
        bytes,
        plane,
    }
}

pub(crate) fn dropped(pair: Pair, len: u32, reason: DropReason) -> Event {
    let (queue, bytes) = (QueueId::voq(pair), 9014);
    Event::Dropped {
        pair,
        queue,
        len,
        bytes,
        reason,
    }
}

pub(crate) fn departed(pair: Pair, bytes: u32, latency_ns: u64, plane: Plane) -> Event {
    let (queue, latency) = (QueueId::voq(pair), Span(latency_ns));
    Event::Departed {
        pair,
        queue,
        bytes,
        latency,
        plane,
    }
}

pub(crate) fn circuit(pair: Pair, up: bool) -> Event {
    let plane = CIRCUIT;
    Event::Circuit { pair, plane, up }
}
