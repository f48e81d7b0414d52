//! Round-trip time: smoothed estimate and retransmission timeout (RFC 6298), and the windowed minimum.
//!
//! Linux's estimator differs from RFC 6298 in three ways (Sarolahti and Kuznetsov, "Congestion Control in Linux TCP", USENIX 2002,
//! section 4.1), kept here because the timeout of every flow depends on them: the minimum applies to the variance, so that the
//! timeout is srtt + max(4 mdev, 200 ms) rather than max(srtt + 4 mdev, 1 s); the variance rises at once but decays by a quarter a
//! round trip; and a sample below the estimate moves the deviation by an eighth of what one above it would, so that a falling RTT
//! does not raise the timeout.

use crate::Config;
use crate::timers::Clock;

/// No sample yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// RTT estimator. Times in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT; 0 before the first sample.
    srtt8: u32,
    /// Four times the mean deviation: RFC 6298's 4 RTTVAR.
    deviation4: u32,
    /// The largest of the current round trip, at least the minimum.
    highest: u32,
    /// The term that the timeout adds to the smoothed RTT.
    pub rttvar: u32,
    /// SND.NXT when the current round trip began.
    round_end: u32,
    /// Smallest variance term.
    min_var: u32,
    max_rto_ticks: u32,
    /// Retransmission timeout in ticks, including backoff.
    rto_ticks: u32,
    /// Timeout of the loss probe in ticks: twice the smoothed RTT and the margin.
    probe_ticks: u32,
    /// The margin in microseconds.
    margin: u32,
    min: WindowedMin,
}

impl Rtt {
    pub fn new(clock: &Clock, config: &Config) -> Rtt {
        Rtt {
            srtt8: 0,
            deviation4: 0,
            highest: 0,
            rttvar: 0,
            round_end: 0,
            // Whole ticks, as Linux keeps it.
            min_var: clock.us_of_ticks(clock.ticks_for_ns(config.min_rto)) as u32,
            max_rto_ticks: clipped(clock.ticks_for_ns(config.max_rto)),
            rto_ticks: clipped(clock.ticks_for_ns(config.initial_rto)),
            probe_ticks: 0,
            margin: (config.timer_margin / 1000) as u32,
            min: WindowedMin::new(clock.hz * 300),
        }
    }

    /// Smoothed RTT; 0 before the first sample.
    #[inline]
    pub fn srtt(&self) -> u32 {
        self.srtt8 >> 3
    }

    /// Smallest RTT of the last 300 s; [`UNKNOWN`] before the first sample.
    #[inline]
    pub fn min(&self) -> u32 {
        self.min.best()
    }

    #[inline]
    pub fn sample_min(&mut self, clock: &Clock, us: u32) {
        self.min.update(clock.jiffies, us.max(1));
    }

    /// Takes a sample of `us` and computes the timeout afresh, which ends backoff. `una` and `nxt` tell round trips apart.
    #[inline(always)] // for every ACK that was foretold; its other calls are rarer
    pub fn sample(&mut self, clock: &Clock, us: u32, una: u32, nxt: u32) {
        let us = us.clamp(1, 1 << 28);
        if self.srtt8 == 0 {
            // "(2.2) SRTT <- R, RTTVAR <- R/2", hence 4 RTTVAR = 2 R.
            self.srtt8 = us << 3;
            self.deviation4 = us << 1;
            self.rttvar = self.deviation4.max(self.min_var);
            self.highest = self.rttvar;
            self.round_end = nxt;
        } else {
            self.smooth(us);
            if crate::seq::after(una, self.round_end) {
                self.begin_round(nxt);
            }
        }
        let srtt = u64::from(self.srtt());
        let ticks = clock.ticks_for_us(srtt + u64::from(self.rttvar));
        self.rto_ticks = ticks.min(self.max_rto_ticks.into()) as u32;
        self.probe_ticks = clipped(clock.ticks_for_us(2 * srtt + u64::from(self.margin)));
    }

    /// Retransmission timeout in ticks, including backoff.
    #[inline]
    pub fn rto_ticks(&self) -> u64 {
        self.rto_ticks.into()
    }

    /// Timeout of the loss probe in ticks.
    #[inline]
    pub fn probe_ticks(&self) -> u64 {
        self.probe_ticks.into()
    }

    /// "(2.3) RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|, SRTT <- (1 - alpha) * SRTT + alpha * R'", alpha = 1/8, beta = 1/4.
    #[inline]
    fn smooth(&mut self, us: u32) {
        let error = us as i32 - self.srtt() as i32;
        self.srtt8 = self.srtt8.wrapping_add_signed(error).max(1);
        let excess = error.abs() - (self.deviation4 >> 2) as i32;
        // An RTT that falls: an eighth of the change.
        let falls = error < 0 && excess > 0;
        let change = if falls { excess >> 3 } else { excess };
        self.deviation4 = self.deviation4.wrapping_add_signed(change);
        self.highest = self.highest.max(self.deviation4);
        self.rttvar = self.rttvar.max(self.highest);
    }

    /// A round trip is over: the variance decays by a quarter towards the highest of it.
    #[inline]
    fn begin_round(&mut self, nxt: u32) {
        self.rttvar -= self.rttvar.saturating_sub(self.highest) >> 2;
        self.round_end = nxt;
        self.highest = self.min_var;
    }

