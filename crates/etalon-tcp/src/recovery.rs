//! Loss recovery: a state machine for each path. Its states are those of the RFCs: limited transmit (RFC 3042), congestion
//! window reduced (RFC 3168), fast recovery (RFC 5681, 6582, 6675), timeout (RFC 6298).
//!
//! An ACK moves it in three steps. The first asks whether the ACK ends the episode that the path is in: everything up to the
//! recovery point is acknowledged, or the episode turns out to have been needless (`undo.rs`, `frto.rs`). The second looks for
//! losses (`rack.rs`). The third begins an episode if there are any, or if the ACK carries ECE. While an episode reduces the
//! window, that follows proportional rate reduction (`prr.rs`).

use crate::ack::Facts;
use crate::cc::{CongestionControl, State};
use crate::connection::Connection;
use crate::frto::{Progress, Retransmit, Verdict};
use crate::linux;
use crate::path::Path;
use crate::prr::Prr;
use crate::rack::DUP_THRESH;
use crate::scoreboard::{Lost, mark};
use crate::sender::Forced;
use crate::seq::{after, before};
use crate::timers::{Clock, Purpose};
use crate::undo::Undo;

/// A path's recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    pub state: State,
    /// SND.NXT when the state began (`RecoveryPoint` of RFC 6675, `recover` of RFC 6582).
    pub point: u32,
    pub prr: Prr,
    pub undo: Undo,
}

impl Recovery {
    /// Whether proportional rate reduction sets the window.
    #[inline]
    pub fn reduces(&self) -> bool {
        matches!(self.state, State::Cwr | State::FastRecovery)
    }
}

/// What the first step leaves to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Nothing.
    Nothing,
    /// The episode goes on: look for losses.
    GoOn,
    /// Fast recovery was undone before its end: it begins again if anything is lost.
    BeginAgain,
    /// No episode: look for losses, and let the state follow from what there is.
    Settle,
}

impl<C: CongestionControl> Path<C> {
    /// Changes the state and tells the congestion control, also of each further timeout.
    pub(crate) fn set_state(&mut self, clock: &Clock, state: State) {
        if self.recovery.state != state || state == State::Timeout {
            self.recovery.state = state;
            self.cc.on_state(&mut self.window, state, clock.now);
        }
    }

    /// A congestion event: the threshold from the congestion control (RFC 5681, section 3.1, equation 4: "ssthresh = max
    /// (FlightSize / 2, 2*SMSS)"), and PRR from zero.
    pub(crate) fn begin_reduction(&mut self, clock: &Clock, nxt: u32) {
        self.recovery.point = nxt;
        self.recovery.prr.begin(self.window.cwnd);
        self.window.cwnd_count = 0;
        self.window.ssthresh = self.cc.ssthresh(&self.window, clock.now).max(2);
    }

    /// The reduction is over: the window is the threshold, unless it was undone (RFC 6582, section 3.2, step 3,
    /// option 2).
    pub(crate) fn complete_reduction(&mut self, clock: &Clock) {
        let stands = self.recovery.state == State::Cwr || self.recovery.undo.is_open();
        if stands && self.window.ssthresh != u32::MAX {
            self.window.cwnd = self.window.ssthresh;
            self.validation.used_at = clock.jiffies;
        }
    }

    /// Fast recovery begins. Returns whether the window is reduced for it, and not already under reduction. `ece`: the ACK
    /// carried ECE, which forbids an undo.
    fn begin_fast_recovery(&mut self, clock: &Clock, flight: Flight, ece: bool) -> bool {
        let fresh = !self.recovery.reduces();
        self.recovery.undo.forbid();
        self.recovery.undo.begin(flight.una, flight.retransmitted);
        if fresh {
            if !ece {
                self.recovery.undo.remember(self.remembered_ssthresh());
            }
            self.begin_reduction(clock, flight.nxt);
        }
        self.set_state(clock, State::FastRecovery);
        fresh
    }

    /// RFC 5681, section 3.1: "when a TCP sender detects segment loss using the retransmission timer and the given segment has not
    /// yet been resent by way of the retransmission timer", ssthresh falls; else it "is held constant". `again`: no
    /// acknowledgement since the last timeout.
    fn timeout_is_congestion_event(&self, una: u32, again: bool) -> bool {
        match self.recovery.state {
            State::Open | State::LimitedTransmit => true,
            State::Cwr | State::FastRecovery => !after(self.recovery.point, una),
            State::Timeout => !after(self.recovery.point, una) || !again,
        }
    }

