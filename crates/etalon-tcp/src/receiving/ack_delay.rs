// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long an ACK may wait. RFC 1122, section 4.2.3.2, has one bound: "the delay MUST be less than 0.5 seconds". Within it the wait follows
//! the gaps between segments, as recorded exchanges show it (`tests/exchanges.rs`): pure functions, each with a table of cases. All times
//! are in ticks.

/// The wait.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// Ticks of the next one, 0 before the first data.
    now: u32,
    least: u32,
    most: u32,
}

/// What becomes of a running timer when an ACK is to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// It is set to so many ticks from now.
    In(u64),
    /// It stays, for it fires earlier.
    AsSet,
    /// It is about to fire: the ACK goes out instead.
    Due,
}

impl Wait {
    /// A wait between two bounds.
    pub fn between(least: u64, most: u64, hz: u32) -> Wait {
        let half_second = u64::from(hz / 2);
        let ticks = |bound: u64| bound.min(half_second).max(1) as u32;
        Wait {
            now: 0,
            least: ticks(least),
            most: ticks(most),
        }
    }

    /// The next wait is the shortest.
    #[inline]
    pub fn restart(&mut self) {
        self.now = self.least;
    }

    /// Whether a reply `gap` after data comes before the ACK of that data would have gone out alone.
    #[inline]
    pub fn outlasts(&self, gap: u64) -> bool {
        gap < self.now.into()
    }

    /// Data came, `gap` after the last. Returns whether that was so long ago that it is like the first.
    #[inline]
    pub fn follow(&mut self, gap: u64, rto: u64) -> bool {
        if self.now == 0 {
            self.restart();
            return true;
        }
        let shortest = u64::from(self.least / 2);
        let counts = gap > shortest; // a shorter one is taken for that
        if counts && !self.outlasts(gap) {
            // A gap as long as the wait tells nothing of the segments to come.
            return gap > rto;
        }
        // Halfway between the wait and two gaps, within which the next segment comes. Only after gaps that count is that at most an RTO:
        // recorded exchange 316, whose RTO is short, waits 8 ms longer than it.
        let most = if counts { rto } else { u64::MAX };
        self.now = (u64::from(self.now / 2) + gap.max(shortest)).min(most) as u32;
        false
    }

    /// An ACK waited in vain: the next one waits longer.
    pub fn double(&mut self, rto: u64) {
        self.now = u64::from(self.now).saturating_mul(2).min(rto) as u32;
    }

    /// The wait, bounded: above the shortest not longer than a round trip, which `srtt` has if it is known.
    #[inline]
    pub fn bounded(&self, srtt: impl FnOnce() -> Option<u64>) -> u64 {
        let wait = if self.now <= self.least {
            u64::from(self.now.max(1))
        } else {
            let round_trip = srtt().map_or(u64::MAX, |srtt| srtt.max(self.least.into()));
            round_trip.min(self.now.into())
        };
        wait.min(self.most.into())
    }
}

/// What to do with a timer that fires in `left` ticks, if it runs, for an ACK that may wait for `wait`: it moves earlier, never later,
/// and what is left of it must be worth the wait.
#[inline]
pub(super) fn timing(left: Option<u64>, wait: u64) -> Timing {
    match left {
        None => Timing::In(wait),
        Some(left) if left <= wait / 4 => Timing::Due,
        Some(left) if left <= wait => Timing::AsSet,
        Some(_) => Timing::In(wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 to 200 ms in ticks of 4 ms.
    fn wait(now: u32) -> Wait {
        Wait {
            now,
            ..Wait::between(10, 50, 250)
        }
    }

    #[test]
    fn bounds() {
        let wait = Wait::between(0, 1_000, 250);
        assert_eq!((wait.least, wait.most), (1, 125), "half a second");
    }

    #[test]
    fn waits_follow_gaps() {
        // The wait, the gap, the next wait, and whether that is as at the start. A timeout has 60 ticks.
        let cases = [
            (0, 9_999, 10, true), // the first data
            (10, 0, 10, false),   // two gaps are less than the shortest wait
            (10, 5, 10, false),
            (10, 6, 11, false),
            (10, 9, 14, false),
            (10, 10, 10, false), // a pause
            (10, 60, 10, false),
            (10, 61, 10, true), // longer than a timeout
            (40, 0, 25, false),
            (40, 20, 40, false), // two gaps
            (40, 39, 59, false),
            (40, 40, 40, false),
            (60, 59, 60, false), // not beyond a timeout
            (4, 4, 7, false),    // below the shortest: after a short timeout
        ];
        for (now, gap, then, anew) in cases {
            let mut wait = wait(now);
            assert_eq!(wait.follow(gap, 60), anew, "{now} {gap}");
            assert_eq!(wait.now, then, "{now} {gap}");
        }
        let mut short = wait(10);
        assert!(!short.follow(6, 3));
        assert_eq!(short.now, 3, "a timeout is shorter");
    }

    #[test]
    fn waits_are_bounded_by_round_trips() {
        // The wait, the smoothed round trip, the bounded wait.
        let cases = [
            (0, None, 1),
            (10, Some(2), 10),
            (10, None, 10),
            (30, None, 30),
            (30, Some(2), 10), // the shortest
            (30, Some(20), 20),
            (30, Some(40), 30),
            (60, None, 50),
            (60, Some(55), 50),
        ];
        for (now, srtt, bounded) in cases {
            assert_eq!(wait(now).bounded(|| srtt), bounded, "{now} {srtt:?}");
        }
    }

    #[test]
    fn timers_move_earlier() {
        let cases = [
            (None, 10, Timing::In(10)),
            (Some(0), 10, Timing::Due),
            (Some(2), 10, Timing::Due),
            (Some(3), 10, Timing::AsSet),
            (Some(10), 10, Timing::AsSet),
            (Some(11), 10, Timing::In(10)),
            (Some(1), 3, Timing::AsSet),
        ];
        for (left, wait, then) in cases {
            assert_eq!(timing(left, wait), then, "{left:?} {wait}");
        }
    }

    #[test]
    fn waits_in_vain_double() {
        let mut wait = wait(10);
        wait.double(60);
        assert_eq!(wait.now, 20);
        wait.double(60);
        wait.double(60);
        assert_eq!(wait.now, 60, "up to a timeout");
    }
}
