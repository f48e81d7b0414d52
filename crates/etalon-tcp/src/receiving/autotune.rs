//! Receive-buffer autotuning: the receiver offers about twice of what the sender managed in a round trip (dynamic
//! right-sizing, Fisk and Feng 2001), as Linux does it.
//!
//! The buffer starts at its default and grows only when a round trip, as the receiver sees it, brought more than any
//! before. So a flow whose window stays small keeps a small offer, which bounds what it can have in flight while a hole
//! waits to be filled: that alone is worth several points of circuit utilisation to reTCP.

use crate::seq::before;
use crate::timers::Clock;

/// Segments that are offered beyond twice the last round trip's data.
const SPARE_SEGMENTS: u64 = 16;

/// What the receiver knows of the round trip.
#[derive(Clone, Debug)]
pub(crate) struct Autotune {
    /// Eight times the round-trip time in microseconds, in steps of the timestamp clock; 0 before the first sample.
    rtt8: u64,
    /// What completed the handshake echoed.
    opening: u32,
    /// When the current round trip began, in microseconds, and what was read by then.
    since: u64,
    read: u64,
    /// Most data that one round trip has brought.
    best: u64,
    max: u32,
    /// When data last began a window, where that window ends, and whether there was one.
    begun: u64,
    end: u32,
    in_window: bool,
}

impl Autotune {
    /// `max`: largest buffer, in bytes.
    pub fn new(max: u32) -> Autotune {
        Autotune {
            rtt8: 0,
            opening: 0,
            since: 0,
            read: 0,
            best: 1,
            max,
            begun: 0,
            end: 0,
            in_window: false,
        }
    }

    /// Eight times the round-trip time in microseconds, 0 if it is not known.
    pub fn rtt8(&self) -> u64 {
        self.rtt8
    }

    /// The connection is established: its first round trip begins, which is expected to bring `first` bytes.
    pub fn begin(&mut self, clock: &Clock, first: u32, echo: u32) {
        self.opening = echo;
        self.best = u64::from(first.max(1));
        self.since = clock.us;
    }

    /// Data echoed our timestamp `echo`, and the segment before it `last`. Each echo counts once, if it is one of a `full` segment, but
    /// not that of the handshake.
    #[inline]
    pub fn echo(&mut self, clock: &Clock, echo: u32, last: u32, full: bool) {
        if echo == last && echo != self.opening || echo == 0 {
            return;
        }
        self.opening = 0;
        if !full {
            return;
        }
        let ms = clock.timestamp().wrapping_sub(echo);
        if ms > 1 << 20 {
            return;
        }
        let sample = u64::from(ms.max(1)) * 1000;
        self.rtt8 = match self.rtt8 {
            rtt8 if rtt8 > sample << 3 => sample << 3,
            0 => sample << 3,
            rtt8 => rtt8 - (rtt8 >> 3) + sample,
        };
    }

    /// Data has arrived in order up to `nxt`; the last acknowledgement offered `offered` bytes. So many do not arrive in less
    /// than a round trip, so that the time they take bounds the estimate (Fisk and Feng 2001). An echo alone may be much older
    /// than a round trip: it is of our last segment, however long the peer then had nothing to send.
    #[inline]
    pub fn arrived(&mut self, clock: &Clock, nxt: u32, offered: u32) {
        if self.in_window {
            if before(nxt, self.end) {
                return;
            }
            let took = (clock.us - self.begun).max(1) << 3;
            if self.rtt8 == 0 || took < self.rtt8 {
                self.rtt8 = took;
            }
        }
        (self.begun, self.end) = (clock.us, nxt.wrapping_add(offered));
        self.in_window = true;
    }

    /// The buffer is somebody else's: what is read here does not call for another.
    pub fn leave(&mut self) {
        self.max = 0;
    }

    /// The round trip is that of others.
    pub fn adopt(&mut self, rtt8: u64) {
        self.rtt8 = rtt8;
    }

    /// Whether a round trip is over.
    #[inline]
    pub fn is_over(&self, clock: &Clock) -> bool {
        self.rtt8 > 0 && (clock.us - self.since) << 3 >= self.rtt8
    }

    /// The application has read `total` bytes by now. Returns the buffer that this calls for, if a round trip is over
    /// that brought more than any before it.
    #[inline]
    pub fn read(&mut self, clock: &Clock, total: u64, mss: u32) -> Option<u32> {
        if !self.is_over(clock) {
            return None;
        }
        let brought = total.saturating_sub(self.read);
        (self.since, self.read) = (clock.us, total);
        if brought <= self.best {
            return None;
        }
        let mss = u64::from(mss);
        let base = 2 * brought + SPARE_SEGMENTS * mss;
        // A sender in slow start doubles within the round trip that the offer needs to reach it.
        let growth = base * (brought - self.best) / self.best;
        self.best = brought;
        let segments = (base + 2 * growth) / mss;
        Some((segments * buffered(mss)).min(u64::from(self.max)) as u32)
    }
}

/// Memory that is planned for a segment of `mss` bytes: twice as much, rounded up to 128 bytes beyond the payload.
fn buffered(mss: u64) -> u64 {
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
    fn grows_with_what_a_round_trip_brings_and_not_without() {
        let mut tune = Autotune::new(6 << 20);
        tune.begin(&Clock::new(250), 65_536, 0);
        assert_eq!(
            tune.read(&clock_at(5), 1 << 20, 9_000),
            None,
            "no round-trip time yet"
        );
        tune.echo(&clock_at(110), clock_at(100).timestamp(), 0, true);
        assert_eq!(
            tune.read(&clock_at(110), 60_000, 9_000),
            None,
            "less than expected"
        );
        assert_eq!(
            tune.read(&clock_at(115), 900_000, 9_000),
            None,
            "within the round trip"
        );
        let offer = tune.read(&clock_at(120), 60_000 + 2 * 65_536, 9_000);
        // 2 x 131072 + 16 x 9000, tripled because the data doubled: 135 segments, each with twice its memory.
        assert_eq!(offer, Some(135 * (9_000 + 9_088)));
        assert_eq!(
            tune.read(&clock_at(130), 60_000 + 4 * 65_536, 9_000),
            None,
            "no more than before"
        );
        assert_eq!(tune.read(&clock_at(140), 1 << 30, 9_000), Some(6 << 20));
    }

    #[test]
    fn a_window_bounds_an_echo_from_before_a_pause() {
        let mut tune = Autotune::new(3 << 20);
        tune.begin(&Clock::new(250), 65_536, 0);
        tune.arrived(&clock_at(500), 9_000, 65_536);
        tune.echo(&clock_at(500), clock_at(100).timestamp(), 0, true);
        assert_eq!(tune.rtt8, 8 * 400_000);
        tune.arrived(&clock_at(502), 9_000 + 65_535, 131_072);
        assert_eq!(tune.rtt8, 8 * 400_000, "not yet a window");
        tune.arrived(&clock_at(503), 9_000 + 65_536, 131_072);
        assert_eq!(tune.rtt8, 8 * 3_000);
        tune.arrived(&clock_at(600), 9_000 + 65_536 + 131_072, 200_000);
        assert_eq!(tune.rtt8, 8 * 3_000, "a bound from above");
    }

    #[test]
    fn an_echo_counts_once() {
        let mut tune = Autotune::new(3 << 20);
        tune.begin(&Clock::new(250), 65_536, 0);
        tune.echo(&clock_at(110), clock_at(100).timestamp(), 0, true);
        let echo = clock_at(100).timestamp();
        tune.echo(&clock_at(900), echo, echo, true);
        assert_eq!(tune.rtt8, 80_000);
    }
}