    /// The retransmission timer expired while this path was active.
    fn begin_timeout(&mut self, clock: &Clock, flight: Flight, again: bool) {
        if self.timeout_is_congestion_event(flight.una, again) {
            self.recovery.undo.remember(self.remembered_ssthresh());
            self.recovery.undo.begin(flight.una, flight.retransmitted);
            self.recovery.prr.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.window, clock.now).max(2);
        }
        self.window.cwnd = linux::loss_window(self.in_flight());
        self.window.cwnd_count = 0;
        self.validation.used_at = clock.jiffies;
        self.set_state(clock, State::Timeout);
        self.recovery.point = flight.nxt;
    }
}

/// Where the connection stands when an episode begins.
#[derive(Clone, Copy, Debug)]
struct Flight {
    una: u32,
    nxt: u32,
    /// Retransmissions in flight.
    retransmitted: u32,
}

impl<C: CongestionControl> Connection<C> {
    fn flight(&self) -> Flight {
        Flight {
            una: self.snd.una,
            nxt: self.snd.nxt,
            retransmitted: self.snd.board.sums().retransmitted,
        }
    }

    /// What a reduction of the active path means to the connection: CWR is to be sent (RFC 3168, section 6.1.2), and no probe
    /// asks for another reduction.
    pub(crate) fn reduction_begun(&mut self) {
        self.probe.forget();
        self.snd.cwr_queued = self.snd.ecn;
    }

    /// The active path enters fast recovery.
    pub(crate) fn enter_fast_recovery(&mut self, ece: bool) {
        self.stats.recoveries += 1;
        let flight = self.flight();
        let path = &mut self.paths.active;
        if path.begin_fast_recovery(&self.clock, flight, ece) {
            self.reduction_begun();
        }
    }

    /// RFC 3168, section 6.1.2: the window is reduced for ECE, once a round trip.
    fn enter_cwr(&mut self) {
        self.paths.active.recovery.undo.forbid();
        if self.recovers_nothing() {
            self.paths.active.recovery.undo.forget();
            self.stats.cwrs += 1;
            let path = &mut self.paths.active;
            path.begin_reduction(&self.clock, self.snd.nxt);
            path.set_state(&self.clock, State::Cwr);
            self.reduction_begun();
        }
    }

    /// Outside of an episode: limited transmit if anything is missing or sent again, else open.
    pub(crate) fn follow_evidence(&mut self) {
        let sums = self.snd.board.sums();
        let missing = sums.sacked + sums.lost > 0 || self.snd.board.repairs();
        let state = if missing {
            State::LimitedTransmit
        } else {
            State::Open
        };
        let path = &mut self.paths.active;
        if path.recovery.state != state {
            path.set_state(&self.clock, state);
            path.recovery.point = self.snd.nxt;
        }
    }

    /// Takes the facts of an ACK that says more than that data arrived in order, or that meets a path in an episode.
    pub(crate) fn recover(&mut self, facts: &mut Facts) {
        if self.snd.board.is_empty() {
            self.count_duplicates(0);
        }
        if facts.ece {
            self.paths.active.recovery.undo.forbid();
        }
        if facts.reneged {
            let ticks = linux::reneging_grace(&self.clock, &self.paths.active.rtt);
            self.timer.set(&self.clock, Purpose::Rto, ticks);
            facts.restart_timer = false;
            return;
        }
        let next = match self.paths.active.recovery.state {
            State::Open => {
                self.eifel.forget();
                Next::Settle
            }
            State::LimitedTransmit => Next::Settle,
            State::Cwr => self.in_cwr(),
            State::FastRecovery => self.in_fast_recovery(facts),
            State::Timeout => self.in_timeout(facts),
        };
        if next == Next::Nothing {
            return;
        }
        if next == Next::Settle {
            self.hear_duplicate(facts);
            if self.recovers_nothing() {
                self.undo_if_all_reported();
            }
        }
        let lost = self.detect_losses(facts);
        self.respond(next, lost, facts.ece);
        self.recover_parked();
    }

    /// The third step.
    fn respond(&mut self, next: Next, lost: Lost, ece: bool) {
        let missing = self.paths.active.pipe.lost > 0;
        match next {
            // RFC 5681, section 4.3: "the loss of a retransmission, should be taken as" another indication of congestion.
            Next::GoOn if self.paths.active.recovery.state == State::Timeout => {
                if lost.retransmissions > 0 {
                    self.enter_fast_recovery(ece);
                    self.frto.retransmit = Retransmit::Lost;
                }
            }
            Next::GoOn | Next::Nothing => {}
            Next::BeginAgain => {
                if missing {
                    self.enter_fast_recovery(ece);
                }
            }
            Next::Settle if missing => {
                self.enter_fast_recovery(ece);
                self.frto.retransmit = Retransmit::Lost;
            }
            Next::Settle => {
                self.forget_repaired();
                if ece {
                    self.enter_cwr();
                }
                if self.paths.active.recovery.state != State::Cwr {
                    self.follow_evidence();
                }
            }
        }
    }

