// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC, in the order of RFC 9438, section 4; HyStart in slow start.
//!
//! The results of reconfigurable networks depend on details that the RFC leaves to the implementation. Recorded exchanges
//! (`tests/exchanges.rs`) show those of Linux 6.1:
//!
//! - Time on the curve counts ticks of the host's timer, expressed in 1/1024 s (the RFC has no granularity).
//! - The rate of growth is computed when the window has changed, or HZ/32 ticks after the last time; the curve is read once a
//!   tick, and within a tick only the Reno-friendly estimate moves.
//! - 4.2: the target lies one smallest RTT ahead (RFC: the smoothed RTT), rounded up to ticks. Growth is capped at one segment
//!   for two acknowledged, which is the RFC's cap of 1.5 cwnd. Before the first reduction it is at least one segment for 20.
//! - 4.3: alpha is 8/15 = 0.533 with beta = 717/1024 (RFC: 0.529), also above the window of the last reduction.
//! - 4.5: at or above the target the window grows by one segment in 100 windows.
//! - 4.8: a timeout forgets `W_max` and K, and also the smallest RTT.
//! - 4.9: a spurious reduction gives the window back, but neither `W_max` nor the epoch.
//! - 5.8: an idle period moves the epoch, so that the curve does not grow meanwhile.

mod curve;

use super::hystart::HyStart;
use super::{Ack, Configured, CongestionControl, Parameter, State, Window};
use crate::rare::{Fresh, Rare};
use curve::Curve;

/// Denominator of beta and C.
const ONE: u32 = 1024;
/// Segments acknowledged for a segment of growth: at least, and at most before the first reduction.
const FASTEST: u32 = 2;
const SLOWEST_AT_FIRST: u32 = 20;
/// Windows for a segment of growth at or above the target.
const PLATEAU_WINDOWS: u32 = 100;
/// The pace rests for a second's ticks divided by this.
const REST: u32 = 32;

/// CUBIC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cubic {
    /// At an end that only receives it is never changed.
    course: Rare<Course>,
}

/// What an ACK changes, and the settings: an instance that has the default ones takes no memory for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Course {
    settings: Settings,
    epoch: Epoch,
    /// Ticks a second, as the last ACK had it.
    hz: u32,
    hystart: HyStart,
}

impl Fresh for Course {
    fn fresh() -> &'static Course {
        static START: Course = Course::new(Settings::DEFAULT);
        &START
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    /// Multiplicative decrease, in 1/1024.
    beta: u16,
    /// C in segments/s^3, in 1/1024.
    c: u16,
    /// 8 / alpha of section 4.3: segments acknowledged, per segment of the window, for 8 segments of the Reno-friendly estimate.
    reno_pace: u16,
    fast_convergence: bool,
    reno_friendly: bool,
    hystart: bool,
}

impl Settings {
    /// 0.4 x 1024 = 409.6.
    const DEFAULT: Settings = Settings::new(717, 410);

    const fn new(beta: u16, c: u16) -> Self {
        // Section 4.3: alpha = 3 (1 - beta) / (1 + beta); rounded down.
        let kept = beta as u32;
        let reno_pace = 8 * (ONE + kept) / 3 / (ONE - kept);
        Self {
            beta,
            c,
            reno_pace: reno_pace as u16,
            fast_convergence: true,
            reno_friendly: true,
            hystart: true,
        }
    }
}

/// All that a timeout forgets. Names are of section 4.1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    /// The tick at which the window began to grow after the last reduction; `NEVER` until then.
    start: u64,
    /// The window before the last reduction, 0 if there was none.
    w_max: u32,
    curve: Curve,
    /// The Reno-friendly window, and segments acknowledged towards its next segment.
    w_est: u32,
    acked: u32,
    /// Smallest RTT in us, 0 if there is none.
    delay_min: u32,
    /// Segments to be acknowledged for each segment of growth, and for which window and at which tick that was read off the curve.
    pace: u32,
    last_cwnd: u32,
    last_time: u64,
}

const NEVER: u64 = u64::MAX;

