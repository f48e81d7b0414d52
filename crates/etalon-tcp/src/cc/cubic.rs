//! CUBIC (RFC 9438), with HyStart in slow start.
//!
//! The results of reconfigurable networks depend on details that the RFC leaves to the implementation. As in Linux
//! 6.1:
//!
//! - The curve is read on the host's timer: the epoch's start and t count jiffies (section 4.1 has no granularity). K
//!   and t are then expressed in 1/1024 s.
//! - The growth rate is computed anew when the window has changed, or more than HZ/32 jiffies after the last time;
//!   within one jiffy the curve is read once and only the Reno-friendly estimate moves.
//! - The target is the curve one smallest RTT ahead (section 4.2 has the smoothed RTT), rounded up to jiffies.
//! - Growth is capped at one segment for two acknowledged (section 4.2's cap of the target at 1.5 cwnd), and at or
//!   above the target it is one segment in 100 windows. Before the first reduction it is at least one segment for 20
//!   acknowledged.
//! - The Reno-friendly window grows at alpha = 8/15 = 0.533 with beta = 717/1024 (section 4.3 has 0.529), and does not
//!   go over to alpha = 1 above the window of the last reduction.
//! - A timeout forgets everything (section 4.8: `W_max` and K), also the smallest RTT, and growth is again at least
//!   one segment for 20 acknowledged.
//! - A spurious reduction gives the window back, but not `W_max` nor the epoch (section 4.9 restores them).
//! - An idle period moves the epoch, so that the curve does not grow meanwhile (section 5.8).
//!
//! Other than Linux: the cube root is exact where Linux's is a table with 0.2 % of error; counters saturate.

use super::hystart::HyStart;
use super::{Ack, Configured, CongestionControl, Parameter, State, Window};
use crate::rare::{Fresh, Rare};

/// Denominator of beta and C.
const ONE: u32 = 1024;
/// t and K are in units of 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// Scaling of C (t - K)^3: C is in 1/1024, time cubed in 2^-30 s^3.
const CURVE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;

/// CUBIC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cubic {
    /// At an end that only receives it is never changed.
    course: Rare<Course>,
}

/// What an ACK changes, and the settings: an instance that has those of Linux takes no memory for them.
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
        static START: Course = Course::new(Settings::LINUX);
        &START
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

    /// Brings the pace up to date for a window of `cwnd` and `acked` newly acknowledged segments.
    #[inline]
    fn update(&mut self, cwnd: u32, acked: u32, jiffies: u64, hz: u32) {
        self.epoch.update(&self.settings, cwnd, acked, jiffies, hz);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    /// Multiplicative decrease, in 1/1024.
    beta: u16,
    /// C in segments/s^3, in 1/1024.
    c: u16,
    /// Segments acknowledged for each segment by which the Reno-friendly window grows, per window, in 1/8.
    reno_pace: u16,
    fast_convergence: bool,
    reno_friendly: bool,
    hystart: bool,
}

/// Everything that a timeout forgets. `W_max` and such are named as in RFC 9438, section 4.1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    /// Jiffies at which congestion avoidance began after the last reduction; none until its first ACK.
    start: Start,
    /// Segments to be acknowledged for each segment of growth.
    pace: u32,
    /// The window before the last reduction, 0 if there was none.
    w_max: u32,
    /// The plateau of the curve, and when it is reached: 2^-10 s after the start.
    origin: u32,
    k: u32,
    /// The window, and jiffies, at the last computation of the pace.
    last_cwnd: u32,
    last_time: u64,
    /// Smallest RTT in us, 0 if there is none.
    delay_min: u32,
    /// Segments acknowledged towards the next growth of the Reno-friendly window.
    acked: u32,
    /// The Reno-friendly window.
    w_est: u32,
}

/// Jiffies of a start, which there may not have been yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start(u64);

impl Start {
    const NONE: Start = Start(u64::MAX);

    #[inline]
    fn time(self) -> Option<u64> {
        (self != Start::NONE).then_some(self.0)
    }
}

impl Settings {
    /// 0.4 x 1024 = 409.6.
    const LINUX: Settings = Settings::new(717, 410);

    const fn new(beta: u16, c: u16) -> Self {
        // RFC 9438, section 4.3: alpha = 3 (1 - beta) / (1 + beta); this is 8 / alpha, rounded down as in Linux; never 0, since beta
        // is not negative.
        let left = beta as u32;
        let reno_pace = (8 * (ONE + left) / 3 / (ONE - left)) as u16;
        Self {
            beta,
            c,
            reno_pace,
            fast_convergence: true,
            reno_friendly: true,
            hystart: true,
        }
    }
}

impl Epoch {
    const NONE: Epoch = Epoch {
        start: Start::NONE,
        pace: 0,
        w_max: 0,
        origin: 0,
        k: 0,
        last_cwnd: 0,
        last_time: 0,
        delay_min: 0,
        acked: 0,
        w_est: 0,
    };

    /// Brings the pace up to date for a window of `cwnd` and `acked` newly acknowledged segments.
    #[inline]
    fn update(&mut self, settings: &Settings, cwnd: u32, acked: u32, jiffies: u64, hz: u32) {
        self.acked = self.acked.saturating_add(acked);
        let since = jiffies.wrapping_sub(self.last_time);
        if cwnd == self.last_cwnd && since <= u64::from(hz / 32) {
            return;
        }
        if self.start.time().is_none() || since != 0 {
            self.read_curve(settings, cwnd, acked, jiffies, hz.max(1));
        }
        if settings.reno_friendly {
            self.follow_reno(settings, cwnd);
        }
        // At most one segment for every two acknowledged.
        self.pace = self.pace.max(2);
    }

