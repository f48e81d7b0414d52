// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses are told by time (RACK, `rack.rs`). Without SACK there is nothing to tell them by but the third duplicate ACK (`newreno.rs`).
//!
//! The reordering timer runs in ticks with a margin of [`timer_margin`](crate::Config::timer_margin).

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::Sender;
use crate::sending::facts::Facts;
use crate::sending::frto::Retransmit;
use crate::sending::rack::sent_after;
use crate::sending::record::Record;
use crate::sending::recovery::{DUP_THRESH, Fact};
use crate::sending::scoreboard::{Lost, Verdict};
use crate::seq::before;
use crate::timers::{Clock, Purpose};

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
