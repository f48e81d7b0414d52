// SPDX-License-Identifier: MIT OR Apache-2.0
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

/// RTT estimator. Times in microseconds. What the configuration says is not kept in it: every path has one.
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
    /// Retransmission timeout in ticks, including backoff.
    rto_ticks: u32,
    /// Timeout of the loss probe in ticks: twice the smoothed RTT and the margin; 0 if no RTT is known.
    probe_ticks: u32,
    min: WindowedMin,
    /// Apart from it, where it fills a gap.
    min_part: u32,
}

impl Rtt {
    pub fn new(clock: &Clock, config: &Config) -> Rtt {
        Rtt {
            srtt8: 0,
            deviation4: 0,
            highest: 0,
            rttvar: 0,
            round_end: 0,
            rto_ticks: clipped(clock.ticks_for_ns(config.initial_rto)),
            probe_ticks: 0,
            min: WindowedMin::new(),
            min_part: WindowedMin::part(clock.hz * 300),
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
        self.min.update(self.min_part, clock.jiffies, us.max(1));
    }

    /// Takes a sample of `us` and computes the timeout afresh, which ends backoff. `una` and `nxt` tell round trips apart.
    #[inline(always)] // for every ACK that was predicted; its other calls are rarer
    pub fn sample(&mut self, clock: &Clock, config: &Config, us: u32, una: u32, nxt: u32) {
        let us = us.clamp(1, 1 << 28);
        if self.srtt8 == 0 {
            self.begin(clock, config, us, nxt);
        } else {
            self.smooth(us);
            if crate::seq::after(una, self.round_end) {
                self.begin_round(clock, config, nxt);
            }
        }
        let srtt = self.srtt();
        let timeout = u64::from(srtt + self.rttvar) * 1000;
        // At most as many as microseconds, of which there are less than 2^32.
        self.rto_ticks = clock.ticks_for_short(timeout.min(config.max_rto)) as u32;
        self.probe_ticks = probe_ticks(clock, config, srtt);
    }

    /// Retransmission timeout in ticks, including backoff.
    #[inline]
    pub fn rto_ticks(&self) -> u64 {
        self.rto_ticks.into()
    }

    /// Timeout of the loss probe in ticks; 0 if no RTT is known.
    #[inline]
    pub fn probe_ticks(&self) -> u64 {
        self.probe_ticks.into()
    }

    /// RFC 6298, 2.3: "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|" and "SRTT <- (1 - alpha) * SRTT + alpha * R'", with
    /// alpha = 1/8, beta = 1/4.
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

    /// The first sample (RFC 6298, 2.2): "SRTT <- R" and "RTTVAR <- R/2", hence 4 RTTVAR = 2 R.
    #[cold]
    fn begin(&mut self, clock: &Clock, config: &Config, us: u32, nxt: u32) {
        self.srtt8 = us << 3;
        self.deviation4 = us << 1;
        self.rttvar = self.deviation4.max(min_var(clock, config));
        self.highest = self.rttvar;
        self.round_end = nxt;
    }

    /// A round trip is over: the variance decays by a quarter towards the highest of it.
    #[inline(never)] // rarer than samples are
    fn begin_round(&mut self, clock: &Clock, config: &Config, nxt: u32) {
        self.rttvar -= self.rttvar.saturating_sub(self.highest) >> 2;
        self.round_end = nxt;
        self.highest = min_var(clock, config);
    }

    /// The same with one segment in flight, by a smoothed RTT of `srtt`: the smallest timeout in place of the margin.
    pub fn lone_probe_ticks(clock: &Clock, config: &Config, srtt: u32) -> u64 {
        clock.ticks_for_us(2 * u64::from(srtt) + u64::from(min_var(clock, config)))
    }

    /// Has timers follow another smoothed RTT (0: none is known) and variance term than its own, until the next sample. The timeout is the
    /// initial one as long as its own RTT is not known. `backoffs`: how often the timeout is doubled.
    pub fn time_by(
        &mut self,
        clock: &Clock,
        config: &Config,
        srtt: u32,
        rttvar: u32,
        backoffs: u32,
    ) {
        let ticks = match self.srtt() {
            0 => clock.ticks_for_ns(config.initial_rto),
            _ => clock.ticks_for_us((srtt + rttvar).into()),
        };
        let most = clock.ticks_for_ns(config.max_rto);
        self.rto_ticks = clipped((ticks << backoffs.min(16)).min(most));
        self.probe_ticks = match srtt {
            0 => 0,
            _ => probe_ticks(clock, config, srtt),
        };
    }

    /// Doubles the timeout (RFC 6298, 5.5).
    pub fn back_off(&mut self, clock: &Clock, config: &Config) {
        let most = clipped(clock.ticks_for_ns(config.max_rto));
        self.rto_ticks = self.rto_ticks.saturating_mul(2).min(most);
    }

    /// The handshake gave no sample: three seconds until there is one (RFC 6298, 5.7).
    pub fn fall_back(&mut self, clock: &Clock, config: &Config) {
        if self.srtt8 == 0 {
            self.rto_ticks = clipped(clock.ticks_for_ns(config.max_rto.min(3_000_000_000)));
        }
    }
}

/// Smallest variance term: whole ticks, as Linux keeps it. Its bound is far beyond any and leaves room for the RTT.
#[inline]
fn min_var(clock: &Clock, config: &Config) -> u32 {
    let us = clock.us_of_ticks(clock.ticks_for_ns(config.min_rto));
    us.min(1 << 31) as u32
}

/// Timeout of the loss probe in ticks: twice the smoothed RTT and the margin.
#[inline]
fn probe_ticks(clock: &Clock, config: &Config, srtt: u32) -> u32 {
    clipped(clock.ticks_for_short(2000 * u64::from(srtt) + config.timer_margin))
}

/// Ticks of a time, which is nowhere near 2^32 of them.
fn clipped(ticks: u64) -> u32 {
    ticks.min(u32::MAX.into()) as u32
}

/// Parts of the window whose minima are kept.
const SLOTS: usize = 8;

const _: () = assert!(size_of::<Rtt>() == 48, "every path has one");

/// Minimum over a sliding window, by the minima of its parts: a value is forgotten when its part is, which is after the
/// window and at most an eighth later.
#[derive(Clone, Debug)]
struct WindowedMin {
    /// Number of the current part.
    current: u32,
    best: u32,
    /// The minima of the current part and of those before, the latest first; none in the first part, of which `best` is it.
    minima: Option<Box<[u32; SLOTS + 1]>>,
}

impl WindowedMin {
    const fn new() -> WindowedMin {
        WindowedMin {
            current: 0,
            best: UNKNOWN,
            minima: None,
        }
    }

