// SPDX-License-Identifier: MIT OR Apache-2.0
//! reTCP: Reno that follows circuits (Mukerjee et al., "Adapting TCP for Reconfigurable Datacenter Networks", NSDI
//! 2020, section 5.3).
//!
//! The switch sets ECE on the ACKs of a sender that has, or is about to have, a circuit. reTCP watches that bit for
//! edges: on 0 -> 1 it multiplies the window by alpha, on 1 -> 0 by beta. The slow-start threshold is left alone, so
//! after a down edge the window may lie below it and slow start takes it back up.
//!
//! What the paper leaves open, and is done as the authors' kernel module does it:
//!
//! - The edge is handled in the congestion-avoidance hook, after Reno's own step for that ACK. In a state that does
//!   not let the window grow (Recovery, Loss) the hook is not called: the edge takes effect with the first ACK after
//!   it, and a pair of edges within it has none.
//! - An edge counts whether or not the sender is limited by its window.
//! - Windows are whole segments: the product is rounded down, to at least 1 segment.

use super::{Ack, Configured, CongestionControl, Parameter, Reno, Window};

/// The factors are kept as multiples of 2^-16.
const SHIFT: u32 = 16;

/// reTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReTcp {
    alpha: u32,
    beta: u32,
    /// ECE as the last ACK that was handled had it: the circuit is up.
    circuit: bool,
}

impl ReTcp {
    /// Multiplies the window by a factor in units of 2^-16.
    fn scale(window: &mut Window, factor: u32) {
        let cwnd = (u64::from(window.cwnd) * u64::from(factor)) >> SHIFT;
        window.cwnd = u32::try_from(cwnd)
            .unwrap_or(u32::MAX)
            .clamp(1, Window::MAX_CWND);
    }
}

impl Configured for ReTcp {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::number(
            "alpha",
            2.0,
            1.0,
            64.0,
            "factor of the window when a circuit comes up",
        ),
        Parameter::number(
            "beta",
            0.5,
            1.0 / 1024.0,
            1.0,
            "factor of the window when it goes down",
        ),
    ];

    fn configured(values: &[f64]) -> Self {
        let fixed = |value: f64| libm::round(value * f64::from(1u32 << SHIFT)) as u32;
        Self {
            alpha: fixed(values[0]),
            beta: fixed(values[1]),
            circuit: false,
        }
    }
}

impl Default for ReTcp {
    fn default() -> Self {
        Self {
            alpha: 2 << SHIFT,
            beta: 1 << (SHIFT - 1),
            circuit: false,
        }
    }
}

impl CongestionControl for ReTcp {
    #[inline]
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        Reno::grow(window, ack);
        // NSDI'20, section 5.3: an edge detector, not a level detector.
        if ack.ece != self.circuit {
            self.circuit = ack.ece;
            Self::scale(window, if ack.ece { self.alpha } else { self.beta });
        }
    }

    #[inline]
    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        Reno::half(window)
    }

    /// ECN stays off, so that ECE does not shrink the window; section 5.3's one-line change to the kernel.
    #[inline]
    fn reads_ece_without_ecn(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows after ACKs with these ECE bits that deliver nothing.
    fn edges(mut cc: ReTcp, cwnd: u32, bits: &[bool]) -> Vec<u32> {
        let mut window = Window {
            cwnd,
            ssthresh: 4,
            cwnd_count: 0,
        };
        bits.iter()
            .map(|&ece| {
                cc.increase(
                    &mut window,
                    &Ack {
                        ece,
                        ..Ack::default()
                    },
                );
                assert_eq!(window.ssthresh, 4);
                window.cwnd
            })
            .collect()
    }

    #[test]
    fn edges_scale_and_levels_do_not() {
        let bits = [false, true, true, false, false, true];
        assert_eq!(edges(ReTcp::default(), 7, &bits), [7, 14, 14, 7, 7, 14]);
        assert_eq!(
            edges(ReTcp::configured(&[1.5, 0.25]), 7, &bits),
            [7, 10, 10, 2, 2, 3]
        );
        assert_eq!(edges(ReTcp::configured(&[1.0, 1.0]), 7, &bits), [7; 6]);
    }

    #[test]
    fn the_window_is_never_below_one_segment() {
        assert_eq!(
            edges(
                ReTcp::configured(&[1.0, 0.5]),
                1,
                &[true, false, true, false]
            ),
            [1; 4]
        );
    }

    #[test]
    fn the_edge_follows_renos_step() {
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        let ack = Ack {
            acked: 2,
            delivered: 2,
            cwnd_limited: true,
            ece: true,
            ..Ack::default()
        };
        ReTcp::default().increase(&mut window, &ack);
        assert_eq!(window.cwnd, 24);
    }

    #[test]
    fn defaults_are_those_of_the_paper() {
        let defaults: Vec<f64> = ReTcp::PARAMETERS.iter().map(|p| p.default).collect();
        assert_eq!(ReTcp::configured(&defaults), ReTcp::default());
        assert!(ReTcp::default().reads_ece_without_ecn());
    }
}
