// SPDX-License-Identifier: MIT OR Apache-2.0
//! SACK compression, as Linux does it and documents its settings (`tcp_comp_sack_*`): after three duplicate ACKs further segments beyond
//! the same hole are acknowledged together. RFC 5681, section 4.2, asks for an ACK for each.

use crate::timers::Clock;

/// Duplicate ACKs that go out at once: those that fast retransmit needs.
const AT_ONCE: u32 = 3;
/// Segments that one ACK stands for at most (`tcp_comp_sack_nr`).
const MOST: u32 = 44;
/// The ACK waits for a twentieth of the round trip, and not longer than this, in nanoseconds (`tcp_comp_sack_delay_ns`).
const LONGEST: u64 = 1_000_000;
/// The timer may be so much later, in nanoseconds, and on an idle host is (`tcp_comp_sack_slack_ns`).
const SLACK: u64 = 100_000;

/// ACKs that are held back.
#[derive(Clone, Debug)]
pub(crate) struct SackCompression {
    /// RCV.NXT, and the duplicate ACKs that went out at once for it.
    nxt: u32,
    at_once: u32,
    held_back: u32,
    /// The timestamp when the last was held back, which the ACK has that the timer sends.
    pub timestamp: u32,
    /// When what is held back goes out, in nanoseconds; `u64::MAX` if nothing is.
    pub deadline: u64,
}

impl SackCompression {
    pub const NONE: SackCompression = SackCompression {
        nxt: 0,
        at_once: 0,
        held_back: 0,
        timestamp: 0,
        deadline: u64::MAX,
    };

    /// Whether the ACK of a segment that arrived while there is a hole at `nxt` waits. `rtt8`: eight times the round-trip time in
    /// microseconds.
    pub fn holds_back(&mut self, clock: &Clock, nxt: u32, rtt8: u64) -> bool {
        if self.held_back >= MOST {
            return false;
        }
        if self.nxt != nxt {
            self.nxt = nxt;
            self.at_once = 0;
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return false;
        }
        self.held_back += 1;
        self.timestamp = clock.timestamp();
        if self.deadline == u64::MAX {
            let twentieth = rtt8 * 1000 / (8 * 20);
            self.deadline = clock.now + twentieth.min(LONGEST) + SLACK;
        }
        true
    }

    /// Whether an ACK waits.
    pub fn holds_any(&self) -> bool {
        self.held_back > 0
    }

    /// An ACK went out.
    #[inline]
    pub fn ack_sent(&mut self) {
        self.held_back = 0;
        self.deadline = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_go_at_once_then_one_for_up_to_44() {
        let clock = Clock::new(250);
        let mut held = SackCompression::NONE;
        let waits = |held: &mut SackCompression, nxt| held.holds_back(&clock, nxt, 8 * 2_000);
        assert_eq!(
            [0; 4].map(|_| waits(&mut held, 7)),
            [false, false, false, true]
        );
        assert_eq!(held.deadline, 100_000 + 100_000);
        assert!((1..MOST).all(|_| waits(&mut held, 7)));
        assert!(!waits(&mut held, 7));
        held.ack_sent();
        assert!(waits(&mut held, 7));
        assert!(!waits(&mut held, 8), "another hole");
        assert!(
            !SackCompression::NONE
                .clone()
                .holds_back(&clock, 1, u64::MAX >> 20)
        );
    }

    #[test]
    fn a_millisecond_is_the_longest() {
        let clock = Clock::new(250);
        let mut held = SackCompression::NONE;
        for _ in 0..4 {
            held.holds_back(&clock, 1, 8 * 100_000);
        }
        assert_eq!(held.deadline, 1_100_000);
    }
}
