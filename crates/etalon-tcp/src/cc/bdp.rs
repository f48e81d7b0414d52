// SPDX-License-Identifier: MIT OR Apache-2.0
//! A window in fractions of a segment that begins at, and never exceeds, the bandwidth-delay product of the sender's own link: what PowerTCP,
//! theta-PowerTCP and HPCC have in common (HPCC, SIGCOMM 2019, section 3.2; PowerTCP, NSDI 2022, section 3.3).
//!
//! The rest of TCP has whole segments. So it sees the window rounded up, and the pacing rate is the exact window over the base RTT.

use super::{Parameter, State, Window};
use crate::seq::before;

/// The least window, in segments: it keeps quotients finite.
const LEAST: f64 = 1e-3;

pub(super) const HOST_RATE: Parameter = Parameter::number(
    "host_rate",
    0.0,
    0.0,
    10_000.0,
    "HostBw: rate of the sender's NIC in Gbit/s; 0: what the plan says",
);
pub(super) const BASE_RTT: Parameter = Parameter::number(
    "base_rtt",
    0.0,
    0.0,
    1e6,
    "tau: RTT without queues in microseconds; 0: the smallest there was",
);
pub(super) const FLOWS: Parameter = Parameter::number(
    "flows",
    10.0,
    1.0,
    1e6,
    "N: flows that are expected to share the NIC; each adds an Nth of what is to spare",
);

/// Whether the window moves once a round trip, or with every ACK.
pub(super) const fn once_per_rtt(on: bool) -> Parameter {
    let about = "the window moves once a round trip, not with every ACK";
    Parameter::switch("once_per_rtt", on, about)
}

/// What a control of the type `Self(Box<Inner>)` is asked and leaves to `Inner::window`, a [`BdpWindow`].
macro_rules! bdp_window {
    () => {
        fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
            BdpWindow::ssthresh(window)
        }

        fn on_state(&mut self, _window: &mut Window, state: State, _now: u64) {
            self.0.window.on_state(state);
        }

        fn pacing_rate(&self, window: &Window, mss: u32) -> Option<u64> {
            self.0.window.pacing_rate(window, mss)
        }

        fn wants_pacing(&self) -> bool {
            true
        }
    };
}
pub(super) use bdp_window;

/// The same of a control whose window moves with telemetry alone, not with ACKs.
macro_rules! telemetry_alone {
    () => {
        fn increase(&mut self, _window: &mut Window, _ack: &Ack) {}

        fn increase_by(&mut self, _window: &mut Window, _count: u32, _limited: bool) -> bool {
            true
        }

        fn wants_telemetry(&self) -> bool {
            true
        }
    };
}
pub(super) use telemetry_alone;

/// The window, and that of rounds before.
#[derive(Clone, Debug)]
pub(super) struct BdpWindow {
    /// In bytes a nanosecond.
    host_rate: f64,
    /// In nanoseconds; 0 before one is known.
    base_rtt: f64,
    is_given: bool,
    flows: f64,
    once_per_rtt: bool,
    mss: f64,
    /// In segments, and the same rounded up, as the rest of TCP was given it.
    now: f64,
    shown: u32,
    /// When the segments left that are being acknowledged, and since the latest round began: its first ACK may yet move that.
    old: f64,
    at_round: f64,
    is_first: bool,
    /// Where the present round ends in sequence space.
    round_end: Option<u32>,
    reduces: bool,
}

impl BdpWindow {
    /// Parameters: [`HOST_RATE`], [`BASE_RTT`], [`FLOWS`], [`once_per_rtt`].
    pub(super) fn new(values: &[f64]) -> BdpWindow {
        BdpWindow {
            host_rate: values[0] / 8.0,
            base_rtt: values[1] * 1e3,
            is_given: values[1] > 0.0,
            flows: values[2],
            once_per_rtt: values[3] != 0.0,
            mss: 0.0,
            now: 1.0,
            shown: 0,
            old: 1.0,
            at_round: 1.0,
            is_first: false,
            round_end: None,
            reduces: false,
        }
    }