    /// Congestion window reduced: over once something sent after the reduction is acknowledged.
    fn in_cwr(&mut self) -> Next {
        if after(self.snd.una, self.paths.active.recovery.point) {
            self.paths.active.complete_reduction(&self.clock);
            self.paths.active.set_state(&self.clock, State::Open);
        }
        Next::Settle
    }

    /// Fast recovery.
    fn in_fast_recovery(&mut self, facts: &Facts) -> Next {
        if !before(self.snd.una, self.paths.active.recovery.point) {
            if !self.snd.sack {
                self.count_duplicates(0);
            }
            if !self.end_episode() {
                return Next::Nothing;
            }
            self.paths.active.complete_reduction(&self.clock);
            return Next::Settle;
        }
        if !facts.progress {
            self.count_duplicate(facts);
        } else if self.original_answered() {
            // RFC 3522, section 3.2: the ACK of the first retransmission answers the original. What is still in flight of
            // the episode must land before it is undone.
            self.note_reordering(facts.prior_una);
            if self.snd.board.sums().retransmitted > 0 {
                return Next::Nothing;
            }
            self.forget_repaired();
            self.undo_and_unmark();
            self.follow_evidence();
        }
        if self.undo_if_all_reported() {
            self.follow_evidence();
        }
        if self.paths.active.recovery.state == State::FastRecovery {
            Next::GoOn
        } else {
            Next::BeginAgain
        }
    }

    /// Everything up to the recovery point is acknowledged: "the loss recovery phase MUST be terminated" (RFC 6675, section 5, A).
    /// Returns whether it is: without SACK it lasts until something beyond the point is acknowledged, so that old duplicates
    /// do not start another (RFC 6582, section 4).
    fn end_episode(&mut self) -> bool {
        if self.reduction_was_needless() {
            self.undo();
        } else {
            self.rack.recovery_over(false);
        }
        if self.snd.una == self.paths.active.recovery.point && !self.snd.sack {
            self.forget_repaired();
            return false;
        }
        self.paths.active.set_state(&self.clock, State::Open);
        true
    }

    /// After a timeout.
    fn in_timeout(&mut self, facts: &mut Facts) -> Next {
        if facts.progress && self.reduction_was_needless() {
            self.undo_timeout(self.snd.sack);
        } else {
            let verdict = self.frto_verdict(facts);
            match verdict {
                Verdict::Spurious => {
                    self.stats.frto_undos += 1;
                    self.undo_timeout(true);
                }
                Verdict::SendNew => {}
                Verdict::Conventional => self.repair_after_timeout(facts),
            }
        }
        if self.paths.active.recovery.state != State::Open {
            return Next::GoOn;
        }
        // As on Linux: without SACK, duplicates counted during the episode may begin the next.
        self.detect_losses(facts);
        Next::Settle
    }

    fn frto_verdict(&mut self, facts: &Facts) -> Verdict {
        let point = self.paths.active.recovery.point;
        let progress = Progress {
            recovered: !before(self.snd.una, point),
            beyond: after(self.snd.nxt, point),
            new_data: self.snd.has_unsent() && after(self.snd.window_end(), self.snd.nxt),
        };
        self.frto.verdict(facts, progress)
    }

    /// The timeout was spurious. `certain`: beyond doubt, so that recovery is over.
    fn undo_timeout(&mut self, certain: bool) {
        self.undo_and_unmark();
        self.snd.timeouts = 0;
        if certain {
            self.paths.active.set_state(&self.clock, State::Open);
        }
    }

    /// Slow start over what the timeout marked lost, until all of it is acknowledged.
    fn repair_after_timeout(&mut self, facts: &Facts) {
        let point = self.paths.active.recovery.point;
        if !before(self.snd.una, point) {
            self.end_episode();
            return;
        }
        if facts.progress || after(self.snd.nxt, point) {
            self.hear_duplicate(facts);
        }
        self.frto.retransmit = Retransmit::Lost;
    }

    /// Without SACK: a duplicate ACK stands for a segment that has left the network, until SND.UNA advances.
    fn hear_duplicate(&mut self, facts: &Facts) {
        if !self.snd.sack && facts.progress {
            self.count_duplicates(0);
        }
        self.count_duplicate(facts);
    }

