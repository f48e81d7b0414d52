// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno: slow start and additive increase, multiplicative decrease by half (RFC 5681, section 3.1).
//!
//! As in Linux the window counts whole segments. Deviations from the RFC:
//!
//! - The window grows by what an ACK *delivers* (cumulatively or by SACK), not by its byte count: section 3.1's
//!   equations (2) and (3) in segments, with RFC 3465's limit L unbounded, because Linux has no such limit.
//! - It grows only if the sender was limited by it (the aim of RFC 7661); RFC 5681 grows it regardless.
//! - The slow-start threshold is half of the window, where equation (4) says half of the flight: a sender that is
//!   limited by its window has a full flight, and one that is not has its window cut by the path's own validation.

use super::{Ack, Configured, CongestionControl, Parameter, Window};

/// Reno. It has no state of its own: all it knows is in [`Window`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno;

impl Reno {
    /// A new Reno.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// Reno's step for one ACK: also what DCTCP and reTCP grow by.
    #[inline(never)] // so that to ask which control it is takes no registers
    pub(super) fn grow(window: &mut Window, ack: &Ack) {
        Self::grow_by(window, ack.delivered, ack.cwnd_limited);
    }

    #[inline]
    fn grow_by(window: &mut Window, delivered: u32, cwnd_limited: bool) {
        // RFC 5681, section 3.1, equation (3): one segment a window.
        window.increase_by(delivered, cwnd_limited, |window, _| window.cwnd);
    }

    /// Half of the window, at least 2 segments (RFC 5681, section 3.1, equation (4)).
    #[inline]
    pub(super) const fn half(window: &Window) -> u32 {
        let half = window.cwnd / 2;
        if half < 2 { 2 } else { half }
    }
}

impl Configured for Reno {
    const PARAMETERS: &'static [Parameter] = &[];

    fn configured(_values: &[f64]) -> Self {
        Self
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        Self::grow(window, ack);
    }

    #[inline(always)] // it is all that an ACK means to most senders
    fn increase_by(&mut self, window: &mut Window, delivered: u32, cwnd_limited: bool) -> bool {
        Self::grow_by(window, delivered, cwnd_limited);
        true
    }

    #[inline]
    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        Self::half(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acks(window: &mut Window, n: u32, delivered: u32) {
        let ack = Ack {
            acked: delivered,
            delivered,
            cwnd_limited: true,
            ..Ack::default()
        };
        for _ in 0..n {
            Reno.increase(window, &ack);
        }
    }

    #[test]
    fn slow_start_doubles_and_stops_at_ssthresh() {
        let mut w = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        acks(&mut w, 5, 2);
        assert_eq!(w.cwnd, 20);
        w.ssthresh = 21;
        acks(&mut w, 1, 2);
        // One segment up to ssthresh, the other counts towards the next increase.
        assert_eq!((w.cwnd, w.cwnd_count), (21, 1));
    }

    #[test]
    fn congestion_avoidance_adds_one_a_window() {
        let mut w = Window {
            cwnd: 10,
            ssthresh: 10,
            cwnd_count: 0,
        };
        acks(&mut w, 9, 1);
        assert_eq!(w.cwnd, 10);
        acks(&mut w, 1, 1);
        assert_eq!((w.cwnd, w.cwnd_count), (11, 0));
        acks(&mut w, 6, 2);
        assert_eq!((w.cwnd, w.cwnd_count), (12, 1));
    }

    #[test]
    fn no_growth_unless_limited_by_the_window() {
        let mut w = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        Reno.increase(
            &mut w,
            &Ack {
                acked: 10,
                delivered: 10,
                ..Ack::default()
            },
        );
        assert_eq!(w.cwnd, 10);
    }

    #[test]
    fn a_reduction_halves_but_leaves_two() {
        let w = |cwnd| Window {
            cwnd,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        assert_eq!(Reno.ssthresh(&w(21), 0), 10);
        assert_eq!(Reno.ssthresh(&w(3), 0), 2);
        assert_eq!(Reno.ssthresh(&w(1), 0), 2);
        assert_eq!(Reno.undo(&w(10), 20), 20);
        assert_eq!(Reno.undo(&w(30), 20), 30);
    }
}
