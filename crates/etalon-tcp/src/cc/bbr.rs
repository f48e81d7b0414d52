// SPDX-License-Identifier: MIT OR Apache-2.0
//! BBR, version 1 (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, BBR: congestion-based congestion control, ACM Queue 14(5), 2016; in detail
//! draft-cardwell-iccrg-bbr-congestion-control-00), which Linux 6.1 has. The margin of the pace and the aggregation of ACKs are those of
//! draft-ietf-ccwg-bbr (its sections on the pacing rate and on data aggregation).
//!
//! A model of the path has two numbers: the largest rate of delivery of the last ten round trips, and the shortest round trip of the last ten
//! seconds. Data is sent at that rate, times a gain; about two products of both may be in flight. Four modes choose the gains: `Startup` finds
//! the rate, `Drain` empties the queue that this built, `ProbeBw` looks for more by turns, and `ProbeRtt` empties the path to see it bare.
//!
//! Linux's version also looks for policers (`lt_bw`). The drafts do not, and neither does this.

use super::{Ack, Configured, CongestionControl, Parameter, RateSample, Report, State, Window};
use std::collections::VecDeque;
use std::ops::Range;

/// `BBRHighGain`: 2 / ln 2, which doubles the rate in each round trip.
const HIGH_GAIN: f64 = 2.885_390_081_777_926_8;
/// Gains of the eight phases in which `ProbeBw` looks for more: more, less by as much, and six times as it is.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// `cwnd_gain` in `ProbeBw`.
const CWND_GAIN: f64 = 2.0;
/// `BtlBwFilterLen` and `ExtraAckedFilterLen`, in round trips.
const FILTER_ROUNDS: u64 = 10;
/// `RTpropFilterLen`, in nanoseconds.
const RTPROP_FILTER: u64 = 10_000_000_000;
/// `ProbeRTTDuration`, in nanoseconds.
const PROBE_RTT_DURATION: u64 = 200_000_000;
/// `BBRMinPipeCwnd`, in segments.
const MIN_PIPE_CWND: u32 = 4;
/// Growth of the rate within a round trip below which the path counts as full, and for how many round trips.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// `BBRPacingMarginPercent`: the pace stays so much below the rate, so that queues drain.
const PACING_MARGIN: f64 = 0.01;
/// A round trip before the first sample, in nanoseconds.
const UNKNOWN_RTT: u64 = 1_000_000;

/// BBR.
#[derive(Clone, Debug)]
pub struct Bbr(Box<Inner>);

/// What the model does now.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    /// A phase of [`CYCLE`], and since when.
    ProbeBw(usize, u64),
    /// Until when, once little enough is in flight; whether a round trip has passed since.
    ProbeRtt(Option<u64>, bool),
}

/// The largest value of the last round trips.
#[derive(Clone, Debug, Default)]
struct MaxFilter(VecDeque<(u64, f64)>);

impl MaxFilter {
    /// Takes a value of round trip `round`; forgets those of `len` round trips before it.
    fn update(&mut self, round: u64, value: f64, len: u64) {
        while self.0.back().is_some_and(|last| last.1 <= value) {
            self.0.pop_back();
        }
        self.0.push_back((round, value));
        while self.0.front().is_some_and(|first| first.0 + len <= round) {
            self.0.pop_front();
        }
    }

    /// 0 before the first value.
    fn max(&self) -> f64 {
        self.0.front().map_or(0.0, |first| first.1)
    }
}

/// Round trips by what is delivered: one is over when a segment is delivered that was sent after its beginning.
#[derive(Clone, Debug, Default)]
struct Rounds {
    count: u64,
    /// Segments delivered when the present one is over.
    ends: u64,
}

impl Rounds {
    /// Whether `sample` begins another.
    fn begins(&mut self, sample: &RateSample, delivered: u64) -> bool {
        let begins = sample.sent.delivered >= self.ends;
        if begins {
            self.count += 1;
            self.ends = delivered;
        }
        begins
    }
}

/// Whether the path is full: `BBRCheckFullPipe`.
#[derive(Clone, Debug, Default)]
struct Fullness {
    rate: f64,
    rounds: u32,
    filled: bool,
}

impl Fullness {
    fn hear_round(&mut self, rate: f64) {
        if rate >= self.rate * FULL_GROWTH {
            (self.rate, self.rounds) = (rate, 0);
        } else {
            self.rounds += 1;
            self.filled |= self.rounds >= FULL_ROUNDS;
        }
    }
}

