// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link: a drop-tail queue, a rate and a delay. Sans-I/O; times are monotonic nanoseconds.

use std::collections::VecDeque;

/// How a link treats frames, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// From the last bit sent to the last bit received.
    pub delay_ns: u64,
    /// Bits a second.
    pub rate_bps: u64,
    /// What the queue in front holds.
    pub queue_bytes: u64,
}

/// Frames on their way in one direction.
#[derive(Debug)]
pub struct Line {
    shape: Shape,
    idle_at: u64,
    flying: VecDeque<(u64, Vec<u8>)>,
    /// Frames that found the queue full.
    pub dropped: u64,
}

impl Line {
    /// An empty direction.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            idle_at: 0,
            flying: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Takes a frame at `now`, or drops it.
    pub fn send(&mut self, now: u64, frame: Vec<u8>) {
        let begin = self.idle_at.max(now);
        let waiting = u128::from(begin - now) * u128::from(self.shape.rate_bps) / 8_000_000_000;
        if waiting + frame.len() as u128 > u128::from(self.shape.queue_bytes) {
            self.dropped += 1;
            return;
        }
        let bits = frame.len() as u64 * 8;
        self.idle_at = begin + bits * 1_000_000_000 / self.shape.rate_bps;
        self.flying
            .push_back((self.idle_at + self.shape.delay_ns, frame));
    }

    /// When the next frame arrives.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        self.flying.front().map(|(due, _)| *due)
    }

    /// The next frame that has arrived by `now`.
    pub fn arrived(&mut self, now: u64) -> Option<Vec<u8>> {
        if self.due()? > now {
            return None;
        }
        self.flying.pop_front().map(|(_, frame)| frame)
    }

    /// The cable is pulled: what is under way is lost.
    pub fn cut(&mut self) {
        self.flying.clear();
        self.idle_at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIGABIT: Shape = Shape {
        delay_ns: 200_000,
        rate_bps: 1_000_000_000,
        queue_bytes: 3_000,
    };

    #[test]
    fn a_frame_takes_serialisation_and_delay() {
        let mut line = Line::new(GIGABIT);
        line.send(1_000, vec![0; 1_500]);
        assert_eq!(line.due(), Some(1_000 + 12_000 + 200_000));
        assert_eq!(line.arrived(212_999), None);
        assert_eq!(line.arrived(213_000).map(|f| f.len()), Some(1_500));
    }

    #[test]
    fn a_full_queue_drops_the_tail() {
        let mut line = Line::new(GIGABIT);
        for _ in 0..4 {
            line.send(0, vec![0; 1_500]);
        }
        assert_eq!(line.dropped, 2);
        line.send(12_000, vec![0; 1_500]); // the first has left
        assert_eq!(line.dropped, 2);
    }

    #[test]
    fn a_cut_loses_what_is_under_way() {
        let mut line = Line::new(GIGABIT);
        line.send(0, vec![0; 60]);
        line.cut();
        assert_eq!(line.due(), None);
    }

    proptest! {
        #[test]
        fn frames_stay_in_order_and_none_is_early(
            sizes in proptest::collection::vec(60usize..1514, 1..40),
            gaps in proptest::collection::vec(0u64..20_000, 40),
        ) {
            let mut line = Line::new(GIGABIT);
            let (mut now, mut sent) = (0, Vec::new());
            for (size, gap) in sizes.into_iter().zip(gaps) {
                now += gap;
                let before = line.dropped;
                line.send(now, vec![sent.len() as u8; size]);
                if line.dropped == before {
                    sent.push((now, size));
                }
            }
            let mut idle = 0;
            for (at, size) in sent {
                idle = at.max(idle) + size as u64 * 8;
                prop_assert_eq!(line.due(), Some(idle + GIGABIT.delay_ns));
                let due = idle + GIGABIT.delay_ns;
                prop_assert_eq!(line.arrived(due).map(|f| f.len()), Some(size));
            }
            prop_assert_eq!(line.due(), None);
        }
    }
}
