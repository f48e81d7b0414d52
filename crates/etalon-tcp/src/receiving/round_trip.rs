// SPDX-License-Identifier: MIT OR Apache-2.0
//! The round trip as a receiver sees it, from two bounds (Fisk and Feng 2001): the age of a timestamp that data echoes, which is
//! a round trip and whatever the sender waited; and the time that a window takes to arrive, since no more than a window comes in a
//! round trip.

use crate::seq::before;
use crate::timers::Clock;

/// Echoes older than this are of another time, in milliseconds.
const OLDEST_ECHO_MS: u32 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    /// Eight times its estimate in microseconds; 0 before there is one.
    eighths: u64,
    /// What completed the handshake echoed; 0 once it has been compared with.
    opening: u32,
    /// The window that is arriving.
    window: Option<Window>,
}

/// A window: when its first data arrived, in microseconds, and where it ends.
#[derive(Clone, Copy, Debug)]
struct Window {
    begun: u64,
    end: u32,
}

impl RoundTrip {
    pub const UNKNOWN: RoundTrip = RoundTrip {
        eighths: 0,
        opening: 0,
        window: None,
    };

    pub fn eighths(&self) -> u64 {
        self.eighths
    }

    pub fn adopt(&mut self, eighths: u64) {
        self.eighths = eighths;
    }

    /// What completed the handshake echoed `echo`.
    pub fn open(&mut self, echo: u32) {
        self.opening = echo;
    }

    /// Data echoed `echo`, the segment before it `last`. An echo counts when it is new, on a full segment: a short one may have
    /// waited for its program. The handshake's own is not news, unless data brings it.
    #[inline]
    pub fn echo(&mut self, clock: &Clock, echo: u32, last: u32, full: bool) {
        let news = echo != last || echo == self.opening;
        if echo == 0 || !news {
            return;
        }
        self.opening = 0;
        let age = clock.timestamp().wrapping_sub(echo);
        if full && age <= OLDEST_ECHO_MS {
            self.take_echo(8_000 * u64::from(age.max(1)));
        }
    }

    /// A sample, in eighths of a microsecond: a lower one counts at once, a higher one by an eighth.
    fn take_echo(&mut self, sample: u64) {
        self.eighths = match self.eighths {
            0 => sample,
            known if sample < known => sample,
            known => known - known / 8 + sample / 8,
        };
    }

    /// Data has arrived in order up to `nxt`, at `us` microseconds; the last acknowledgement offered `offered` bytes.
    #[inline]
    pub fn arrived(&mut self, us: u64, nxt: u32, offered: u32) {
        if let Some(window) = self.window {
            if before(nxt, window.end) {
                return;
            }
            self.bound(8 * (us - window.begun).max(1));
        }
        self.window = Some(Window {
            begun: us,
            end: nxt.wrapping_add(offered),
        });
    }

    /// It takes no longer than so many eighths of a microsecond.
    fn bound(&mut self, most: u64) {
        if self.eighths == 0 || most < self.eighths {
            self.eighths = most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock_at(ms: u64) -> Clock {
        let mut clock = Clock::new(250);
        clock.advance(ms * 1_000_000);
        clock
    }

    fn at(ms: u64) -> u64 {
        clock_at(ms).us
    }

    #[test]
    fn a_window_bounds_an_echo_from_before_a_pause() {
        let mut trip = RoundTrip::UNKNOWN;
        trip.arrived(at(500), 9_000, 65_536);
        trip.echo(&clock_at(500), clock_at(100).timestamp(), 0, true);
        assert_eq!(trip.eighths, 8 * 400_000);
        trip.arrived(at(502), 9_000 + 65_535, 131_072);
        assert_eq!(trip.eighths, 8 * 400_000, "not yet a window");
        trip.arrived(at(503), 9_000 + 65_536, 131_072);
        assert_eq!(trip.eighths, 8 * 3_000);
        trip.arrived(at(600), 9_000 + 65_536 + 131_072, 200_000);
        assert_eq!(trip.eighths, 8 * 3_000, "a bound from above");
    }

    #[test]
    fn echoes() {
        let sent = clock_at(100).timestamp();
        let mut trip = RoundTrip::UNKNOWN;
        trip.echo(&clock_at(110), sent, 0, false);
        assert_eq!(trip.eighths, 0, "of a short segment");
        trip.echo(&clock_at(110), sent, 0, true);
        assert_eq!(trip.eighths, 80_000);
        trip.echo(&clock_at(900), sent, sent, true);
        assert_eq!(trip.eighths, 80_000, "an echo counts once");
        trip.echo(&clock_at(118), sent, 0, true);
        assert_eq!(trip.eighths, 88_000, "a higher one by an eighth");
        trip.echo(&clock_at(104), sent, 0, true);
        assert_eq!(trip.eighths, 32_000, "a lower one at once");
        trip.open(sent);
        trip.echo(&clock_at(102), sent, sent, true);
        assert_eq!(trip.eighths, 16_000, "the handshake's, that data brings");
        trip.echo(&clock_at(101), sent, sent, true);
        assert_eq!(trip.eighths, 16_000, "once");
    }
}
