// SPDX-License-Identifier: MIT OR Apache-2.0
//! HyStart: leaves slow start before it overshoots. Delays are judged as by RFC 9406, section 4.2, whose names and constants these are;
//! trains of ACKs as by Ha and Rhee ("Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011), whom that RFC follows.
//!
//! There are two signs of a full path, once the window has 16 segments: the smallest RTT of a round lies above the path's by more than
//! `RttThresh`; or ACKs that are less than 2 ms apart have come for longer than half of the smallest RTT. Either ends slow start: the
//! threshold becomes the window, and HyStart rests until the next timeout (it has no conservative slow start, RFC 9406's CSS).
//!
//! A sender that hands large buffers to its NIC gets its ACKs in bursts, for which recorded exchanges show an allowance (`Bursts`).

use super::{Ack, Window};
use crate::linux::pacing_percent;
use crate::seq::after;

/// The window from which on it looks, in segments (Ha and Rhee).
const LOW_WINDOW: u32 = 16;
/// ACKs further apart than this are of two trains, in us (Ha and Rhee).
const TRAIN_GAP: u64 = 2_000;
/// `N_RTT_SAMPLE`, `MIN_RTT_THRESH`, `MAX_RTT_THRESH` in us, and `MIN_RTT_DIVISOR` (RFC 9406, section 4.3).
const N_RTT_SAMPLE: u8 = 8;
const MIN_RTT_THRESH: u32 = 4_000;
const MAX_RTT_THRESH: u32 = 16_000;
const MIN_RTT_DIVISOR: u32 = 8;

/// HyStart's state. Times are in microseconds of host time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HyStart {
    stage: Stage,
    round: Round,
    bursts: Bursts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No ACK has come yet.
    New,
    Looking,
    /// The path is full.
    Found,
}

/// A round: from when its first ACK comes until `window_end` is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    began: u64,
    /// How long the train that began with it has lasted.
    train: u32,
    /// `windowEnd`.
    window_end: u32,
    /// `currentRoundMinRTT`.
    min_rtt: u32,
    /// `rttSampleCount`, up to `N_RTT_SAMPLE`.
    samples: u8,
}

/// What allows for bursts: the path, as the last ACK left it, and the full segments of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bursts {
    srtt: u32,
    segments: u32,
}

impl HyStart {
    pub(super) const NONE: HyStart = HyStart {
        stage: Stage::New,
        round: Round::new(0, 0),
        bursts: Bursts {
            srtt: 0,
            segments: 0,
        },
    };

    /// The path is new to a connection that has sent before: its first round, and the train of its first ACKs, begin when its network comes
    /// and last until something that is sent on it, behind `nxt`, is acknowledged.
    pub(super) fn begin(&mut self, since: u64, nxt: u32) {
        self.stage = Stage::Looking;
        self.round = Round::new(since / 1_000, nxt);
    }

    /// Looks at an ACK with an RTT sample of `rtt` us in slow start; `delay_min` is the smallest RTT of the path in
    /// us.
    #[inline(never)] // in slow start only
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &Ack, rtt: u32, delay_min: u32) {
        if self.stage == Stage::Found {
            return;
        }
        let now = ack.now / 1_000;
        let allowance = self.bursts.allowance(window, ack);
        if self.stage == Stage::New {
            // The first round ends with the first byte that is acknowledged: SACKs are of it.
            self.stage = Stage::Looking;
            self.round = Round::new(0, ack.prior_una);
        }
        let round = &mut self.round;
        if after(ack.una, round.window_end) {
            *round = Round::new(now, ack.nxt);
        }
        if window.cwnd >= LOW_WINDOW {
            let train = round.train(now);
            let min_rtt = round.sample(rtt);
            if train.is_some_and(|length| length > (u64::from(delay_min) + allowance) / 2)
                || min_rtt.is_some_and(|rtt| rtt > delay_min.saturating_add(rtt_thresh(delay_min)))
            {
                self.stage = Stage::Found;
                window.ssthresh = window.cwnd;
            }
        }
    }
}

impl Round {
    const fn new(began: u64, window_end: u32) -> Round {
        Round {
            began,
            train: 0,
            window_end,
            min_rtt: u32::MAX,
            samples: 0,
        }
    }

    /// An ACK comes. How long the train is with it, if it is one of the train.
    fn train(&mut self, now: u64) -> Option<u64> {
        let since = now.saturating_sub(self.began);
        if since > u64::from(self.train) + TRAIN_GAP {
            return None;
        }
        self.train = u32::try_from(since).unwrap_or(u32::MAX);
        Some(since)
    }

    /// An RTT sample comes. The smallest of the round, if there are enough.
    fn sample(&mut self, rtt: u32) -> Option<u32> {
        self.min_rtt = self.min_rtt.min(rtt);
        let enough = self.samples >= N_RTT_SAMPLE;
        self.samples += u8::from(!enough);
        enough.then_some(self.min_rtt)
    }
}

