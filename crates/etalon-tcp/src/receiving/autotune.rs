// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receive-buffer autotuning: dynamic right-sizing (Fisk and Feng, "Dynamic Right-Sizing in TCP", 2001). A receiver measures what the
//! sender managed in a round trip, as the receiver sees it (`round_trip.rs`), and offers twice as much, so that its window never
//! limits a sender that doubles.
//!
//! The buffer starts at its default and grows only when a round trip brought more than any before. So a flow whose window stays
//! small keeps a small offer, which bounds what it can have in flight while a hole waits to be filled: that alone is worth
//! several points of circuit utilisation to reTCP.

use super::round_trip::RoundTrip;
use crate::timers::Clock;

/// Segments that are offered beyond twice of what a round trip brought. Neither this nor [`DOUBLINGS`] is in the paper: recorded exchanges show
/// them (`DEVIATIONS.md`, 'buffer of a receiver', tells how many of these another value fails).
const SPARE_SEGMENTS: u64 = 16;
/// The offer allows for the growth seen from one best round trip to the next, so many times over: it takes a round trip to reach the
/// sender, and another until what it lets go arrives.
const DOUBLINGS: u64 = 2;

/// What the receiver knows of the flow.
#[derive(Clone, Debug)]
pub(crate) struct Autotune {
    round_trip: RoundTrip,
    /// When the round trip that is measured began, in microseconds, and what was read by then.
    since: u64,
    read: u64,
    /// Most data that one round trip has brought.
    best: u64,
    max: u32,
}

impl Autotune {
    /// `max`: largest buffer, in bytes.
    pub fn new(max: u32) -> Autotune {
        Autotune {
            round_trip: RoundTrip::UNKNOWN,
            since: 0,
            read: 0,
            best: 1,
            max,
        }
    }

    /// Eight times the round-trip time in microseconds, 0 if it is not known.
    pub fn rtt8(&self) -> u64 {
        self.round_trip.eighths()
    }

    /// The connection is established: its first round trip begins, which is expected to bring `first` bytes.
    pub fn begin(&mut self, clock: &Clock, first: u32, echo: u32) {
        self.round_trip.open(echo);
        self.best = u64::from(first.max(1));
        self.since = clock.us;
    }

    /// Data echoed our timestamp `echo`, and the segment before it `last`.
    #[inline]
    pub fn echo(&mut self, clock: &Clock, echo: u32, last: u32, full: bool) {
        self.round_trip.echo(clock, echo, last, full);
    }

    /// Data has arrived in order up to `nxt`; the last acknowledgement offered `offered` bytes.
    #[inline]
    pub fn arrived(&mut self, clock: &Clock, nxt: u32, offered: u32) {
        self.round_trip.arrived(clock.us, nxt, offered);
    }

    /// The buffer is somebody else's: what is read here does not call for another.
    pub fn leave(&mut self) {
        self.max = 0;
    }

    /// The round trip is that of others.
    pub fn adopt(&mut self, rtt8: u64) {
        self.round_trip.adopt(rtt8);
    }

    /// Whether a round trip is over at this time, in microseconds.
    #[inline]
    pub fn is_over(&self, us: u64) -> bool {
        let rtt8 = self.rtt8();
        rtt8 > 0 && (us - self.since) << 3 >= rtt8
    }

    /// The application has read `total` bytes by this time, in microseconds. Returns the buffer that this calls for, if a round trip is over
    /// that brought more than any before it.
    #[inline]
    pub fn read(&mut self, us: u64, total: u64, mss: u32) -> Option<u32> {
        if !self.is_over(us) {
            return None;
        }
        let brought = total.saturating_sub(self.read);
        (self.since, self.read) = (us, total);
        let best = self.best;
        self.best = best.max(brought);
        let buffer = (brought > best).then(|| called_for(brought, best, mss.into()));
        buffer.map(|bytes| bytes.min(self.max.into()) as u32)
    }
}

/// The buffer for a flow of which a round trip brought `brought` bytes, `best` at most before. In whole segments of `mss` bytes, with their
/// memory.
fn called_for(brought: u64, best: u64, mss: u64) -> u64 {
    let twice = 2 * brought + SPARE_SEGMENTS * mss;
    let growth = twice * (brought - best) / best;
    (twice + DOUBLINGS * growth) / mss * memory_of(mss)
}

/// Memory that is planned for a segment of `mss` bytes: twice as much, rounded up to 128 bytes beyond the payload.
fn memory_of(mss: u64) -> u64 {
    mss + mss.next_multiple_of(128)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock_at(ms: u64) -> Clock {
        let mut clock = Clock::new(250);
        clock.advance(ms * 1_000_000);
        clock
    }

    #[test]
    fn what_a_round_trip_calls_for() {
        // What it brought, the best before, the MSS, the segments of the buffer.
        let cases = [
            (20_000, 10_000, 1_000, 3 * 56), // twice and 16, tripled because the data doubled
            (11_000, 10_000, 1_000, 45),     // 38 x 1.2 = 45.6
            (40_000, 10_000, 1_000, 7 * 96),
            (10_001, 10_000, 1_000, 36), // 36.002 x 1.0002
        ];
        for (brought, best, mss, segments) in cases {
            assert_eq!(
                called_for(brought, best, mss),
                segments * (mss + 1_024),
                "{brought}"
            );
        }
    }

    #[test]
    fn grows_with_what_a_round_trip_brings_and_not_without() {
        let mut tune = Autotune::new(6 << 20);
        tune.begin(&Clock::new(250), 65_536, 0);
        assert_eq!(
            tune.read(clock_at(5).us, 1 << 20, 9_000),
            None,
            "no round-trip time yet"
        );
        tune.echo(&clock_at(110), clock_at(100).timestamp(), 0, true);
        assert_eq!(
            tune.read(clock_at(110).us, 60_000, 9_000),
            None,
            "less than expected"
        );
        assert_eq!(
            tune.read(clock_at(115).us, 900_000, 9_000),
            None,
            "within the round trip"
        );
        let offer = tune.read(clock_at(120).us, 60_000 + 2 * 65_536, 9_000);
        // 2 x 131072 + 16 x 9000, tripled because the data doubled: 135 segments, each with twice its memory.
        assert_eq!(offer, Some(135 * (9_000 + 9_088)));
        assert_eq!(
            tune.read(clock_at(130).us, 60_000 + 4 * 65_536, 9_000),
            None,
            "no more than before"
        );
        assert_eq!(tune.read(clock_at(140).us, 1 << 30, 9_000), Some(6 << 20));
    }
}
