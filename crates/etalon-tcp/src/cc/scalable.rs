// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalable TCP: a constant share of the window, not of a segment, for each round trip (Kelly, "Scalable TCP: improving
//! performance in highspeed wide area networks", ACM CCR 33(2), 2003).
//!
//! The paper adds 0.01 segments for each one acknowledged and gives up an eighth of the window on loss. As in Linux,
//! windows below 100 segments grow as Reno's do, one segment a round trip, since 0.01 of them would be slower.

use super::{Ack, Configured, CongestionControl, Parameter, Window};

/// Segments acknowledged for each one added: the inverse of the paper's a = 0.01.
const ACKS_PER_SEGMENT: u32 = 100;

/// Scalable TCP. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalable;

impl Configured for Scalable {
    const PARAMETERS: &'static [Parameter] = &[];

    fn configured(_values: &[f64]) -> Self {
        Self
    }
}

impl CongestionControl for Scalable {
    #[inline(never)] // as Reno's
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        // Kelly 2003, section 2: cwnd += a for each segment acknowledged.
        window.increase(ack, |window, _| window.cwnd.min(ACKS_PER_SEGMENT));
    }

    #[inline]
    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        // Kelly 2003, section 2: cwnd -= b cwnd, b = 1/8.
        (window.cwnd - window.cwnd / 8).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window {
            cwnd,
            ssthresh: 2,
            cwnd_count: 0,
        }
    }

    fn grown(cwnd: u32, acked: u32) -> u32 {
        let mut window = window(cwnd);
        let ack = Ack {
            delivered: acked,
            cwnd_limited: true,
            ..Ack::default()
        };
        Scalable.increase(&mut window, &ack);
        window.cwnd
    }

    #[test]
    fn large_windows_grow_by_a_hundredth_of_what_is_acknowledged() {
        assert_eq!(grown(1000, 1000), 1010);
        assert_eq!(grown(1000, 99), 1000);
    }

    #[test]
    fn small_windows_grow_by_one_segment_a_round_trip() {
        assert_eq!(grown(10, 10), 11);
    }

    #[test]
    fn a_loss_costs_an_eighth() {
        assert_eq!(Scalable.ssthresh(&window(1000), 0), 875);
        assert_eq!(Scalable.ssthresh(&window(3), 0), 3);
        assert_eq!(Scalable.ssthresh(&window(1), 0), 2);
    }
}
