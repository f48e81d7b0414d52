// SPDX-License-Identifier: MIT OR Apache-2.0
//! RACK (RFC 8985): what it knows of the segments that were delivered last, and of reordering. What it does with that:
//! `loss_detection.rs`.

use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::path::Path;
use crate::sending::record::{Record, mark};
use crate::sending::recovery::DUP_THRESH;
use crate::sending::rtt::UNKNOWN;
use crate::seq::after;
use crate::tdn_option::PathId;

/// Recoveries for which a raised reordering window is kept (`RACK.reo_wnd_persist`).
const PERSIST: u8 = 16;

/// What is known of reordering on the connection's paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering {
    /// Some was seen.
    pub seen: bool,
    /// Its degree in segments.
    pub degree: u32,
}

impl Reordering {
    /// A distance of so many segments was seen.
    pub fn widen(&mut self, segments: u32) {
        self.degree = segments.clamp(DUP_THRESH, linux::MOST_REORDERING);
    }
}

/// RACK's view of the most recently sent segment that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// When it was sent, in microseconds, and where it ended (`RACK.xmit_ts`, `RACK.end_seq`).
    pub sent: u64,
    pub end: u32,
    /// Its round-trip time in microseconds, and the path on which it was sent.
    pub rtt: u32,
    pub path: PathId,
    /// There is news to judge by.
    pub advanced: bool,
    pub reordering: Reordering,
    /// Reordering window in quarters of min_rtt (`RACK.reo_wnd_mult`), and recoveries until it falls back.
    steps: u8,
    persist: u8,
    /// When a DSACK last widened it, in microseconds; another has come since, and widens it at the next ACK that delivers something,
    /// of the path in use if there are several.
    widened_at: u64,
    pub dsack: bool,
    /// When the retransmission was sent whose original that ACK answers, in microseconds; 0 if there is none.
    resent: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: 0,
            end: 0,
            rtt: 0,
            path: 0,
            advanced: false,
            reordering: Reordering {
                seen: false,
                degree: DUP_THRESH,
            },
            steps: 1,
            persist: 0,
            widened_at: 0,
            dsack: false,
            resent: 0,
        }
    }
}

/// `RACK_sent_after()`: whether a segment was sent after another; those sent together are ordered by sequence.
#[inline]
pub(crate) fn sent_after(sent: u64, end: u32, other_sent: u64, other_end: u32) -> bool {
    sent > other_sent || (sent == other_sent && after(end, other_end))
}

impl Rack {
    /// Step 2: a segment was delivered. `min_rtt`: of the path in use, whichever the segment was sent on, as in the Linux engine.
    #[inline]
    pub fn delivered(&mut self, now_us: u64, min_rtt: u32, record: &Record) {
        let rtt = now_us.saturating_sub(record.sent()) as u32;
        if rtt < min_rtt && record.has(mark::EVER_RETRANSMITTED) {
            return self.answered_early(record);
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent_after(record.sent(), record.end, self.sent, self.end) {
            self.sent = record.sent();
            self.end = record.end;
            self.path = record.path;
        }
    }

    /// The ACK answers the original, not the retransmission.
    pub fn answered_early(&mut self, record: &Record) {
        if self.dsack {
            self.resent = record.sent();
        }
    }

    /// What was judged may be judged differently now.
    pub fn judge_again(&mut self) {
        self.advanced = true;
    }

    /// Step 4: a DSACK tells that the reordering window was too small.
    pub fn note_dsack(&mut self) {
        self.dsack = self.reordering.seen;
    }

    /// Step 4, when something was delivered after a DSACK. The window grows once a round trip at most: only if what was delivered last was
    /// sent after it grew. On Linux, the time of a retransmission counts, even if the ACK answers the original.
    pub fn widen(&mut self, now_us: u64) {
        self.dsack = false;
        let resent = core::mem::take(&mut self.resent);
        let sent = (now_us - u64::from(self.rtt)).max(resent);
        if sent >= self.widened_at {
            self.widened_at = now_us;
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// Step 4: a recovery ended, by a DSACK's undo or otherwise.
    pub fn recovery_over(&mut self, undone: bool) {
        self.persist = if undone {
            (self.persist + 1).min(PERSIST)
        } else {
            self.persist.saturating_sub(1)
        };
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Step 4, RACK_update_reo_wnd(): the reordering window in microseconds.
    pub fn reordering_window<C: CongestionControl>(&self, path: &Path<C>, sacked: u32) -> u32 {
        // No reordering was ever seen, and losses are being repaired or DupThresh is reached: none.
        if !self.reordering.seen
            && (matches!(path.recovery.state, State::FastRecovery | State::Timeout)
                || sacked >= self.reordering.degree)
        {
            return 0;
        }
        let window = match path.rtt.min() {
            UNKNOWN => u32::MAX,
            min => (min / 4).saturating_mul(u32::from(self.steps)),
        };
        window.min(path.rtt.srtt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsack_widens_the_window_once_a_round_trip() {
        let mut rack = Rack {
            rtt: 100,
            ..Rack::default()
        };
        rack.note_dsack();
        assert!(!rack.dsack, "nothing was reordered");
        rack.reordering.seen = true;
        let mut after = |now, dsack| {
            if dsack {
                rack.note_dsack();
            }
            if rack.dsack {
                rack.widen(now);
            }
            rack.steps
        };
        assert_eq!(after(1_000, false), 1);
        assert_eq!(after(1_001, true), 2);
        assert_eq!(after(1_100, true), 2, "what arrives was sent before");
        assert_eq!(after(1_101, false), 2, "and the DSACK is forgotten");
        assert_eq!(after(1_102, true), 3);
    }
}
