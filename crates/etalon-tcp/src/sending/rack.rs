// SPDX-License-Identifier: MIT OR Apache-2.0
//! RACK (RFC 8985): losses are told by time. Without SACK there is nothing to tell them by but the third duplicate ACK
//! (RFC 6582).
//!
//! The reordering timer runs in ticks with a margin of [`timer_margin`](crate::Config::timer_margin).

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::Sender;
use crate::sending::digest::Facts;
use crate::sending::frto::Retransmit;
use crate::sending::path::{Path, PathId};
use crate::sending::recovery::Fact;
use crate::sending::rtt::UNKNOWN;
use crate::sending::scoreboard::{Lost, Record, Verdict, mark};
use crate::seq::{after, before};
use crate::timers::{Clock, Purpose};

/// Duplicate ACKs that mean a loss (RFC 5681), and the degree of reordering assumed at first.
pub(crate) const DUP_THRESH: u32 = 3;

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
    sent: u64,
    end: u32,
    /// Its round-trip time in microseconds, and the path on which it was sent.
    pub rtt: u32,
    pub path: PathId,
    /// There is news to judge by.
    advanced: bool,
    pub reordering: Reordering,
    /// Reordering window in quarters of min_rtt (`RACK.reo_wnd_mult`), and recoveries until it falls back.
    steps: u8,
    persist: u8,
    /// When a DSACK last widened it, in microseconds; one has come since.
    widened_at: u64,
    dsack: bool,
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
        }
    }
}

/// `RACK_sent_after()`: whether a segment was sent after another; those sent together are ordered by sequence.
#[inline]
fn sent_after(sent: u64, end: u32, other_sent: u64, other_end: u32) -> bool {
    sent > other_sent || (sent == other_sent && after(end, other_end))
}

