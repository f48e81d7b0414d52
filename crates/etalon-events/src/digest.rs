//! A running 64-bit digest of events, for tests of determinism. Not cryptographic.

use etalon_units::Time;

use crate::Event;

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

    /// Mixes what an event says of a run, if it says anything.
    #[inline(always)] // where the event is known, three words are mixed and nothing is asked
    pub fn event(&mut self, time: Time, event: &Event) {
        if let Some((pair, value)) = event.mixed() {
            self.mix(time.0);
            let pair = u64::from(pair.src) << 16 | u64::from(pair.dst);
            self.mix(u64::from(event.kind()) << 32 | pair);
            self.mix(value);
        }
    }

    /// The digest of what was mixed so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pair, QueueId};

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
}