impl Epoch {
    const NONE: Epoch = Epoch {
        start: NEVER,
        w_max: 0,
        curve: Curve::FLAT,
        w_est: 0,
        acked: 0,
        delay_min: 0,
        pace: 0,
        last_cwnd: 0,
        last_time: 0,
    };

    const fn has_begun(&self) -> bool {
        self.start != NEVER
    }
}

impl Course {
    const fn new(settings: Settings) -> Course {
        Course {
            settings,
            epoch: Epoch::NONE,
            hz: 0,
            hystart: HyStart::NONE,
        }
    }

    /// Hears of `acked` segments in congestion avoidance; afterwards the pace is known.
    fn update(&mut self, cwnd: u32, acked: u32, tick: u64, hz: u32) {
        let epoch = &mut self.epoch;
        epoch.acked = epoch.acked.saturating_add(acked);
        let age = tick.saturating_sub(epoch.last_time);
        if cwnd == epoch.last_cwnd && age <= u64::from(hz / REST) {
            return;
        }
        let at_least_as_fast_as = if age == 0 && epoch.has_begun() {
            epoch.pace
        } else {
            self.read_curve(cwnd, acked, tick, hz)
        };
        let reno = self.reno_friendly_pace(cwnd);
        self.epoch.pace = at_least_as_fast_as.min(reno).max(FASTEST);
    }

    /// Section 4.2: the pace that reaches, in a window, the curve's value a round trip ahead.
    fn read_curve(&mut self, cwnd: u32, acked: u32, tick: u64, hz: u32) -> u32 {
        if !self.epoch.has_begun() {
            self.begin(cwnd, acked, tick);
        }
        let epoch = &mut self.epoch;
        (epoch.last_cwnd, epoch.last_time) = (cwnd, tick);
        let ahead = (u64::from(epoch.delay_min) * u64::from(hz)).div_ceil(1_000_000);
        let ticks = tick.saturating_sub(epoch.start).saturating_add(ahead);
        let t = ticks.saturating_mul(curve::SECOND) / u64::from(hz.max(1));
        let pace = pace_towards(epoch.curve.at(t, self.settings.c), cwnd);
        if epoch.w_max == 0 {
            pace.min(SLOWEST_AT_FIRST)
        } else {
            pace
        }
    }

    /// Section 4.2: the first ACK of congestion avoidance after a reduction begins an epoch.
    fn begin(&mut self, cwnd: u32, acked: u32, tick: u64) {
        let epoch = &mut self.epoch;
        epoch.start = tick;
        epoch.curve = Curve::from_window(cwnd, epoch.w_max, self.settings.c);
        (epoch.w_est, epoch.acked) = (cwnd, acked);
    }

    /// Section 4.3: the estimate of Reno's window moves by alpha segments a window; the pace that follows it where it is ahead.
    fn reno_friendly_pace(&mut self, cwnd: u32) -> u32 {
        if !self.settings.reno_friendly {
            return u32::MAX;
        }
        let epoch = &mut self.epoch;
        let step = (u64::from(cwnd) * u64::from(self.settings.reno_pace) / 8).max(1);
        // A step is made once more than its segments are acknowledged.
        let steps = u64::from(epoch.acked.saturating_sub(1)) / step;
        epoch.acked -= (steps * step) as u32;
        epoch.w_est = epoch.w_est.saturating_add(steps as u32);
        match epoch.w_est.saturating_sub(cwnd) {
            0 => u32::MAX,
            ahead => cwnd / ahead,
        }
    }

    /// Section 4.6: what a reduction leaves; with section 4.7, what is remembered of the window before.
    fn reduce(&mut self, cwnd: u32) -> u32 {
        let beta = u32::from(self.settings.beta);
        let Epoch { w_max, start, .. } = &mut self.epoch;
        let shrinking = cwnd < *w_max;
        *w_max = if shrinking && self.settings.fast_convergence {
            portion(cwnd, ONE + beta, 2 * ONE)
        } else {
            cwnd
        };
        *start = NEVER;
        portion(cwnd, beta, ONE).max(2)
    }

