// SPDX-License-Identifier: MIT OR Apache-2.0
//! A running 64-bit digest of events, for tests of determinism. Not cryptographic.

use etalon_units::Time;

use crate::{Event, Plane};

/// Mixes what happens, in order.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0x243f_6a88_85a3_08d3)
    }
}

impl Digest {
    /// Mixes a word.
    #[inline]
    pub fn mix(&mut self, word: u64) {
        let x = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = x ^ (x >> 29);
    }

    /// Mixes what an event says of a run, if it says anything: when, what, of which pair, on which way, and how much.
    #[inline(always)] // where the event is known, three words are mixed and nothing is asked
    pub fn event(&mut self, time: Time, event: &Event) {
        if let Some((pair, value)) = event.mixed() {
            self.mix(time.0);
            let racks = word(pair.src, pair.dst);
            self.mix(u64::from(event.kind()) << 32 ^ racks ^ way(racks, event));
            self.mix(value);
        }
    }

    /// Mixes the plane on which a packet leaves a queue that several uplinks serve. Neither queue nor week tells it.
    #[inline]
    pub fn leaves_on(&mut self, plane: Plane) {
        if plane != Plane::PACKET {
            self.mix(plane.0.into());
        }
    }

    /// The digest of what was mixed so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// The queue that a packet joins, leaves or finds full, as a number; 0 for the pair's own VOQ. The plane follows from it, or from
/// the week that the network adopts, which is mixed as a whole; and the queue that it departs from is the last one that it left. Where
/// neither tells the plane, [`Digest::leaves_on`] mixes it.
#[inline(always)] // a constant where the event is known
fn way(racks: u64, event: &Event) -> u64 {
    match *event {
        Event::Enqueue { queue, .. }
        | Event::Dequeue { queue, .. }
        | Event::Dropped { queue, .. }
        | Event::Trimmed { queue, .. }
        | Event::Returned { queue, .. } => {
            (racks ^ word(queue.at, queue.number)).rotate_left(38) // above the kind
        }
        _ => 0,
    }
}

#[inline(always)]
fn word(high: u16, low: u16) -> u64 {
    u64::from(high) << 16 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pair, QueueId};
    use etalon_units::Span;

    #[test]
    fn an_event_mixes_when_what_where_and_how_much() {
        let pair = Pair { src: 3, dst: 5 };
        let queue = QueueId::voq(pair);
        let mut digest = Digest::default();
        let enqueue = Event::Enqueue {
            pair,
            queue,
            len: 7,
            bytes: 9014,
        };
        digest.event(Time(11), &enqueue);
        digest.event(Time(12), &Event::Week { week: 2 });
        digest.event(Time(13), &Event::Begin);
        let mut words = Digest::default();
        for word in [11, 1 << 32 | 3 << 16 | 5, 7 << 17 | 9014, 12, 11 << 32, 2] {
            words.mix(word);
        }
        assert_eq!(digest.value(), words.value());
        assert_ne!(digest.value(), Digest::default().value());
    }

    #[test]
    fn packets_that_go_other_ways_give_other_digests() {
        let pair = Pair { src: 3, dst: 5 };
        let at = |at, number| {
            let mut digest = Digest::default();
            let dequeue = Event::Dequeue {
                pair,
                queue: QueueId { at, number },
                len: 1,
                bytes: 9014,
                plane: Plane::PACKET,
            };
            digest.event(Time(11), &dequeue);
            digest.value()
        };
        let ways = [at(0, 0), at(3, 5), at(3, 6), at(4, 5), at(5, 4)];
        for (index, way) in ways.iter().enumerate() {
            assert!(!ways[..index].contains(way), "way {index}");
        }
    }

    /// An event of a network on this plane, and whether its own mix tells the plane.
    type OnPlane = (fn(Plane) -> Event, bool);

    /// What mixes no plane follows from the week or from the queue (`tests/digest.rs` of etalon-sim); what mixes it follows from neither.
    #[rustfmt::skip]
    fn with_planes() -> [OnPlane; 7] {
        const PAIR: Pair = Pair { src: 3, dst: 5 };
        const QUEUE: QueueId = QueueId { at: 3, number: 7 };
        [
            (|plane| Event::Dequeue { pair: PAIR, queue: QUEUE, len: 1, bytes: 9014, plane }, false),
            (|plane| Event::Departed { pair: PAIR, queue: QUEUE, bytes: 9014, latency: Span(5), plane }, false),
            (|plane| Event::Circuit { pair: PAIR, plane, up: true }, false),
            (|plane| Event::Gate { pair: PAIR, plane, open: true }, false),
            (|plane| Event::Passed { pair: PAIR, bytes: 9014, plane }, false),
            (|plane| Event::Notified { pair: PAIR, host: 2, plane }, true),
            (|plane| Event::Joined { pair: PAIR, plane, up: true }, true),
        ]
    }

    #[test]
    fn a_plane_is_mixed_where_neither_queue_nor_week_tells_it() {
        for (event, mixed) in with_planes() {
            let [one, other] = [1, 2].map(|plane| {
                let mut digest = Digest::default();
                digest.event(Time(11), &event(Plane(plane)));
                digest.value()
            });
            assert_eq!(one != other, mixed, "{:?}", event(Plane::PACKET));
        }
    }
}