/// `RttThresh` (RFC 9406, section 4.2), of the path's smallest RTT where the RFC takes the last round's.
fn rtt_thresh(min_rtt: u32) -> u32 {
    (min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

impl Bursts {
    /// Bytes that leave at once: four buffers of 64 KiB.
    const BYTES: u64 = 4 * 65_536;
    /// The longest allowance, in us.
    const LONGEST: u64 = 1_000;

    /// The time that a burst takes at the pacing rate which the last ACK left, in us; this one is remembered. A pace counts full segments,
    /// as whose size the largest passes that an ACK has acknowledged, per segment.
    fn allowance(&mut self, window: &Window, ack: &Ack) -> u64 {
        let bytes = u64::from(ack.una.wrapping_sub(ack.prior_una));
        if let Some(segments) = (Self::BYTES * u64::from(ack.acked)).checked_div(bytes) {
            let segments = u32::try_from(segments).unwrap_or(u32::MAX);
            if segments > 0 && (self.segments == 0 || segments < self.segments) {
                self.segments = segments;
            }
        }
        let burst = u64::from(self.segments) * u64::from(self.srtt);
        self.srtt = u32::try_from(ack.srtt / 1_000).unwrap_or(u32::MAX);
        let paced = u64::from(window.cwnd) * pacing_percent(window) / 100;
        (burst / paced.max(1)).min(Self::LONGEST)
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
        let (mut hystart, mut w) = (HyStart::NONE, window(cwnd));
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
            let (mut hystart, mut w) = (HyStart::NONE, window(20));
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
        let (mut hystart, mut w) = (HyStart::NONE, window(20));
        let end = 500u32;
        hystart.on_ack(
            &mut w,
            &ack(0, end.wrapping_sub(1_000), end),
            10_000,
            10_000,
        );
        hystart.on_ack(&mut w, &ack(1_000, end, 9_000), 10_000, 10_000);
        assert_eq!(
            (hystart.stage, hystart.round.window_end),
            (Stage::Looking, end),
            "the end itself is not beyond it"
        );
        hystart.on_ack(&mut w, &ack(2_000, end + 1, 9_000), 10_000, 10_000);
        assert_eq!(
            (hystart.round.window_end, hystart.round.began),
            (9_000, 2_000)
        );
        // Nearly half of the sequence numbers are beyond.
        let far = 9_000 + (1 << 31) - 1;
        hystart.on_ack(&mut w, &ack(3_000, far, far), 10_000, 10_000);
        assert_eq!(hystart.round.window_end, far);
    }

    /// Seen on the Linux engine (the row of TDTCP with two hosts of `etalon validate`, in host time): a network comes for the first time while
    /// data of another is missing, so that its ACKs are SACKs. The first comes 1060 us after the change, and others follow for 280 us; slow
    /// start ends at 16 segments, though half of the smallest RTT is 450 us. The round is over once what followed the change is acknowledged.
    #[test]
    fn the_first_round_of_a_new_path_begins_with_it() {
        let (nxt, una) = (20_000, 10_000);
        let sack = |now| Ack {
            prior_una: una,
            ..ack(now, una, 60_000)
        };
        for (gap, cumulative, expected) in [
            (1_060, una, 16),
            (1_060, nxt, 16),
            (1_060, nxt + 1, u32::MAX),
            (2_001, una, u32::MAX), // not a train
        ] {
            let (mut hystart, mut w) = (HyStart::NONE, window(16));
            hystart.begin(5_000 * US, nxt);
            let first = Ack {
                una: cumulative,
                ..sack(5_000 + gap)
            };
            hystart.on_ack(&mut w, &first, 900, 900);
            hystart.on_ack(&mut w, &sack(5_000 + gap + 280), 900, 900);
            assert_eq!(w.ssthresh, expected, "{gap} us, {cumulative}");
        }
    }

    #[test]
    fn thresholds_of_the_rtt() {
        // RFC 9406, section 4.3: an eighth, between 4 and 16 ms.
        for (min_rtt, thresh) in [
            (0, 4_000),
            (32_000, 4_000),
            (32_008, 4_001),
            (128_000, 16_000),
            (u32::MAX, 16_000),
        ] {
            assert_eq!(rtt_thresh(min_rtt), thresh);
        }
    }

    /// As seen on Linux where a handshake's window ends with a segment of 84 bytes: a burst has no more segments for it.
    #[test]
    fn small_segments_are_no_measure() {
        let mut bursts = Bursts::default();
        let two = |bytes: u32| Ack {
            acked: 2,
            ..ack(0, bytes, 0)
        };
        for (bytes, segments) in [(9_032, 58), (17_896, 29), (9_032, 29)] {
            let prior_una = 0;
            bursts.allowance(
                &window(16),
                &Ack {
                    prior_una,
                    ..two(bytes)
                },
            );
            assert_eq!(bursts.segments, segments);
        }
    }

    #[test]
    fn allowances_for_bursts() {
        // Segments of 1000 bytes: 262 a burst. The smoothed RTT in us that the ACK before left, the window, the allowance.
        for (srtt, cwnd, allowance) in [
            (0, 100, 0),
            (100, 131, 100),
            (100, 262, 50),
            (10_000, 100, 1_000),
        ] {
            let mut bursts = Bursts { srtt, segments: 0 };
            assert_eq!(
                bursts.allowance(&window(cwnd), &ack(0, 1_000, 0)),
                allowance
            );
            assert_eq!(
                bursts,
                Bursts {
                    srtt: 10_000_000 / 1_000,
                    segments: 262
                }
            );
        }
    }
}