    /// The same with one segment in flight: the smallest timeout in place of the margin.
    pub fn lone_probe_ticks(&self, clock: &Clock) -> u64 {
        clock.ticks_for_us(2 * u64::from(self.srtt()) + u64::from(self.min_var))
    }

    /// Has timers follow another smoothed RTT and variance term than its own, until the next sample. `backoffs`: how often the
    /// timeout is doubled.
    pub fn time_by(&mut self, clock: &Clock, srtt: u32, rttvar: u32, backoffs: u32) {
        let srtt = u64::from(srtt);
        let ticks = clock.ticks_for_us(srtt + u64::from(rttvar)) << backoffs.min(16);
        self.rto_ticks = ticks.min(self.max_rto_ticks.into()) as u32;
        self.probe_ticks = clipped(clock.ticks_for_us(2 * srtt + u64::from(self.margin)));
    }

    /// Doubles the timeout (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.rto_ticks = self.rto_ticks.saturating_mul(2).min(self.max_rto_ticks);
    }

    pub fn max_rto_ticks(&self) -> u64 {
        self.max_rto_ticks.into()
    }

    /// The handshake gave no sample: three seconds until there is one (RFC 6298, 5.7).
    pub fn fall_back(&mut self, clock: &Clock) {
        if self.srtt8 == 0 {
            let ticks = clock.ticks_for_ns(3_000_000_000);
            self.rto_ticks = clipped(ticks).min(self.max_rto_ticks);
        }
    }
}

/// Ticks of a time, which is nowhere near 2^32 of them.
fn clipped(ticks: u64) -> u32 {
    ticks.min(u32::MAX.into()) as u32
}

/// Parts of the window whose minima are kept.
const SLOTS: usize = 8;

/// Minimum over a sliding window, by the minima of its parts: a value is forgotten when its part is, which is after the
/// window and at most an eighth later.
#[derive(Clone, Debug)]
struct WindowedMin {
    /// Length of a part.
    part: u32,
    /// Number of the current part, and its minimum.
    current: u32,
    lowest: u32,
    /// The minima of those before, the latest first; none in the first part.
    before: Option<Box<[u32; SLOTS]>>,
    best: u32,
}

impl WindowedMin {
    fn new(window: u32) -> WindowedMin {
        WindowedMin {
            part: window.div_ceil(SLOTS as u32).max(1),
            current: 0,
            lowest: UNKNOWN,
            before: None,
            best: UNKNOWN,
        }
    }

    #[inline]
    fn best(&self) -> u32 {
        self.best
    }

    #[inline]
    fn update(&mut self, now: u64, value: u32) {
        let part = u64::from(self.part);
        if now - u64::from(self.current) * part >= part {
            self.advance((now / part) as u32);
        }
        if value < self.lowest {
            self.lowest = value;
            self.best = self.best.min(value);
        }
    }

    #[cold]
    fn advance(&mut self, to: u32) {
        let parts = (to - self.current).min(SLOTS as u32 + 1) as usize;
        let before = self
            .before
            .get_or_insert_with(|| Box::new([UNKNOWN; SLOTS]));
        for lowest in core::iter::once(self.lowest)
            .chain([UNKNOWN; SLOTS])
            .take(parts)
        {
            before.rotate_right(1);
            before[0] = lowest;
        }
        self.current = to;
        self.lowest = UNKNOWN;
        self.best = before.iter().copied().min().unwrap_or(UNKNOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtt() -> (Clock, Rtt) {
        let clock = Clock::new(250);
        let rtt = Rtt::new(&clock, &Config::default());
        (clock, rtt)
    }

    #[test]
    fn minimum_applies_to_the_variance() {
        let (clock, mut rtt) = rtt();
        assert_eq!(rtt.rto_ticks(), 250);
        rtt.sample(&clock, 10_000, 0, 0);
        assert_eq!(rtt.rto_ticks(), clock.ticks_for_us(210_000));
        rtt.back_off();
        assert_eq!(rtt.rto_ticks(), 2 * clock.ticks_for_us(210_000));
        rtt.sample(&clock, 10_000, 0, 0);
        assert_eq!(rtt.rto_ticks(), clock.ticks_for_us(210_000));
    }

    #[test]
    fn a_rising_rtt_raises_the_timeout_and_a_falling_one_does_not() {
        let (clock, mut rtt) = rtt();
        rtt.sample(&clock, 10_000, 0, 1);
        for i in 0..3 {
            rtt.sample(&clock, 400_000, i, i + 1);
        }
        assert!(rtt.rttvar > 200_000);
        let high = rtt.rttvar;
        rtt.sample(&clock, 10_000, 10, 11);
        assert!(rtt.rttvar <= high);
    }

    #[test]
    fn minimum_forgets_what_left_the_window_and_nothing_else() {
        let (window, most) = (800, 900);
        let mut min = WindowedMin::new(window);
        let mut seen: Vec<(u64, u32)> = Vec::new();
        let (mut now, mut x) = (0, 1u64);
        for _ in 0..2000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            now += x >> 57; // steps of 0 to 127
            let value = (x >> 40) as u32 % 1000;
            seen.push((now, value));
            min.update(now, value);
            let lowest = |age: u64| seen.iter().filter(|s| s.0 + age >= now).map(|s| s.1).min();
            assert!(Some(min.best()) <= lowest(window.into()));
            assert!(Some(min.best()) >= lowest(most));
        }
        min.update(now + 100_000, 5000);
        assert_eq!(min.best(), 5000);
    }
}
