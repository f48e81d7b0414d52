//! Round-trip time: smoothed estimate and retransmission timeout (RFC 6298), and the windowed minimum.
//!
//! Linux's estimator differs from RFC 6298 in three ways, kept here because the timeout of every flow depends on them: the
//! minimum applies to the variance, so that the timeout is srtt + max(4 mdev, 200 ms) rather than max(srtt + 4 mdev, 1 s); the
//! variance rises at once but decays by a quarter a round trip; and a sample below the estimate moves the deviation by an
//! eighth of what one above it would, so that a falling RTT does not raise the timeout.

use crate::Config;
use crate::timers::Clock;

/// No sample yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// RTT estimator. Times in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT; 0 before the first sample.
    srtt8: u32,
    /// Four times the mean deviation.
    mdev4: u32,
    /// Largest `mdev4` within the current round trip, at least the minimum.
    mdev4_max: u32,
    /// The term that the timeout adds to the smoothed RTT.
    pub rttvar: u32,
    /// SND.NXT when the current round trip began.
    round: u32,
    /// Smallest variance term.
    min_var: u32,
    max_rto_ticks: u64,
    /// Retransmission timeout in ticks, including backoff.
    pub rto_ticks: u64,
    /// Timeout of the loss probe in ticks: twice the smoothed RTT and the margin.
    pub probe_ticks: u64,
    /// The margin in microseconds.
    margin: u32,
    min: WindowedMin,
}

impl Rtt {
    pub fn new(clock: &Clock, config: &Config) -> Rtt {
        Rtt {
            srtt8: 0,
            mdev4: 0,
            mdev4_max: 0,
            rttvar: 0,
            round: 0,
            min_var: (config.min_rto / 1000) as u32,
            max_rto_ticks: clock.ticks_for_ns(config.max_rto),
            rto_ticks: clock.ticks_for_ns(config.initial_rto),
            probe_ticks: 0,
            margin: (config.timer_margin / 1000) as u32,
            min: WindowedMin::new(u64::from(clock.hz) * 300),
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
    #[inline]
    pub fn sample(&mut self, clock: &Clock, us: u32, una: u32, nxt: u32) {
        let us = us.clamp(1, 1 << 28);
        if self.srtt8 == 0 {
            self.srtt8 = us << 3;
            self.mdev4 = us << 1;
            self.rttvar = self.mdev4.max(self.min_var);
            self.mdev4_max = self.rttvar;
            self.round = nxt;
        } else {
            let error = us as i32 - (self.srtt8 >> 3) as i32;
            self.srtt8 = self.srtt8.wrapping_add_signed(error).max(1);
            let mut change = error.abs() - (self.mdev4 >> 2) as i32;
            if error < 0 && change > 0 {
                change >>= 3;
            }
            self.mdev4 = self.mdev4.wrapping_add_signed(change);
            if self.mdev4 > self.mdev4_max {
                self.mdev4_max = self.mdev4;
                self.rttvar = self.rttvar.max(self.mdev4_max);
            }
            if crate::seq::after(una, self.round) {
                if self.mdev4_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev4_max) >> 2;
                }
                self.round = nxt;
                self.mdev4_max = self.min_var;
            }
        }
        let srtt = u64::from(self.srtt());
        self.rto_ticks = clock
            .ticks_for_us(srtt + u64::from(self.rttvar))
            .min(self.max_rto_ticks);
        self.probe_ticks = clock.ticks_for_us(2 * srtt + u64::from(self.margin));
    }

    /// The same with one segment in flight: the smallest timeout in place of the margin.
    pub fn lone_probe_ticks(&self, clock: &Clock) -> u64 {
        clock.ticks_for_us(2 * u64::from(self.srtt()) + u64::from(self.min_var))
    }

    /// Doubles the timeout (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.rto_ticks = (self.rto_ticks * 2).min(self.max_rto_ticks);
    }

    pub fn max_rto_ticks(&self) -> u64 {
        self.max_rto_ticks
    }

    /// The handshake gave no sample: three seconds until there is one (RFC 6298, 5.7).
    pub fn fall_back(&mut self, clock: &Clock) {
        if self.srtt8 == 0 {
            self.rto_ticks = clock.ticks_for_ns(3_000_000_000).min(self.max_rto_ticks);
        }
    }
}

/// Minimum over a sliding window from three samples: the best, and the best since each of the others, so that when the best
/// one ages out a good successor stands ready.
#[derive(Clone, Debug)]
struct WindowedMin {
    window: u64,
    samples: [(u64, u32); 3],
}

impl WindowedMin {
    fn new(window: u64) -> WindowedMin {
        WindowedMin {
            window,
            samples: [(0, UNKNOWN); 3],
        }
    }

    #[inline]
    fn best(&self) -> u32 {
        self.samples[0].1
    }

    #[inline]
    fn update(&mut self, now: u64, value: u32) {
        let sample = (now, value);
        if value <= self.samples[0].1 || now - self.samples[2].0 > self.window {
            self.samples = [sample; 3];
            return;
        }
        if value <= self.samples[1].1 {
            self.samples[1] = sample;
            self.samples[2] = sample;
        } else if value <= self.samples[2].1 {
            self.samples[2] = sample;
        }
        let age = now - self.samples[0].0;
        if age > self.window {
            self.samples = [self.samples[1], self.samples[2], sample];
            if now - self.samples[0].0 > self.window {
                self.samples = [self.samples[1], self.samples[2], sample];
            }
        } else if self.samples[1].0 == self.samples[0].0 && age > self.window / 4 {
            self.samples[1] = sample;
            self.samples[2] = sample;
        } else if self.samples[2].0 == self.samples[1].0 && age > self.window / 2 {
            self.samples[2] = sample;
        }
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
        assert_eq!(rtt.rto_ticks, 250);
        rtt.sample(&clock, 10_000, 0, 0);
        assert_eq!(rtt.rto_ticks, clock.ticks_for_us(210_000));
        rtt.back_off();
        assert_eq!(rtt.rto_ticks, 2 * clock.ticks_for_us(210_000));
        rtt.sample(&clock, 10_000, 0, 0);
        assert_eq!(rtt.rto_ticks, clock.ticks_for_us(210_000));
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
    fn minimum_forgets_after_its_window() {
        let mut min = WindowedMin::new(100);
        for (now, value, best) in [
            (0, 50, 50),
            (10, 60, 50),
            (60, 55, 50),
            (101, 70, 55),
            (170, 65, 65),
            (300, 80, 80),
        ] {
            min.update(now, value);
            assert_eq!(min.best(), best, "at {now}");
        }
    }
}
