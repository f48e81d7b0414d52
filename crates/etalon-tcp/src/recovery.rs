//! Loss recovery: the states Open, Disorder, Cwr, Recovery and Loss, how they are entered and left, and how a reduction that
//! turns out needless is undone (Eifel by timestamps, RFC 3522 and 4015; DSACK, RFC 3708; F-RTO, RFC 5682).
//!
//! As Linux has it: Recovery begins as soon as RACK (or, without SACK, the third duplicate ACK) marks something lost; the
//! window follows PRR in Cwr and Recovery; after a timeout only what RACK's time cannot excuse is marked lost, and the
//! window restarts at what is in flight plus one.

use crate::ack::News;
use crate::cc::{CongestionControl, State};
use crate::connection::Connection;
use crate::path::DUP_THRESH;
use crate::scoreboard::mark;
use crate::sender::{Forced, Retransmit};
use crate::seq::{after, before};
use crate::timers::Purpose;

impl<C: CongestionControl> Connection<C> {
    /// Whether any segment in flight was ever retransmitted while in flight: the front tells.
    fn front_resent(&self) -> bool {
        self.path.pipe.resent > 0
            || self
                .snd
                .board
                .front()
                .is_some_and(|r| r.has(mark::EVER_RESENT))
    }

    /// Starts a reduction: the threshold from the congestion control, PRR from zero.
    pub(crate) fn begin_reduction(&mut self) {
        self.path.recovery_point = self.snd.nxt;
        self.snd.probe_end = None;
        self.path.window.cwnd_count = 0;
        self.path.prr.begin(self.path.window.cwnd);
        self.path.window.ssthresh = self
            .path
            .cc
            .ssthresh(&self.path.window, self.clock.now)
            .max(2);
        self.snd.cwr_queued = self.snd.ecn;
    }

    /// Ends it: the window becomes the threshold, unless the reduction was undone.
    pub(crate) fn end_reduction(&mut self) {
        let path = &mut self.path;
        if path.window.ssthresh != u32::MAX
            && (path.state == State::Cwr || path.reduced_at.is_some())
        {
            path.window.cwnd = path.window.ssthresh;
            path.used_stamp = self.clock.jiffies;
        }
    }

    /// PRR's step for one ACK.
    pub(crate) fn reduce_window(&mut self, delivered: u32, newly_lost: u64, advanced: bool) {
        let path = &mut self.path;
        let flight = path.pipe.in_flight();
        if let Some(cwnd) = path.prr.window(
            path.window.ssthresh,
            flight,
            delivered,
            advanced && newly_lost == 0,
        ) {
            path.window.cwnd = cwnd;
        }
    }

    fn enter_cwr(&mut self) {
        self.path.ssthresh_before = 0;
        if self.path.open_or_disorder() {
            self.path.reduced_at = None;
            self.stats.cwrs += 1;
            self.begin_reduction();
            self.path.set_state(&self.clock, State::Cwr);
        }
    }