    /// Length of a part.
    fn part(window: u32) -> u32 {
        window.div_ceil(SLOTS as u32).max(1)
    }

    #[inline]
    fn best(&self) -> u32 {
        self.best
    }

    #[inline]
    fn update(&mut self, part: u32, now: u64, value: u32) {
        let part = u64::from(part);
        if now - u64::from(self.current) * part >= part {
            self.advance((now / part) as u32);
        }
        if let Some(minima) = &mut self.minima {
            minima[0] = minima[0].min(value);
        }
        self.best = self.best.min(value);
    }

    #[cold]
    fn advance(&mut self, to: u32) {
        let parts = (to - self.current).min(SLOTS as u32 + 1) as usize;
        let minima = self.minima.get_or_insert_with(|| {
            let mut minima = [UNKNOWN; SLOTS + 1];
            minima[0] = self.best;
            Box::new(minima)
        });
        minima.rotate_right(parts);
        minima[..parts].fill(UNKNOWN);
        self.current = to;
        self.best = minima.iter().copied().min().unwrap_or(UNKNOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtt() -> (Clock, Config, Rtt) {
        let (clock, config) = (Clock::new(250), Config::default());
        let rtt = Rtt::new(&clock, &config);
        (clock, config, rtt)
    }

    #[test]
    fn minimum_applies_to_the_variance() {
        let (clock, config, mut rtt) = rtt();
        assert_eq!(rtt.rto_ticks(), 250);
        rtt.sample(&clock, &config, 10_000, 0, 0);
        assert_eq!(rtt.rto_ticks(), clock.ticks_for_us(210_000));
        rtt.back_off(&clock, &config);
        assert_eq!(rtt.rto_ticks(), 2 * clock.ticks_for_us(210_000));
        rtt.sample(&clock, &config, 10_000, 0, 0);
        assert_eq!(rtt.rto_ticks(), clock.ticks_for_us(210_000));
    }

    #[test]
    fn a_rising_rtt_raises_the_timeout_and_a_falling_one_does_not() {
        let (clock, config, mut rtt) = rtt();
        rtt.sample(&clock, &config, 10_000, 0, 1);
        for i in 0..3 {
            rtt.sample(&clock, &config, 400_000, i, i + 1);
        }
        assert!(rtt.rttvar > 200_000);
        let high = rtt.rttvar;
        rtt.sample(&clock, &config, 10_000, 10, 11);
        assert!(rtt.rttvar <= high);
    }

    #[test]
    fn minimum_forgets_what_left_the_window_and_nothing_else() {
        let (window, most) = (800, 900);
        let part = WindowedMin::part(window);
        let mut min = WindowedMin::new();
        let mut seen: Vec<(u64, u32)> = Vec::new();
        let (mut now, mut x) = (0, 1u64);
        for _ in 0..2000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            now += x >> 57; // steps of 0 to 127
            let value = (x >> 40) as u32 % 1000;
            seen.push((now, value));
            min.update(part, now, value);
            let lowest = |age: u64| seen.iter().filter(|s| s.0 + age >= now).map(|s| s.1).min();
            assert!(Some(min.best()) <= lowest(window.into()));
            assert!(Some(min.best()) >= lowest(most));
        }
        min.update(part, now + 100_000, 5000);
        assert_eq!(min.best(), 5000);
    }
}