    /// Takes the pace from the curve.
    fn read_curve(&mut self, settings: &Settings, cwnd: u32, acked: u32, jiffies: u64, hz: u32) {
        self.last_cwnd = cwnd;
        self.last_time = jiffies;
        let start = match self.start.time() {
            Some(start) => start,
            None => {
                self.begin(settings, cwnd, acked, jiffies);
                jiffies
            }
        };
        // One smallest RTT ahead, in jiffies rounded up.
        let tick = (1_000_000 / hz).max(1);
        let t = jiffies.saturating_sub(start) + u64::from(self.delay_min.div_ceil(tick));
        let t = (t << TIME_SHIFT) / u64::from(hz);

        let target = self.curve(settings, t);
        self.pace = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        // Nothing is known of the path: do not crawl.
        if self.w_max == 0 {
            self.pace = self.pace.min(20);
        }
    }

    /// RFC 9438, section 4.2: K and the plateau of a new epoch.
    fn begin(&mut self, settings: &Settings, cwnd: u32, acked: u32, jiffies: u64) {
        self.start = Start(jiffies);
        self.acked = acked;
        self.w_est = cwnd;
        if self.w_max <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            // K = cbrt((W_max - cwnd_epoch) / C), in 2^-10 s.
            let per_segment = (1 << CURVE_SHIFT) / u64::from(settings.c);
            self.k = cube_root(per_segment * u64::from(self.w_max - cwnd));
            self.origin = self.w_max;
        }
    }

    /// RFC 9438, section 4.2: W(t) = C (t - K)^3 + W_max, with t in 2^-10 s.
    fn curve(&self, settings: &Settings, t: u64) -> u32 {
        // Bounded so that the cube fits; the window is at its limit long before.
        let k = u64::from(self.k);
        let distance = u128::from(t.abs_diff(k).min(1 << 32));
        let delta = (u128::from(settings.c) * distance * distance * distance) >> CURVE_SHIFT;
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        if t < k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        }
    }

    /// RFC 9438, section 4.3: grows at least as Reno would at the same rate of loss.
    fn follow_reno(&mut self, settings: &Settings, cwnd: u32) {
        let pace = (u64::from(cwnd) * u64::from(settings.reno_pace) / 8).max(1);
        let acked = u64::from(self.acked);
        if acked > pace {
            let steps = (acked - 1) / pace;
            self.acked = (acked - steps * pace) as u32;
            self.w_est = self.w_est.saturating_add(steps as u32);
        }
        if self.w_est > cwnd {
            self.pace = self.pace.min(cwnd / (self.w_est - cwnd));
        }
    }
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
        let epoch = &mut course.epoch;
        course.hz = ack.hz;
        let Some(rtt) = ack.rtt else { return };
        // Samples of the first second of an epoch do not count: the path is still draining.
        if epoch
            .start
            .time()
            .is_some_and(|start| ack.jiffies.saturating_sub(start) < u64::from(ack.hz))
        {
            return;
        }
        let rtt = u32::try_from(rtt / 1_000).unwrap_or(u32::MAX).max(1);
        if epoch.delay_min == 0 || rtt < epoch.delay_min {
            epoch.delay_min = rtt;
        }
        if course.settings.hystart && window.in_slow_start() {
            course.hystart.on_ack(window, ack, rtt, epoch.delay_min);
        }
    }

    #[inline(never)] // as above
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        let Some(acked) = window.begin_step(ack) else {
            return;
        };
        let course = &mut *self.course;
        course.update(window.cwnd, acked, ack.jiffies, ack.hz);
        window.additive_increase(course.epoch.pace, acked);
    }

    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        let course = &mut *self.course;
        let Settings {
            beta,
            fast_convergence,
            ..
        } = course.settings;
        let scale = |factor: u32, denominator: u32| {
            (u64::from(window.cwnd) * u64::from(factor) / u64::from(denominator)) as u32
        };
        let epoch = &mut course.epoch;
        epoch.start = Start::NONE;
        // RFC 9438, section 4.7: fast convergence.
        epoch.w_max = if window.cwnd < epoch.w_max && fast_convergence {
            scale(ONE + u32::from(beta), 2 * ONE)
        } else {
            window.cwnd
        };
        // RFC 9438, section 4.6: multiplicative decrease.
        scale(beta.into(), ONE).max(2)
    }

    fn on_state(&mut self, _window: &mut Window, state: State, _now: u64) {
        if state == State::Timeout {
            self.course.epoch = Epoch::NONE;
            self.course.hystart = HyStart::NONE;
        }
    }

    /// RFC 9438, section 5.8: time in which the application had nothing to send is not part of the epoch.
    fn on_restart(&mut self, _window: &mut Window, now: u64, idle: u64) {
        let Some(start) = self.course.epoch.start.time() else {
            return;
        };
        let tick = (1_000_000_000 / u64::from(self.course.hz.max(1))).max(1);
        let present = now / tick;
        let idle = present - now.saturating_sub(idle) / tick;
        if idle > 0 {
            self.course.epoch.start = Start(start.saturating_add(idle).min(present));
        }
    }
}

/// The cube root of `n` < 2^63, rounded down, one bit at a time.
fn cube_root(n: u64) -> u32 {
    let mut root = 0u64;
    for bit in (0..21).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate * candidate <= n {
            root = candidate;
        }
    }
    root as u32
}

#[cfg(test)]
mod tests;