    fn count_duplicate(&mut self, facts: &Facts) {
        if self.snd.sack || !facts.duplicate {
            return;
        }
        let before = self.snd.board.sums().sacked;
        self.count_duplicates(before + 1);
        self.limit_duplicates();
        let counted = self.snd.board.sums().sacked.saturating_sub(before);
        self.paths.active.delivered += u64::from(counted);
    }

    pub(crate) fn count_duplicates(&mut self, count: u32) {
        self.snd.board.count_duplicates(&mut self.paths, count);
    }

    /// Without SACK: no more duplicate ACKs than segments beside the holes; more of them mean reordering.
    pub(crate) fn limit_duplicates(&mut self) {
        let out = self.snd.board.len();
        let sums = self.snd.board.sums();
        let most = out - sums.lost.max(1).min(out);
        if sums.sacked > most {
            self.count_duplicates(most);
            self.rack.reordering.widen(out);
        }
    }

    /// Paths that are not active hear of the losses that they are charged with, and of the end of their recovery.
    pub(crate) fn recover_parked(&mut self) {
        let flight = self.flight();
        for path in self.paths.parked() {
            let state = path.recovery.state;
            if state > State::LimitedTransmit && !before(flight.una, path.recovery.point) {
                path.set_state(&self.clock, State::Open);
                path.complete_reduction(&self.clock);
            }
            if path.pipe.lost > 0 && path.recovery.state < State::FastRecovery {
                self.stats.recoveries += 1;
                path.begin_fast_recovery(&self.clock, flight, false);
            }
        }
    }

    /// PRR's step for one ACK.
    pub(crate) fn follow_prr(&mut self, delivered: u32, newly_lost: u64, progress: bool) {
        let path = &mut self.paths.active;
        let (ssthresh, pipe) = (path.window.ssthresh, path.pipe.in_flight());
        let safe = progress && newly_lost == 0;
        if let Some(cwnd) = path.recovery.prr.window(ssthresh, pipe, delivered, safe) {
            path.window.cwnd = cwnd;
        }
    }

    /// The retransmission timer expired (RFC 6298, section 5).
    pub(crate) fn on_rto(&mut self) {
        if self.snd.board.is_empty() {
            return;
        }
        self.stats.rtos += 1;
        self.probe.forget();
        self.begin_timeout();
        self.snd.timeouts += 1;
        // "(5.4) Retransmit the earliest segment that has not been acknowledged by the TCP receiver."
        self.snd.forced = Some(Forced::Front);
        // "(5.5) The host MUST set RTO <- RTO * 2 ("back off the timer")."
        let rtt = &mut self.paths.active.rtt;
        rtt.back_off();
        self.timer.set(&self.clock, Purpose::Rto, rtt.rto_ticks);
    }

    fn begin_timeout(&mut self) {
        let before = self.paths.active.recovery.state;
        let again = self.snd.timeouts > 0;
        self.mark_lost_at_timeout();
        if before <= State::LimitedTransmit && self.snd.board.sums().sacked >= DUP_THRESH {
            // Duplicates did not repair it: the degree of reordering was overestimated.
            self.rack.reordering.degree = self.rack.reordering.degree.min(DUP_THRESH);
        }
        let flight = self.flight();
        self.paths.active.begin_timeout(&self.clock, flight, again);
        // RFC 5682, section 3.1, step 1: not if fast recovery went on, unless the timer has expired before.
        let fresh = !matches!(before, State::FastRecovery | State::Timeout);
        self.frto.begin(fresh || again);
        self.snd.cwr_queued = self.snd.ecn;
        self.recover_parked();
    }

    /// RFC 8985, section 6.3: the front is lost, and what was sent long enough ago.
    fn mark_lost_at_timeout(&mut self) {
        let reneged = self.snd.board.front().is_some_and(|r| r.has(mark::SACKED));
        if reneged {
            // RFC 2018, section 5: after a timeout "the data sender SHOULD turn off all of the SACKed bits".
            self.stats.reneged += 1;
            self.snd.board.unmark_sacked(&mut self.paths);
            self.snd.seen_sacks.1 = 0;
        } else if !self.snd.sack {
            self.count_duplicates(0);
        }
        let spares = self.snd.sack && !reneged;
        for index in self.snd.board.first()..self.snd.board.end() {
            let front = index == self.snd.board.first();
            let Some(record) = self.snd.board.get(index) else {
                break;
            };
            if spares && !front && linux::may_still_arrive(record, self.rack.rtt, self.clock.us) {
                continue;
            }
            let lost = self.snd.board.mark_lost(&mut self.paths, index);
            self.count_lost(lost);
        }
    }
}
