//! A running 64-bit digest of events, for tests of determinism. Not cryptographic.

use etalon_units::Time;

use crate::{Event, Pair, QueueId};

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
            let racks = u64::from(pair.src) << 16 | u64::from(pair.dst);
            let what = u64::from(event.kind()) << 32 | racks;
            self.mix(what ^ way(pair, event).wrapping_mul(0xff51_afd7_ed55_8ccd));
            self.mix(value);
        }
    }

    /// The digest of what was mixed so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// The queue and the plane of an event of a pair, as a number; 0 in the pair's own VOQ, whose plane follows from the schedule.
#[inline(always)] // a constant where the event is known
fn way(pair: Pair, event: &Event) -> u64 {
    match event.queue() {
        Some(queue) if queue != QueueId::voq(pair) => {
            let plane = event.plane().map_or(0, |plane| u64::from(plane.0));
            1 + (u64::from(queue.at) << 24 | u64::from(queue.number) << 8 | plane)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;

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
        let at = |at, number, plane| {
            let mut digest = Digest::default();
            let (len, bytes) = (1, 9014);
            let queue = QueueId { at, number };
            let plane = Plane(plane);
            digest.event(
                Time(11),
                &Event::Dequeue {
                    pair,
                    queue,
                    len,
                    bytes,
                    plane,
                },
            );
            digest.value()
        };
        let ways = [
            at(0, 0, 0),
            at(3, 5, 0),
            at(3, 6, 0),
            at(4, 5, 0),
            at(4, 5, 1),
            at(5, 4, 0),
        ];
        for (index, way) in ways.iter().enumerate() {
            assert!(!ways[..index].contains(way), "way {index}");
        }
        assert_eq!(
            at(3, 5, 0),
            at(3, 5, 1),
            "the schedule says which plane serves a VOQ"
        );
    }
}