    /// tau in nanoseconds, if it is known.
    pub(super) fn base_rtt(&self) -> Option<f64> {
        Some(self.base_rtt).filter(|&tau| tau > 0.0 && self.mss > 0.0)
    }

    /// HostBw tau in segments.
    pub(super) fn most(&self) -> f64 {
        match self.host_rate {
            0.0 => f64::from(Window::MAX_CWND),
            rate => (rate * self.base_rtt / self.mss).max(1.0),
        }
    }

    /// HostBw tau / N, if HostBw is known; else a segment.
    pub(super) fn share(&self) -> f64 {
        match self.host_rate {
            0.0 => 1.0,
            rate => rate * self.base_rtt / self.mss / self.flows,
        }
    }

    /// Data may be sent: the window is HostBw tau, once tau is known.
    pub(super) fn open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
        self.mss = f64::from(mss);
        if let (false, Some(rtt)) = (self.is_given, min_rtt) {
            self.base_rtt = rtt as f64;
        }
        if self.base_rtt > 0.0 && self.host_rate > 0.0 {
            self.set(window, self.most());
        } else {
            self.take(window);
        }
        (self.old, self.at_round) = (self.now, self.now);
    }

    /// There was a smaller RTT than before, perhaps.
    pub(super) fn hear_rtt(&mut self, rtt: u64) {
        if !self.is_given && (self.base_rtt == 0.0 || (rtt as f64) < self.base_rtt) {
            self.base_rtt = rtt as f64;
        }
    }

    /// Takes the window as it is if something else has set it: loss recovery, or a restart after an idle time. Whether it has.
    pub(super) fn take(&mut self, window: &Window) -> bool {
        let is_set = window.cwnd != self.shown;
        if is_set {
            self.now = f64::from(window.cwnd);
            (self.old, self.at_round) = (self.now, self.now);
            self.shown = window.cwnd;
        }
        is_set
    }

    /// An ACK up to `una` arrives when all up to `nxt` has been sent. Whether it begins a round. If so, what is acknowledged from now on was
    /// sent with the window that there was since the round before began (UPDATEOLD: once an RTT).
    pub(super) fn begins_round(&mut self, una: u32, nxt: u32) -> bool {
        if self.round_end.is_some_and(|end| before(una, end)) {
            return false;
        }
        self.round_end = Some(nxt);
        (self.old, self.at_round) = (self.at_round, self.now);
        self.is_first = true;
        true
    }

    /// Whether the window may move with an ACK that begins a round, or does not.
    pub(super) fn may_move(&self, begins_round: bool) -> bool {
        !self.reduces && (begins_round || !self.once_per_rtt)
    }

    /// The window in segments.
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    /// The window with which the segments were sent that are being acknowledged.
    pub(super) fn old(&self) -> f64 {
        self.old
    }

    /// Sets it, within its bounds.
    pub(super) fn set(&mut self, window: &mut Window, segments: f64) {
        self.now = segments.clamp(LEAST, self.most());
        if std::mem::take(&mut self.is_first) {
            self.at_round = self.now;
        }
        window.cwnd = (self.now.ceil() as u32).clamp(1, Window::MAX_CWND);
        self.shown = window.cwnd;
    }

    /// What is lost halves it, as in any TCP (RFC 5681): the papers' networks lose nothing.
    pub(super) fn ssthresh(window: &Window) -> u32 {
        (window.cwnd / 2).max(2)
    }

    pub(super) fn on_state(&mut self, state: State) {
        self.reduces = matches!(state, State::Cwr | State::FastRecovery);
    }

    /// In bytes a second, for segments of `mss` bytes.
    pub(super) fn pacing_rate(&self, window: &Window, mss: u32) -> Option<u64> {
        let tau = self.base_rtt()?;
        let segments = match window.cwnd == self.shown {
            true => self.now,
            false => f64::from(window.cwnd),
        };
        Some(((segments * f64::from(mss) * 1e9 / tau) as u64).max(1))
    }
}