/// What is acknowledged beyond the rate, since ACKs come in bursts: `BBRUpdateACKAggregation`.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    since: u64,
    delivered: f64,
    extra: MaxFilter,
}

impl Aggregation {
    fn hear(&mut self, report: &Report, rate: f64, cwnd: u32, round: u64, filled: bool) {
        let expected = |since: u64| rate * (report.now - since) as f64;
        if self.delivered <= expected(self.since) {
            (self.delivered, self.since) = (0.0, report.now);
        }
        self.delivered += f64::from(report.delivered);
        let extra = (self.delivered - expected(self.since)).min(cwnd.into());
        let len = if filled { FILTER_ROUNDS } else { 1 };
        self.extra.update(round, extra, len);
    }
}

/// Rates are in segments a nanosecond.
#[derive(Clone, Debug)]
struct Inner {
    mode: Mode,
    mss: u32,
    initial_cwnd: u32,
    /// `BtlBw`.
    rates: MaxFilter,
    /// What the present ACK shows of the rate of delivery.
    sample: Option<RateSample>,
    /// `RTprop`, none before the first sample.
    rtprop: Option<u64>,
    /// When it was found; the handshake's counts from the first ACK on.
    rtprop_at: Option<u64>,
    rounds: Rounds,
    fullness: Fullness,
    aggregation: Aggregation,
    pacing_rate: f64,
    /// The window before a recovery, or before `ProbeRtt`.
    prior_cwnd: u32,
    /// The path's state at the last ACK.
    state: State,
    /// `packet_conservation`, until the round trip of this number is over.
    conserves_in: Option<u64>,
    /// Data was sent with nothing in flight: `idle_restart`, if the application was the reason.
    restarted: bool,
    /// Segments delivered when those left that `ProbeRtt` kept few: they show no rate.
    probed: Range<u64>,
}

