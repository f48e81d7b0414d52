//! HyStart: leaves slow start before it overshoots (Ha and Rhee, "Taming the elephants: New TCP slow start", Computer
//! Networks 55(9), 2011), with Linux's thresholds.
//!
//! Two signs that the path is full, looked for once the window has 16 segments: a train of ACKs, less than 2 ms apart,
//! that is longer than half of the smallest RTT; or a smallest RTT of this round that lies above the path's by an
//! eighth of it, at least 4 and at most 16 ms. Either sets ssthresh to the window, and HyStart rests until the next
//! timeout.
//!
//! Linux allows the train some more for bursts of large segments: the time that four of 64 KiB take at the pacing
//! rate, which Linux keeps for a window per smoothed RTT whether or not it paces, as the last ACK left it; at most 1 ms.
//! Where Linux knows the MSS, this takes the bytes per segment that the ACK acknowledged. It assumes that pacing is
//! off: a paced Linux sender waits for the whole smallest RTT, not half.

use super::{Ack, Window};
use crate::linux::pacing_percent;

/// Smallest window at which HyStart looks, in segments.
const LOW_WINDOW: u32 = 16;
/// ACKs further apart than this do not belong to one train, in us.
const ACK_GAP: u64 = 2_000;
/// RTT samples of a round before their minimum is taken for the round's RTT.
const MIN_SAMPLES: u8 = 8;
/// Bounds of the delay threshold, in us.
const DELAY_MIN: u32 = 4_000;
const DELAY_MAX: u32 = 16_000;
/// The largest allowance for bursts, in us, and the bytes of the burst allowed for.
const BURST_TIME_MAX: u64 = 1_000;
const BURST_BYTES: u64 = 4 * 65_536;

/// HyStart's state. Times are in microseconds of host time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HyStart {
    /// A full path was found.
    found: bool,
    /// The round ends when something beyond this sequence number is acknowledged; none before the first ACK.
    round_end: Option<u32>,
    round_start: u64,
    last_ack: u64,
    /// Smallest RTT of the round.
    rtt: u32,
    samples: u8,
    /// The smoothed RTT after the last ACK, and the segments of a burst.
    srtt: u32,
    burst: u32,
}

impl HyStart {
    pub(super) const NONE: HyStart = HyStart {
        found: false,
        round_end: None,
        round_start: 0,
        last_ack: 0,
        rtt: 0,
        samples: 0,
        srtt: 0,
        burst: 0,
    };

