// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls: one trait, one file each, one registry.
//!
//! Adding one: a file beside this one that implements [`CongestionControl`] and [`Configured`] (its parameters), and
//! one line in the `registry!` below. The model test in `tests/` and the command line's `etalon list cc` pick it up
//! from there.

mod bbr;
mod bdp;
mod cubic;
mod dctcp;
mod foreign;
mod hpcc;
mod hystart;
mod powertcp;
pub(crate) mod rate;
mod registry;
mod reno;
mod retcp;
mod scalable;
mod theta_powertcp;

use crate::PathId;
use crate::telemetry::Echo;

pub use bbr::Bbr;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use foreign::{Foreign, ForeignControl};
pub use hpcc::Hpcc;
pub use powertcp::PowerTcp;
pub use rate::{RateSample, SentState};
pub use registry::{CcError, Configured, Info, Parameter};
pub use reno::Reno;
pub use retcp::ReTcp;
pub use scalable::Scalable;
pub use theta_powertcp::ThetaPowerTcp;

registry::registry! {
    "reno" => Reno, "Reno: slow start, one segment a round trip, half on loss (RFC 5681).";
    "cubic" => Cubic, "CUBIC with HyStart, as in Linux 6.1 (RFC 9438).";
    "dctcp" => Dctcp, "DCTCP: cuts the window by half the share of marked segments (RFC 8257).";
    "retcp" => ReTcp, "reTCP: Reno that scales its window when circuits come and go (NSDI 2020, section 5.3).";
    "scalable" => Scalable, "Scalable TCP: a hundredth of what is acknowledged, an eighth on loss (Kelly 2003).";
    "bbr" => Bbr, "BBR: a model of bandwidth and round trip, which paces and bounds what is in flight (Cardwell 2016; version 1).";
    "powertcp" => PowerTcp, "PowerTCP: the window by the product of a queue's voltage and current, from INT (NSDI 2022, algorithm 1).";
    "theta-powertcp" => ThetaPowerTcp, "theta-PowerTCP: PowerTCP by the RTT and its gradient alone, without INT (NSDI 2022, algorithm 2).";
    "hpcc" => Hpcc, "HPCC: the window by the bytes in flight on the busiest link, from INT (SIGCOMM 2019, algorithm 1).";
}

/// All congestion controls there are.
#[must_use]
pub const fn list() -> &'static [Info] {
    LIST
}

/// The window of a path, in segments as in Linux. Owned by the path, changed by its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window in segments, at least 1.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `u32::MAX` before the first loss.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increase by one in congestion avoidance (Linux's `snd_cwnd_cnt`).
    pub cwnd_count: u32,
}

impl Window {
    /// The largest congestion window an algorithm grows to, in segments: 2^20, four orders of magnitude beyond what
    /// the modelled networks hold. It keeps all arithmetic on windows far from overflow.
    pub const MAX_CWND: u32 = 1 << 20;

    /// Whether the path is in slow start.
    #[inline]
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// What loss-based controls do with an ACK (RFC 5681, section 3.1, in segments): nothing unless the window limited the sender; else
    /// what it delivers goes to [slow start](Window::slow_start) up to ssthresh, and what is left of it to
    /// [congestion avoidance](Window::additive_increase), for which `pace` tells, of the window by then and of what is left, how many
    /// segments let it grow by one.
    #[inline]
    pub fn increase(&mut self, ack: &Ack, pace: impl FnOnce(&Window, u32) -> u32) {
        self.increase_by(ack.delivered, ack.cwnd_limited, pace);
    }

    #[inline]
    fn increase_by(
        &mut self,
        delivered: u32,
        cwnd_limited: bool,
        pace: impl FnOnce(&Window, u32) -> u32,
    ) {
        if !cwnd_limited {
            return;
        }
        let slow = self.in_slow_start();
        let left = if slow {
            self.slow_start(delivered)
        } else {
            delivered
        };
        if left > 0 || !slow {
            let w = pace(self, left);
            self.additive_increase(w, left);
        }
    }