    fn remember_for_undo(&mut self) {
        self.path.reduced_at = Some(self.snd.una);
        self.path.unproven_resends = match self.path.pipe.resent {
            0 => -1,
            n => n as i32,
        };
    }

    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.stats.recoveries += 1;
        self.path.ssthresh_before = 0;
        self.remember_for_undo();
        if !self.path.reducing() {
            if !ece {
                self.path.ssthresh_before = self.path.current_ssthresh();
            }
            self.begin_reduction();
        }
        self.path.set_state(&self.clock, State::Recovery);
    }

    /// Open or Disorder, whichever the scoreboard says.
    pub(crate) fn keep_open(&mut self) {
        let state = if self.path.pipe.left() > 0 || self.front_resent() {
            State::Disorder
        } else {
            State::Open
        };
        if self.path.state != state {
            self.path.set_state(&self.clock, state);
            self.path.recovery_point = self.snd.nxt;
        }
    }

    fn try_to_open(&mut self, ece: bool) {
        if !self.front_resent() {
            self.path.first_resend = 0;
        }
        if ece {
            self.enter_cwr();
        }
        if self.path.state != State::Cwr {
            self.keep_open();
        }
    }

    /// The ACK answers the original, by its timestamp: the retransmission was needless.
    fn original_arrived(&self) -> bool {
        self.path.first_resend != 0 && self.snd.echo_before(self.path.first_resend)
    }

    fn may_undo(&self) -> bool {
        self.path.reduced_at.is_some()
            && (self.path.unproven_resends == 0 || self.original_arrived())
    }

    fn undo(&mut self, unmark: bool) {
        if unmark {
            self.snd.board.unmark_lost(&mut self.path.pipe);
        }
        let path = &mut self.path;
        if path.ssthresh_before != 0 {
            path.window.cwnd = path.cc.undo(&path.window, path.prr.prior_cwnd);
            if path.ssthresh_before > path.window.ssthresh {
                path.window.ssthresh = path.ssthresh_before;
                self.snd.cwr_queued = false;
            }
        }
        path.used_stamp = self.clock.jiffies;
        path.reduced_at = None;
        path.rack.advanced = true;
        self.stats.undos += 1;
    }

    /// Everything up to the recovery point is acknowledged. Returns whether to stay until something beyond it is, which
    /// without SACK keeps old duplicates from starting another recovery (RFC 6582).
    fn finish_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo(false);
        } else {
            self.path.rack.recovery_over(false);
        }
        if self.snd.una == self.path.recovery_point && !self.snd.sack {
            if !self.front_resent() {
                self.path.first_resend = 0;
            }
            return true;
        }
        self.path.set_state(&self.clock, State::Open);
        self.snd.reneging = false;
        false
    }

    fn undo_by_dsack(&mut self) -> bool {
        if self.path.reduced_at.is_some() && self.path.unproven_resends == 0 {
            self.path.rack.recovery_over(true);
            self.undo(false);
            return true;
        }
        false
    }

    /// Undoes a timeout's reduction. `frto`: F-RTO found it spurious.
    fn undo_loss(&mut self, frto: bool) -> bool {
        if !frto && !self.may_undo() {
            return false;
        }
        self.undo(true);
        if frto {
            self.stats.frto_undos += 1;
        }
        self.snd.timeouts = 0;
        if frto || self.snd.sack {
            self.path.set_state(&self.clock, State::Open);
            self.snd.reneging = false;
        }
        true
    }

    /// A partial ACK in Recovery. Returns whether to leave all else be.
    fn undo_partial(&mut self, prior_una: u32) -> bool {
        if self.path.reduced_at.is_none() || !self.original_arrived() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.path.pipe.resent > 0 {
            return true;
        }
        if !self.front_resent() {
            self.path.first_resend = 0;
        }
        self.undo(true);
        self.keep_open();
        false
    }

    fn identify_losses(&mut self, news: &mut News) {
        if self.snd.board.is_empty() {
            return;
        }
        if self.snd.sack {
            let before = self.path.pipe.resent;
            if self.rack_mark_lost() {
                news.set_timer = false;
            }
            news.lost_retransmit |= before > self.path.pipe.resent;
        } else {
            self.newreno_mark_lost(news.advanced);
        }
    }

    /// Without SACK: the third duplicate ACK, or a partial one in Recovery, means that the front is lost (RFC 6582).
    fn newreno_mark_lost(&mut self, advanced: bool) {
        let path = &self.path;
        let lost = match path.state {
            State::Recovery => advanced,
            State::Loss => false,
            _ => path.pipe.sacked >= path.reordering,
        };
        if lost {
            self.mark_lost(self.snd.board.first());
        }
    }

    fn mark_lost(&mut self, index: u64) {
        let (lost, again) = self.snd.board.mark_lost(&mut self.path.pipe, index);
        self.path.lost += u64::from(lost);
        self.stats.lost += u64::from(lost);
        self.stats.lost_retransmits += u64::from(again);
    }

    /// Without SACK, duplicate ACKs stand for SACKed segments.
    fn count_duplicate_ack(&mut self, news: &News) {
        if !news.duplicate {
            return;
        }
        let before = self.path.pipe.sacked;
        self.path.pipe.sacked += 1;
        self.limit_duplicates();
        self.path.delivered += u64::from(self.path.pipe.sacked.saturating_sub(before));
    }

    /// Without SACK: no more duplicate ACKs than segments beside the holes; more of them mean reordering.
    pub(crate) fn limit_duplicates(&mut self) {
        let path = &mut self.path;
        let out = path.pipe.outstanding;
        let most = out - path.pipe.lost.max(1).min(out);
        if path.pipe.sacked > most {
            path.pipe.sacked = most;
            path.reordering = out.clamp(DUP_THRESH, 300);
        }
    }

    /// Takes an ACK that is a duplicate, or brings SACKs, ECE or DSACKs, or meets a state other than Open.
    pub(crate) fn recover(&mut self, news: &mut News) {
        if self.path.pipe.outstanding == 0 && self.path.pipe.sacked > 0 {
            self.path.pipe.sacked = 0;
        }
        if news.ece {
            self.path.ssthresh_before = 0;
        }
        if news.reneging {
            // Give the receiver a moment to correct itself, then let a timeout clear the marks.
            let ticks = self.clock.ticks_for_us(u64::from(self.path.rtt.srtt() / 2));
            let ticks = ticks.max(self.clock.ticks_for_ns(10_000_000));
            self.timer.set(&self.clock, Purpose::Rto, ticks);
            news.set_timer = false;
            return;
        }
        if self.path.state == State::Open {
            self.path.first_resend = 0;
        } else if !before(self.snd.una, self.path.recovery_point) {
            match self.path.state {
                State::Cwr if self.snd.una != self.path.recovery_point => {
                    self.end_reduction();
                    self.path.set_state(&self.clock, State::Open);
                }
                State::Recovery => {
                    if !self.snd.sack {
                        self.path.pipe.sacked = 0;
                    }
                    if self.finish_recovery() {
                        return;
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.path.state {
            State::Recovery => {
                if !news.advanced {
                    if !self.snd.sack {
                        self.count_duplicate_ack(news);
                    }
                } else if self.undo_partial(news.prior_una) {
                    return;
                }
                if self.undo_by_dsack() {
                    self.keep_open();
                }
                self.identify_losses(news);
                if self.path.state != State::Recovery {
                    if self.path.pipe.lost == 0 {
                        return;
                    }
                    self.enter_recovery(news.ece);
                }
            }
            State::Loss => {
                self.recover_from_timeout(news);
                self.identify_losses(news);
                if self.path.state != State::Open && !news.lost_retransmit {
                    return;
                }
                self.recover_open(news);
            }
            _ => self.recover_open(news),
        }
    }

    /// Open, Disorder and Cwr.
    fn recover_open(&mut self, news: &mut News) {
        if !self.snd.sack {
            if news.advanced {
                self.path.pipe.sacked = 0;
            }
            self.count_duplicate_ack(news);
        }
        if self.path.open_or_disorder() {
            self.undo_by_dsack();
        }
        self.identify_losses(news);
        if self.path.pipe.lost == 0 {
            self.try_to_open(news.ece);
            return;
        }
        self.enter_recovery(news.ece);
        self.snd.retransmit = Retransmit::Lost;
    }

    /// In Loss: was the timeout spurious (F-RTO's SACK-enhanced version), is it over?
    fn recover_from_timeout(&mut self, news: &mut News) {
        let recovered = !before(self.snd.una, self.path.recovery_point);
        if news.advanced && self.undo_loss(false) {
            return;
        }
        if self.path.frto {
            if news.original_delivered && self.undo_loss(true) {
                return;
            }
            if after(self.snd.nxt, self.path.recovery_point) {
                if news.sacked || news.duplicate {
                    self.path.frto = false;
                }
            } else if news.advanced && !recovered {
                self.path.recovery_point = self.snd.nxt;
                if self.snd.has_unsent() && after(self.snd.window_end(), self.snd.nxt) {
                    self.snd.retransmit = Retransmit::NewFirst;
                    return;
                }
                self.path.frto = false;
            }
        }
        if recovered {
            self.finish_recovery();
            return;
        }
        if !self.snd.sack {
            if after(self.snd.nxt, self.path.recovery_point) && news.duplicate {
                self.count_duplicate_ack(news);
            } else if news.advanced {
                self.path.pipe.sacked = 0;
            }
        }
        self.snd.retransmit = Retransmit::Lost;
    }

    /// The retransmission timer expired (RFC 6298, 5.4 to 5.6).
    pub(crate) fn on_rto(&mut self) {
        if self.snd.board.is_empty() {
            return;
        }
        self.stats.rtos += 1;
        self.snd.probe_end = None;
        self.enter_loss();
        self.snd.timeouts += 1;
        self.snd.forced = Some(Forced::Front);
        self.path.rtt.back_off();
        self.timer
            .set(&self.clock, Purpose::Rto, self.path.rtt.rto_ticks);
    }

    fn mark_lost_after_timeout(&mut self) {
        let reneged = self.snd.board.front().is_some_and(|r| r.has(mark::SACKED));
        if reneged {
            self.stats.reneged += 1;
            self.snd.board.unmark_sacked(&mut self.path.pipe);
            self.snd.seen_sacks.1 = 0;
            self.snd.reneging = true;
        } else if !self.snd.sack {
            self.path.pipe.sacked = 0;
        }
        let (now, rtt) = (self.clock.us, u64::from(self.path.rack.rtt));
        for index in self.snd.board.first()..self.snd.board.end() {
            let Some(record) = self.snd.board.get(index) else {
                break;
            };
            let recent = record.sent + rtt > now;
            if recent && self.snd.sack && !reneged && index != self.snd.board.first() {
                continue;
            }
            self.mark_lost(index);
        }
    }

    fn enter_loss(&mut self) {
        let fresh = !matches!(self.path.state, State::Recovery | State::Loss);
        self.mark_lost_after_timeout();
        let path = &mut self.path;
        if path.open_or_disorder()
            || !after(path.recovery_point, self.snd.una)
            || (path.state == State::Loss && self.snd.timeouts == 0)
        {
            path.ssthresh_before = path.current_ssthresh();
            path.prr.prior_cwnd = path.window.cwnd;
            path.window.ssthresh = path.cc.ssthresh(&path.window, self.clock.now).max(2);
            self.remember_for_undo();
        }
        let path = &mut self.path;
        path.window.cwnd = path.pipe.in_flight() + 1;
        path.window.cwnd_count = 0;
        path.used_stamp = self.clock.jiffies;
        if path.open_or_disorder() && path.pipe.sacked >= DUP_THRESH {
            path.reordering = path.reordering.min(DUP_THRESH);
        }
        path.set_state(&self.clock, State::Loss);
        path.recovery_point = self.snd.nxt;
        path.frto = fresh || self.snd.timeouts > 0;
        self.snd.cwr_queued = self.snd.ecn;
        self.snd.retransmit = Retransmit::Lost;
    }
}