impl Rack {
    /// Step 2: a segment was delivered. `min_rtt`: of the path in use, whichever the segment was sent on, as in the Linux engine.
    #[inline]
    pub fn delivered(&mut self, now_us: u64, min_rtt: u32, record: &Record) {
        let rtt = now_us.saturating_sub(record.sent()) as u32;
        if rtt < min_rtt && record.has(mark::EVER_RETRANSMITTED) {
            // The ACK answers the original, not the retransmission.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent_after(record.sent(), record.end, self.sent, self.end) {
            self.sent = record.sent();
            self.end = record.end;
            self.path = record.path;
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

    /// Step 4: it grows once a round trip at most, that is if what was delivered last was sent after it grew.
    fn widen(&mut self, now_us: u64) {
        if core::mem::take(&mut self.dsack) && now_us - u64::from(self.rtt) >= self.widened_at {
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
    fn reordering_window<C: CongestionControl>(&self, path: &Path<C>, sacked: u32) -> u32 {
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

impl<C: CongestionControl> Sender<C> {
    /// Step 5, `RACK_detect_loss()`: marks what is lost. Returns it, and the time until the next verdict in microseconds.
    fn rack_detect(&mut self, clock: &Clock, config: &Config) -> (Lost, Option<u64>) {
        if self.is_relaxed(config) {
            let patience = self.relaxed_patience();
            self.rack_judge(clock, |record| patience.of(record.path))
        } else {
            let rtt = self.rack.rtt;
            self.rack_judge(clock, |_| rtt)
        }
    }

    /// The same; `patience`: the time after which a record should have arrived, in microseconds.
    #[inline]
    fn rack_judge(
        &mut self,
        clock: &Clock,
        patience: impl Fn(&Record) -> u32,
    ) -> (Lost, Option<u64>) {
        let rack = self.rack;
        let window = rack.reordering_window(&self.paths.active, self.board.sums().sacked);
        let now = clock.us;
        let mut wait = None;
        let judge = |record: &Record| {
            if !sent_after(rack.sent, rack.end, record.sent(), record.end) {
                return Verdict::Untold;
            }
            let due = record.sent() + (u64::from(patience(record)) + u64::from(window));
            if due <= now {
                return Verdict::Lost;
            }
            wait = wait.max(Some(due - now));
            Verdict::Wait
        };
        let lost = self.board.judge_by_time(&mut self.paths, judge);
        self.count_lost(lost);
        (lost, wait)
    }

    /// Section 6.3, RACK_mark_losses_on_RTO(): the front is lost, and whatever was sent too long ago to be on its way still.
    pub(crate) fn lose_at_timeout(&mut self, clock: &Clock, config: &Config) {
        let told_by_time = self.sack && !self.distrust_sacks();
        if !self.sack {
            self.count_duplicates(0);
        }
        let relaxed = self.is_relaxed(config).then(|| self.relaxed_patience());
        let latest = self.rack.rtt;
        let first = self.board.first();
        for index in first..self.board.end() {
            let on_its_way = self.board.get(index).is_some_and(|record| {
                let rtt = relaxed.as_ref().map_or(latest, |p| p.of(record.path));
                linux::may_still_arrive(record, rtt, clock.us)
            });
            if index == first || !(told_by_time && on_its_way) {
                let lost = self.board.mark_lost(&mut self.paths, index);
                self.count_lost(lost);
            }
        }
        let enough = self.board.sums().sacked >= DUP_THRESH;
        if enough && self.paths.active.recovery.state <= State::LimitedTransmit {
            // So many duplicates should have begun a recovery: the degree of reordering was overestimated.
            self.rack.reordering.degree = self.rack.reordering.degree.min(DUP_THRESH);
        }
    }

    pub(crate) fn count_lost(&mut self, lost: Lost) {
        self.stats.lost += u64::from(lost.segments);
        self.stats.lost_retransmits += lost.retransmissions;
    }

    /// Marks what the ACK shows to be lost, and returns it.
    pub(crate) fn detect_losses(
        &mut self,
        clock: &Clock,
        config: &Config,
        facts: &mut Facts,
    ) -> Lost {
        if self.board.is_empty() {
            return Lost::default();
        }
        if !self.sack {
            return self.newreno_detect(facts.progress);
        }
        if !core::mem::take(&mut self.rack.advanced) {
            return Lost::default();
        }
        self.rack.widen(clock.us);
        let (lost, wait) = self.rack_detect(clock, config);
        if let Some(us) = wait {
            let us = us + config.timer_margin / 1000;
            let ticks = clock.ticks_for_us(us);
            self.timer.set(clock, Purpose::Reordering, ticks);
            facts.restart_timer = false;
        }
        lost
    }

    /// The reordering timer fired (section 6.2, last paragraph).
    pub(crate) fn on_reordering_timer(&mut self, clock: &Clock, config: &Config) {
        let lost_before = self.paths.active.lost;
        let (lost, _) = self.rack_detect(clock, config);
        if lost.segments > 0 {
            let mine = self.paths.active.lost - lost_before;
            if mine > 0 && self.paths.active.recovery.state != State::FastRecovery {
                self.hear_timer(clock, config, Fact::Overdue);
                self.follow_prr(1, mine, false);
            }
            self.recover_parked(clock);
            self.frto.retransmit = Retransmit::Lost;
        }
        if self.timer.purpose == Purpose::None {
            self.resume_rto(clock);
        }
    }

    /// Fact: a segment never retransmitted, the one from `low`, was delivered after a later one.
    pub(crate) fn note_reordering(&mut self, low: u32) {
        // Without SACK nothing tells what lies beyond SND.UNA.
        let high = if self.sack {
            self.board.highest_sacked(self.una)
        } else {
            self.una
        };
        if !before(low, high) {
            return;
        }
        let distance = high.wrapping_sub(low).div_ceil(self.mss);
        if distance > self.rack.reordering.degree {
            self.rack.reordering.widen(distance);
        }
        self.rack.reordering.seen = true;
        self.stats.reorderings += 1;
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
        rack.widen(1_000);
        assert_eq!(rack.steps, 1, "nothing was reordered");
        rack.reordering.seen = true;
        let mut after = |now, dsack| {
            if dsack {
                rack.note_dsack();
            }
            rack.widen(now);
            rack.steps
        };
        assert_eq!(after(1_000, false), 1);
        assert_eq!(after(1_001, true), 2);
        assert_eq!(after(1_100, true), 2, "what arrives was sent before");
        assert_eq!(after(1_101, false), 2, "and the DSACK is forgotten");
        assert_eq!(after(1_102, true), 3);
    }
}