    /// Slow start, RFC 5681's equation (2): a segment for each that is acknowledged (RFC 3465's limit L does not bound it), not beyond
    /// ssthresh. Returns the acknowledged segments that are left for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let room = self.ssthresh.saturating_sub(self.cwnd);
        self.grow(acked.min(room));
        acked.saturating_sub(room)
    }

    /// Additive increase: a segment for every `w` that are acknowledged, counted as by RFC 3465, section 2.1. A `w` that has shrunk to what
    /// is already counted, or below, buys one segment, and the count begins anew.
    #[inline]
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        let w = w.max(1);
        let total = self.cwnd_count.min(w).saturating_add(acked);
        if total < w {
            self.cwnd_count = total;
        } else {
            self.cwnd_count = total % w;
            self.grow(total / w);
        }
    }

    /// Adds `segments`, not beyond [`Window::MAX_CWND`]. Never shrinks the window.
    #[inline]
    fn grow(&mut self, segments: u32) {
        self.cwnd = self
            .cwnd
            .saturating_add(segments)
            .min(Self::MAX_CWND.max(self.cwnd));
    }
}

/// What one incoming ACK tells a congestion control. Times in nanoseconds of host time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When the ACK arrived.
    pub now: u64,
    /// Jiffies (ticks of the host's timer) at that moment.
    pub jiffies: u64,
    /// Segments newly acknowledged cumulatively, whether or not they were SACKed before.
    pub acked: u32,
    /// Segments newly delivered: by SACK, or cumulatively if they were not SACKed before. What windows grow by.
    pub delivered: u32,
    /// Round-trip time of the segment sent last among those that this ACK newly delivers, to the nanosecond, if none of them was
    /// retransmitted (Karn's rule). Of a retransmission whose time an echoed timestamp shows, to the millisecond.
    pub rtt: Option<u64>,
    /// Smoothed RTT, a multiple of 1,000 ns, as Linux keeps it in microseconds; 0 before the first sample.
    pub srtt: u64,
    /// The sender was limited by its cwnd, so growth is justified (RFC 7661 as Linux has it: in slow start it is
    /// enough that more than half of the window was used). Said to `increase` only.
    pub cwnd_limited: bool,
    /// ECE flag of the ACK.
    pub ece: bool,
    /// SND.UNA before the ACK.
    pub prior_una: u32,
    /// SND.UNA after the ACK.
    pub una: u32,
    /// SND.NXT.
    pub nxt: u32,
    /// Timer ticks a second.
    pub hz: u32,
}

impl Ack {
    /// [`rtt`](Ack::rtt) in microseconds, as Linux takes it: the difference of two instants in whole microseconds.
    #[inline]
    #[must_use]
    pub fn rtt_us(&self) -> Option<u64> {
        let beyond = self.now % 1_000;
        self.rtt.map(|rtt| (rtt + 999 - beyond) / 1_000)
    }
}

/// What an ACK tells a congestion control that [steers](CongestionControl::steers), beside the rate of delivery, which
/// [`on_rate_sample`](CongestionControl::on_rate_sample) tells before. Counts are in segments, times in nanoseconds of host time.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// When the ACK arrived.
    pub now: u64,
    /// Newly delivered by it.
    pub delivered: u32,
    /// Newly deemed lost.
    pub lost: u32,
    /// Ever delivered on the path, with it.
    pub total_delivered: u64,
    /// In flight after it.
    pub in_flight: u32,
    /// As [`Ack::rtt`].
    pub rtt: Option<u64>,
    /// The path's state after it.
    pub state: State,
}

/// The states of a path's loss recovery, in the order of severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is amiss.
    #[default]
    Open,
    /// SACKs or duplicate ACKs arrived, nothing is deemed lost yet: new data is sent (RFC 3042).
    LimitedTransmit,
    /// Congestion window reduced: ECE asks for a smaller window (RFC 3168, section 6.1.2).
    Cwr,
    /// Fast recovery (RFC 5681, section 3.2; RFC 6675).
    FastRecovery,
    /// A retransmission timeout expired (RFC 6298, section 5), and what it deemed lost is not yet acknowledged.
    Timeout,
}