    /// Looks at an ACK with an RTT sample of `rtt` us in slow start; `delay_min` is the smallest RTT of the path in
    /// us.
    #[inline(never)] // in slow start only
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &Ack, rtt: u32, delay_min: u32) {
        if self.found {
            return;
        }
        let now = ack.now / 1_000;
        let allowance = self.burst_time(window, ack);
        let round_over = |end: u32| {
            let beyond = ack.una.wrapping_sub(end);
            beyond != 0 && beyond < 1 << 31
        };
        // The first round ends with the first byte that is acknowledged: SACKs are of it.
        if self.round_end.is_none() {
            self.rtt = u32::MAX;
        }
        if round_over(*self.round_end.get_or_insert(ack.prior_una)) {
            *self = Self {
                round_end: Some(ack.nxt),
                round_start: now,
                last_ack: now,
                rtt: u32::MAX,
                srtt: self.srtt,
                burst: self.burst,
                ..Self::default()
            };
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if self.train_is_long(now, u64::from(delay_min) + allowance)
            | self.delay_has_grown(rtt, delay_min)
        {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// The ACK train.
    fn train_is_long(&mut self, now: u64, twice: u64) -> bool {
        if now.saturating_sub(self.last_ack) > ACK_GAP {
            return false;
        }
        self.last_ack = now;
        now.saturating_sub(self.round_start) > twice / 2
    }

    /// The increase of the delay.
    fn delay_has_grown(&mut self, rtt: u32, delay_min: u32) -> bool {
        self.rtt = self.rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.rtt > delay_min.saturating_add((delay_min / 8).clamp(DELAY_MIN, DELAY_MAX))
    }

    /// The time that a burst takes at the pacing rate, in us: that which the last ACK left.
    fn burst_time(&mut self, window: &Window, ack: &Ack) -> u64 {
        let clipped = |number: u64| number.min(u32::MAX.into()) as u32;
        let srtt = core::mem::replace(&mut self.srtt, clipped(ack.srtt / 1_000));
        let bytes = u64::from(ack.una.wrapping_sub(ack.prior_una));
        if bytes > 0 && ack.acked > 0 {
            self.burst = clipped(BURST_BYTES * u64::from(ack.acked) / bytes);
        }
        let paced = u64::from(window.cwnd) * pacing_percent(window) / 100;
        (u64::from(self.burst) * u64::from(srtt) / paced.max(1)).min(BURST_TIME_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// One ACK of a segment of 1000 bytes at `now` us.
    fn ack(now: u64, una: u32, nxt: u32) -> Ack {
        let prior_una = una.wrapping_sub(1_000);
        Ack {
            now: now * US,
            acked: 1,
            delivered: 1,
            prior_una,
            una,
            nxt,
            srtt: 10_000 * US,
            ..Ack::default()
        }
    }

    fn window(cwnd: u32) -> Window {
        Window {
            cwnd,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        }
    }

    /// The time since the round's start at which a train of ACKs, `gap` us apart, ends slow start.
    fn train(cwnd: u32, gap: u64) -> Option<u64> {
        let (mut hystart, mut w) = (HyStart::default(), window(cwnd));
        for i in 0..100u32 {
            let now = u64::from(i) * gap;
            hystart.on_ack(
                &mut w,
                &ack(1_000_000 + now, 1_000 * (i + 1), 200_000),
                10_000,
                10_000,
            );
            if w.ssthresh != u32::MAX {
                assert_eq!(w.ssthresh, cwnd);
                return Some(now);
            }
        }
        None
    }

    #[test]
    fn a_train_longer_than_half_the_rtt() {
        // Half of 10 ms, and half of the allowance: four times 64 KiB at 2 x 1000 segments a 10 ms are 1310 us, capped
        // at 1.
        assert_eq!(train(1_000, 100), Some(5_600));
        assert_eq!(train(1_000, 500), Some(6_000));
        // At 100000 segments a window the allowance is 262 x 10 ms / 200000 = 13 us.
        assert_eq!(train(100_000, 100), Some(5_100));
        assert_eq!(train(1_000, 2_000), Some(6_000));
        assert_eq!(train(1_000, 2_001), None, "not a train");
        assert_eq!(train(16, 100), Some(5_600));
        assert_eq!(train(15, 100), None, "below the low window");
    }

    #[test]
    fn a_delay_above_the_threshold() {
        // An eighth, at least 4 and at most 16 ms. ACKs are too far apart for a train.
        for (delay_min, rtt, expected) in [
            (10_000, 14_000, u32::MAX),
            (10_000, 14_001, 20),
            (80_000, 90_000, u32::MAX),
            (80_000, 90_001, 20),
            (200_000, 216_000, u32::MAX),
            (200_000, 216_001, 20),
        ] {
            let (mut hystart, mut w) = (HyStart::default(), window(20));
            for i in 0..8u32 {
                hystart.on_ack(
                    &mut w,
                    &ack(u64::from(i) * 3_000, 1_000 * (i + 1), 100_000),
                    rtt,
                    delay_min,
                );
                assert_eq!(w.ssthresh, u32::MAX, "too few samples");
            }
            let last = ack(24_000, 9_000, 100_000);
            hystart.on_ack(&mut w, &last, rtt, delay_min);
            assert_eq!(w.ssthresh, expected);
            // Once is enough.
            w.ssthresh = u32::MAX;
            hystart.on_ack(&mut w, &last, rtt, delay_min);
            assert_eq!(w.ssthresh, u32::MAX);
        }
    }

    #[test]
    fn a_round_starts_anew_beyond_its_end() {
        let (mut hystart, mut w) = (HyStart::default(), window(20));
        let end = 500u32;
        hystart.on_ack(
            &mut w,
            &ack(0, end.wrapping_sub(1_000), end),
            10_000,
            10_000,
        );
        hystart.on_ack(&mut w, &ack(1_000, end, 9_000), 10_000, 10_000);
        assert_eq!(
            hystart.round_end,
            Some(end),
            "the end itself is not beyond it"
        );
        hystart.on_ack(&mut w, &ack(2_000, end + 1, 9_000), 10_000, 10_000);
        assert_eq!(
            (hystart.round_end, hystart.round_start),
            (Some(9_000), 2_000)
        );
        // Nearly half of the sequence numbers are beyond.
        let far = 9_000 + (1 << 31) - 1;
        hystart.on_ack(&mut w, &ack(3_000, far, far), 10_000, 10_000);
        assert_eq!(hystart.round_end, Some(far));
    }
}