    /// Section 4.8.
    fn time_out(&mut self) {
        self.epoch = Epoch::NONE;
        self.hystart = HyStart::NONE;
    }

    /// Section 5.8: time without anything to send is not of the epoch.
    fn resume(&mut self, now: u64, idle: u64) {
        let tick = |time: u64| time / (1_000_000_000 / u64::from(self.hz.max(1)));
        let start = self.epoch.start + (tick(now) - tick(now.saturating_sub(idle)));
        self.epoch.start = start.min(tick(now));
    }

    /// The smallest RTT, for section 4.2's look ahead and for HyStart. Samples of an epoch's first second do not count: queues
    /// have yet to drain.
    fn take_rtt(&mut self, window: &mut Window, ack: &Ack) {
        let epoch = &mut self.epoch;
        if epoch.has_begun() && ack.jiffies.saturating_sub(epoch.start) < u64::from(ack.hz) {
            return;
        }
        let Some(us) = ack.rtt_us() else { return };
        let us = u32::try_from(us).unwrap_or(u32::MAX).max(1);
        if epoch.delay_min == 0 || us < epoch.delay_min {
            epoch.delay_min = us;
        }
        if self.settings.hystart && window.in_slow_start() {
            self.hystart.on_ack(window, ack, us, epoch.delay_min);
        }
    }
}

/// Segments to be acknowledged for each segment of growth, so that a window of `cwnd` reaches `target` in a window's time
/// (sections 4.4 and 4.5: the same on both sides of `W_max`).
const fn pace_towards(target: u32, cwnd: u32) -> u32 {
    match target.saturating_sub(cwnd) {
        0 => cwnd.saturating_mul(PLATEAU_WINDOWS),
        gap => cwnd / gap,
    }
}

const fn portion(n: u32, numerator: u32, denominator: u32) -> u32 {
    (n as u64 * numerator as u64 / denominator as u64) as u32
}

impl Configured for Cubic {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::number(
            "beta",
            717.0 / 1024.0,
            0.1,
            0.99,
            "share of the window that a reduction leaves",
        ),
        Parameter::number(
            "c",
            0.4,
            0.01,
            10.0,
            "aggressiveness of the curve in segments/s^3",
        ),
        Parameter::switch(
            "fast_convergence",
            true,
            "give up more of the window when it is shrinking",
        ),
        Parameter::switch("reno_friendly", true, "grow at least as Reno would"),
        Parameter::switch("hystart", true, "leave slow start before the first loss"),
    ];

    fn configured(values: &[f64]) -> Self {
        let fixed = |value: f64| libm::round(value * f64::from(ONE)) as u16;
        let on = |value: f64| value != 0.0;
        let settings = Settings {
            fast_convergence: on(values[2]),
            reno_friendly: on(values[3]),
            hystart: on(values[4]),
            ..Settings::new(fixed(values[0]), fixed(values[1]))
        };
        Self {
            course: Rare::new(Course::new(settings)),
        }
    }
}

impl CongestionControl for Cubic {
    #[inline(never)] // so that to ask which control it is takes no registers
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let course = &mut *self.course;
        course.hz = ack.hz;
        course.take_rtt(window, ack);
    }

    #[inline(never)] // as above
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        window.increase(ack, |window, acked| {
            let course = &mut *self.course;
            course.update(window.cwnd, acked, ack.jiffies, ack.hz);
            course.epoch.pace
        });
    }

    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        self.course.reduce(window.cwnd)
    }

    fn on_state(&mut self, _window: &mut Window, state: State, _now: u64) {
        if state == State::Timeout {
            self.course.time_out();
        }
    }

    fn on_new_path(&mut self, since: u64, nxt: u32) {
        if self.course.settings.hystart {
            self.course.hystart.begin(since, nxt);
        }
    }

    fn on_restart(&mut self, _window: &mut Window, now: u64, idle: u64) {
        if self.course.epoch.has_begun() {
            self.course.resume(now, idle);
        }
    }
}

#[cfg(test)]
mod tests;