/// A congestion control algorithm of one path.
///
/// The path calls, for every ACK that is not a pure duplicate of nothing: `on_ack` first, in any state; then
/// `increase`, if the state lets the window grow. On a congestion event (entering Cwr, FastRecovery or Timeout, unless a
/// reduction is under way already) it calls `ssthresh` once and sets [`Window::ssthresh`] to the result; then
/// `on_state`, on every change of state and on every timeout, also the ones after the first. On entering Cwr or
/// FastRecovery the window is reduced after that, on entering Timeout before it.
///
/// *Units*: windows and thresholds are in segments, all times in nanoseconds of host time, sequence numbers in bytes, pacing
/// rates in bytes a second.
///
/// *What a hook may change*: each gets the window, and may set all three of its numbers, as long as [`Window::cwnd`] is between 1 and
/// [`Window::MAX_CWND`] and [`Window::ssthresh`] at least 2. By the field's habits `on_ack` and `on_rate_sample` measure, and leave
/// the congestion window alone (HyStart sets the threshold there); `increase` moves it. A control whose signal is loss or marks only raises it
/// there; one whose signal is delay lowers it there, too, since for such a control no congestion event may ever come. While proportional rate
/// reduction sets the window (Cwr, FastRecovery), what a hook sets it to lasts until the next ACK.
///
/// *Below one segment*: the window has whole segments, at least one. A control that wants less than one segment a round trip
/// leaves it at 1, returns true from [`wants_pacing`](CongestionControl::wants_pacing), and gives the rate
/// as [`pacing_rate`](CongestionControl::pacing_rate): a segment then leaves each `mss / rate` seconds, as in Swift (Kumar et al. 2020,
/// section 3.4). The first ten segments of a connection are not paced, as on Linux.
pub trait CongestionControl: core::fmt::Debug {
    /// Sees every ACK, in any state. The place for RTT samples (HyStart) and marks (DCTCP).
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// The rate at which segments are delivered, as an ACK shows it; before `on_ack`. Only if the control
    /// [asks for it](CongestionControl::wants_rate_samples).
    fn on_rate_sample(&mut self, window: &mut Window, sample: &RateSample) {
        let _ = (window, sample);
    }

    /// Data may be sent from now on: the handshake is over. `min_rtt` in nanoseconds, if it showed one; `mss`: payload of a full segment. The
    /// place for an initial window that is not the configuration's.
    #[inline]
    fn on_open(&mut self, window: &mut Window, min_rtt: Option<u64>, mss: u32) {
        let _ = (window, min_rtt, mss);
    }

    /// Before the first RTT of a path that is not its connection's first (TDTCP): its network came at `since`, and what was sent on it follows
    /// `nxt`.
    #[inline]
    fn on_new_path(&mut self, since: u64, nxt: u32) {
        let _ = (since, nxt);
    }

    /// Sets the window, on every ACK and in any state, after loss recovery has decided. Only if the control
    /// [steers](CongestionControl::steers).
    fn steer(&mut self, window: &mut Window, report: &Report) {
        let _ = (window, report);
    }

    /// What the queues on a data segment's way were like, as an ACK echoes it; after `on_ack` and `increase`. It may set the window as
    /// `increase` may, lower it, too. Only if the control [asks for it](CongestionControl::wants_telemetry).
    fn on_telemetry(&mut self, window: &mut Window, echo: &Echo<'_>) {
        let _ = (window, echo);
    }

    /// May grow the window (Linux's `cong_avoid`), or set it to what the delay calls for. Called whether or not the sender is
    /// cwnd-limited: look at [`Ack::cwnd_limited`] before the window grows.
    fn increase(&mut self, window: &mut Window, ack: &Ack);

    /// As [`on_ack`](CongestionControl::on_ack) and `increase` of an ACK that delivers `delivered` segments, for a control to which that is all
    /// there is to know: no time, no mark. Returns whether it is one. For the same `delivered` and `cwnd_limited` the window must come out as
    /// with those two (`cc_model.rs` holds every control to that).
    #[inline]
    fn increase_by(&mut self, window: &mut Window, delivered: u32, cwnd_limited: bool) -> bool {
        let _ = (window, delivered, cwnd_limited);
        false
    }

    /// The new slow-start threshold in segments, at least 2, on a congestion event at `now`. The path brings the window down to it.
    fn ssthresh(&mut self, window: &Window, now: u64) -> u32;

    /// The path's state changes to `state`.
    #[inline]
    fn on_state(&mut self, window: &mut Window, state: State, now: u64) {
        let _ = (window, state, now);
    }