impl Inner {
    fn rate(&self) -> f64 {
        self.rates.max()
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw(phase, _) => CYCLE[phase],
            Mode::ProbeRtt(..) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw(..) => CWND_GAIN,
            Mode::ProbeRtt(..) => 1.0,
        }
    }

    /// `send_quantum` in segments: a millisecond of the pace, at most 64 KB, at least one segment, or two above 1.2 Mbit/s.
    fn send_quantum(&self) -> f64 {
        let bytes_a_second = self.pacing_rate * f64::from(self.mss) * 1e9;
        let least = if bytes_a_second < 150_000.0 { 1.0 } else { 2.0 };
        ((bytes_a_second / 1e3).min(65_536.0) / f64::from(self.mss))
            .floor()
            .max(least)
    }

    /// `BBRInflight`: `gain` products of rate and round trip, and what bursts need.
    fn inflight(&self, gain: f64) -> u32 {
        let Some(rtprop) = self.rtprop else {
            return self.initial_cwnd;
        };
        let product = (gain * self.rate() * rtprop as f64).ceil();
        (product + 3.0 * self.send_quantum()) as u32
    }

    /// `BBRSaveCwnd`.
    fn save(&mut self, window: &Window) {
        let free = self.state < State::FastRecovery && !matches!(self.mode, Mode::ProbeRtt(..));
        let before = if free { 0 } else { self.prior_cwnd };
        self.prior_cwnd = window.cwnd.max(before);
    }

    /// `BBREnterProbeBW`: any phase but the one that sends less. Which one depends on the time, so that flows do not go together.
    fn enter_probe_bw(&mut self, now: u64) {
        let drawn = (now ^ self.rounds.ends).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let phase = match (drawn % 7) as usize {
            0 => 0,
            other => other + 1,
        };
        self.mode = Mode::ProbeBw(phase, now);
    }

    /// `BBRUpdateBtlBw`. Returns whether a round trip begins.
    fn hear_rate(&mut self, report: &Report, cwnd: u32) -> bool {
        let Some(sample) = self.sample.take() else {
            return false;
        };
        let begins = self.rounds.begins(&sample, report.total_delivered);
        let limited = sample.sent.app_limited || self.probed.contains(&sample.sent.delivered);
        self.restarted &= limited;
        let rate = sample.segments_per_second() / 1e9;
        if rate >= self.rate() || !limited {
            self.rates.update(self.rounds.count, rate, FILTER_ROUNDS);
        }
        let (rate, round, filled) = (self.rate(), self.rounds.count, self.fullness.filled);
        self.aggregation.hear(report, rate, cwnd, round, filled);
        if begins && !filled && !limited {
            self.fullness.hear_round(rate);
        }
        begins
    }

    /// `BBRCheckCyclePhase`, and `BBRCheckDrain`.
    fn advance(&mut self, report: &Report) {
        if let Mode::ProbeBw(phase, since) = self.mode {
            if self.is_over(phase, since, report) {
                self.mode = Mode::ProbeBw((phase + 1) % CYCLE.len(), report.now);
            }
        }
        if self.mode == Mode::Startup && self.fullness.filled {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && report.in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(report.now);
        }
    }

    /// `BBRIsNextCyclePhase`.
    fn is_over(&self, phase: usize, since: u64, report: &Report) -> bool {
        let prior_in_flight = report.in_flight + report.delivered + report.lost;
        let whole = self
            .rtprop
            .is_some_and(|rtprop| report.now - since > rtprop);
        let gain = CYCLE[phase];
        if gain > 1.0 {
            whole && (report.lost > 0 || prior_in_flight >= self.inflight(gain))
        } else if gain < 1.0 {
            whole || prior_in_flight <= self.inflight(1.0)
        } else {
            whole
        }
    }

    /// `BBRUpdateRTprop` and `BBRCheckProbeRTT`.
    fn hear_rtt(&mut self, window: &mut Window, report: &Report, begins: bool) {
        let found = *self.rtprop_at.get_or_insert(report.now);
        let expired = report.now > found + RTPROP_FILTER;
        if let Some(rtt) = report.rtt {
            if expired || self.rtprop.is_none_or(|rtprop| rtt <= rtprop) {
                (self.rtprop, self.rtprop_at) = (Some(rtt), Some(report.now));
            }
        }
        if expired && !self.restarted && !matches!(self.mode, Mode::ProbeRtt(..)) {
            self.save(window);
            self.mode = Mode::ProbeRtt(None, false);
            self.probed.start = report.total_delivered;
        }
        if let Mode::ProbeRtt(until, passed) = self.mode {
            self.probe_rtt(window, report, until, passed || begins);
        }
        self.restarted &= report.delivered == 0;
    }

    /// `BBRHandleProbeRTT`; what it keeps few shows no rate.
    fn probe_rtt(
        &mut self,
        window: &mut Window,
        report: &Report,
        until: Option<u64>,
        passed: bool,
    ) {
        self.probed.end = report.total_delivered + u64::from(report.in_flight) + 1;
        match until {
            None if report.in_flight <= MIN_PIPE_CWND => {
                self.rounds.ends = report.total_delivered;
                self.mode = Mode::ProbeRtt(Some(report.now + PROBE_RTT_DURATION), false);
            }
            None => {}
            Some(end) if passed && report.now > end => {
                self.rtprop_at = Some(report.now);
                window.cwnd = window.cwnd.max(self.prior_cwnd);
                if self.fullness.filled {
                    self.enter_probe_bw(report.now);
                } else {
                    self.mode = Mode::Startup;
                }
            }
            Some(_) => self.mode = Mode::ProbeRtt(until, passed),
        }
    }

    /// `BBRSetPacingRate`.
    fn set_pace(&mut self, gain: f64) {
        let rate = gain * self.rate() * (1.0 - PACING_MARGIN);
        if rate > 0.0 && (self.fullness.filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `BBRSetCwnd`.
    fn set_cwnd(&mut self, window: &mut Window, report: &Report) {
        let extra = if self.fullness.filled {
            self.aggregation.extra.max() as u32
        } else {
            0
        };
        let target = self.inflight(self.cwnd_gain()).saturating_add(extra);
        let mut cwnd = self.modulate(window.cwnd, report);
        if self.conserves_in.is_none() {
            if self.fullness.filled {
                cwnd = (cwnd + report.delivered).min(target);
            } else if cwnd < target || report.total_delivered < u64::from(self.initial_cwnd) {
                cwnd += report.delivered;
            }
            cwnd = cwnd.max(MIN_PIPE_CWND);
        }
        if matches!(self.mode, Mode::ProbeRtt(..)) {
            cwnd = cwnd.min(MIN_PIPE_CWND);
        }
        window.cwnd = cwnd.clamp(1, Window::MAX_CWND);
    }

    /// What the path's state means to the window.
    fn hear_state(&mut self, window: &mut Window, report: &Report) {
        let before = std::mem::replace(&mut self.state, report.state);
        let over = |round| round < self.rounds.count;
        if self.conserves_in.is_some_and(over) {
            self.conserves_in = None;
        }
        match (before, report.state) {
            (State::FastRecovery, State::FastRecovery) => {}
            (_, State::FastRecovery) => self.enter_recovery(window, report),
            (State::FastRecovery | State::Timeout, now) if now < State::FastRecovery => {
                self.leave_recovery(window);
            }
            _ => {}
        }
    }

    /// Fast recovery begins: as much is sent as is delivered, for a round trip.
    fn enter_recovery(&mut self, window: &mut Window, report: &Report) {
        self.conserves_in = Some(self.rounds.count);
        self.rounds.ends = report.total_delivered;
        window.cwnd = report.in_flight + report.delivered.max(1);
    }

    /// The recovery is over: `BBRRestoreCwnd`.
    fn leave_recovery(&mut self, window: &mut Window) {
        self.conserves_in = None;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    /// `BBRModulateCwndForRecovery`.
    fn modulate(&self, cwnd: u32, report: &Report) -> u32 {
        let left = cwnd.saturating_sub(report.lost).max(1);
        match self.conserves_in {
            Some(_) => left.max(report.in_flight + report.delivered),
            None => left,
        }
    }
}

impl Configured for Bbr {
    const PARAMETERS: &'static [Parameter] = &[];

    fn configured(_values: &[f64]) -> Self {
        Self(Box::new(Inner {
            mode: Mode::Startup,
            mss: 1448,
            initial_cwnd: 10,
            rates: MaxFilter::default(),
            sample: None,
            rtprop: None,
            rtprop_at: None,
            rounds: Rounds::default(),
            fullness: Fullness::default(),
            aggregation: Aggregation::default(),
            pacing_rate: 0.0,
            prior_cwnd: 0,
            state: State::Open,
            conserves_in: None,
            restarted: false,
            probed: 0..0,
        }))
    }
}

impl CongestionControl for Bbr {
    /// `BBRInitPacingRate`: the initial window over the first round trip.
    fn on_open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
        let inner = &mut *self.0;
        (inner.mss, inner.initial_cwnd) = (mss, window.cwnd);
        let rtt = min_rtt.unwrap_or(UNKNOWN_RTT).max(1);
        inner.rtprop = min_rtt;
        inner.pacing_rate = HIGH_GAIN * f64::from(window.cwnd) / rtt as f64;
    }

    fn on_rate_sample(&mut self, _window: &mut Window, sample: &RateSample) {
        self.0.sample = Some(*sample);
    }

    fn steer(&mut self, window: &mut Window, report: &Report) {
        let inner = &mut *self.0;
        let begins = inner.hear_rate(report, window.cwnd);
        inner.hear_state(window, report);
        inner.advance(report);
        inner.hear_rtt(window, report, begins);
        inner.set_pace(inner.pacing_gain());
        inner.set_cwnd(window, report);
    }

    fn increase(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Loss as such moves neither model nor threshold; the window is remembered.
    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        self.0.save(window);
        u32::MAX
    }

    /// `BBRHandleRestartFromIdle`: at the rate, without a gain.
    fn on_restart(&mut self, _window: &mut Window, _now: u64, _idle: u64) {
        let inner = &mut *self.0;
        inner.restarted = true;
        if matches!(inner.mode, Mode::ProbeBw(..)) {
            inner.set_pace(1.0);
        }
    }

    fn undo(&mut self, window: &Window, prior_cwnd: u32) -> u32 {
        window.cwnd.max(prior_cwnd)
    }

    fn pacing_rate(&self, _window: &Window, mss: u32) -> Option<u64> {
        let rate = self.0.pacing_rate * f64::from(mss) * 1e9;
        (rate > 0.0).then_some(rate.max(1.0) as u64)
    }

    fn wants_pacing(&self) -> bool {
        true
    }

    fn paces_chunks(&self) -> bool {
        true
    }

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn steers(&self) -> bool {
        true
    }
}