    /// A data segment is sent at `now` with nothing in flight, `idle` nanoseconds after the last one was sent (Linux's
    /// CA_EVENT_TX_START). With a window of one segment that is every segment.
    #[inline]
    fn on_restart(&mut self, window: &mut Window, now: u64, idle: u64) {
        let _ = (window, now, idle);
    }

    /// The host hears at `now` that packets to the peer's rack take another network: `tdn` 0 is the packet network, others are
    /// kinds of circuits. Only if the control [asks for it](CongestionControl::wants_tdns).
    #[inline]
    fn on_tdn(&mut self, window: &mut Window, tdn: PathId, now: u64) {
        let _ = (window, tdn, now);
    }

    /// The window to return to when a reduction from `prior_cwnd` turns out to be spurious.
    #[inline]
    fn undo(&mut self, window: &Window, prior_cwnd: u32) -> u32 {
        window.cwnd.max(prior_cwnd)
    }

    /// The rate in bytes a second at which segments of `mss` bytes may leave, which takes effect with the next segment; `None`: the window
    /// over the smoothed RTT, times what Linux takes.
    #[inline]
    fn pacing_rate(&self, window: &Window, mss: u32) -> Option<u64> {
        let _ = (window, mss);
        None
    }

    /// Whether segments must be paced, also if the connection's owner does not ask for it.
    #[inline]
    fn wants_pacing(&self) -> bool {
        false
    }

    /// Whether `on_rate_sample` is to be called, which costs memory for each segment.
    #[inline]
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// Whether it sets the window itself, by [`steer`](CongestionControl::steer): then neither `increase` nor proportional rate reduction
    /// moves it, and it does not decay after a pause. Such a control [wants rate samples](CongestionControl::wants_rate_samples).
    #[inline]
    fn steers(&self) -> bool {
        false
    }

    /// Whether the pace is kept between chunks, whose segments leave together (draft-ietf-ccwg-bbr's send quantum), instead of between
    /// segments.
    #[inline]
    fn paces_chunks(&self) -> bool {
        false
    }

    /// Whether the network is to write telemetry into data segments, which the peer echoes.
    #[inline]
    fn wants_telemetry(&self) -> bool {
        false
    }

    /// Whether `on_tdn` is to be called.
    #[inline]
    fn wants_tdns(&self) -> bool {
        false
    }

    /// Whether the connection must negotiate ECN and echo marks as DCTCP does (RFC 8257).
    #[inline]
    fn wants_dctcp_feedback(&self) -> bool {
        false
    }

    /// Whether ECE reaches the algorithm although ECN is off (reTCP's one-line kernel change).
    #[inline]
    fn reads_ece_without_ecn(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow() {
        // Window, threshold, count; what is delivered to a window limited by cwnd, segments for one of growth; window and count.
        let cases = [
            ((10, 20, 0), 4, 10, (14, 0)), // slow start
            ((10, 12, 3), 2, 10, (12, 3)), // up to the threshold
            ((10, 12, 3), 4, 10, (12, 5)), // and beyond it
            ((10, 12, 9), 4, 10, (13, 1)),
            ((10, 10, 0), 9, 10, (10, 9)), // congestion avoidance
            ((10, 10, 9), 1, 10, (11, 0)),
            ((10, 10, 5), 30, 10, (13, 5)), // several at once
            ((10, 10, 0), 1, 0, (11, 0)),   // one segment a segment at most
            ((10, 10, 50), 1, 10, (11, 1)), // a pace that has quickened buys one
            ((10, 10, 50), 0, 10, (11, 0)),
            ((10, 20, 50), 0, 10, (10, 50)),
        ];
        for ((cwnd, ssthresh, cwnd_count), delivered, pace, then) in cases {
            let mut window = Window {
                cwnd,
                ssthresh,
                cwnd_count,
            };
            let before = window;
            let ack = |cwnd_limited| Ack {
                delivered,
                cwnd_limited,
                ..Ack::default()
            };
            window.increase(&ack(false), |_, _| pace);
            assert_eq!(window, before, "not limited by cwnd");
            window.increase(&ack(true), |_, _| pace);
            assert_eq!(
                (window.cwnd, window.cwnd_count),
                then,
                "{before:?} {delivered}"
            );
        }
    }
}
