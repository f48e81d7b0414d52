// SPDX-License-Identifier: MIT OR Apache-2.0
//! Episodes of loss recovery: the facts that an ACK holds for a path, and what the table of `recovery.rs` has it do about them.
//! While an episode reduces the window, that follows proportional rate reduction (`prr.rs`).

use crate::Config;
use crate::cc::{CongestionControl, State, Window};
use crate::linux;
use crate::sending::Sender;
use crate::sending::facts::Facts;
use crate::sending::frto::{Progress, Retransmit, Verdict};
use crate::sending::path::Path;
use crate::sending::prr::{Prr, Step};
use crate::sending::recovery::{Action, Evidence, Fact, Reach, Rest, transition};
use crate::sending::reduction::Reduction;
use crate::sending::undo::Reversal;
use crate::seq::{after, before};
use crate::timers::{Clock, Purpose};

/// Where the connection stands when an episode begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub una: u32,
    pub nxt: u32,
    /// Retransmissions in flight, and all that is and that the active path's window is to limit.
    pub retransmitted: u32,
    pub in_flight: u32,
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
        self.recovery.reduction.prr = Prr::from(self.window.cwnd);
        self.window.cwnd_count = 0;
        self.window.ssthresh = self.cc.ssthresh(&self.window, clock.now).max(2);
    }

    /// The reduction is over: the window is the threshold (RFC 6582, section 3.2, step 3, option 2; RFC 6937, section 3,
    /// has it so at the end of recovery), unless fast recovery was undone while more was awaited.
    pub(crate) fn complete_reduction(&mut self, clock: &Clock) {
        let stands = self.recovery.state == State::Cwr || self.recovery.reduction.undo.is_open();
        if stands && self.window.ssthresh != u32::MAX {
            self.window.cwnd = self.window.ssthresh;
            self.validation.used_at = clock.jiffies as u32;
        }
        self.set_state(clock, State::Open);
    }

    /// The window is the threshold from now on: a path that is not active has no ACKs to pace its reduction. Observed on Linux: a
    /// path that comes back in a recovery which began meanwhile has a window of the threshold (`tests/tdn.rs`).
    fn reduce_at_once(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// Fast recovery begins. Returns whether the window is reduced for it, and not already under reduction. `ece`: the ACK
    /// carried ECE, which forbids an undo.
    pub(crate) fn begin_fast_recovery(&mut self, clock: &Clock, flight: Flight, ece: bool) -> bool {
        let fresh = !self.recovery.reduces();
        self.recovery.reduction.undo.forbid();
        self.recovery
            .reduction
            .undo
            .begin(flight.una, flight.retransmitted);
        if fresh {
            if !ece {
                let ssthresh = self.remembered_ssthresh();
                self.recovery.reduction.undo.remember(ssthresh);
            }
            self.begin_reduction(clock, flight.nxt);
        }
        self.set_state(clock, State::FastRecovery);
        fresh
    }

    /// RFC 4015, step 9, and step 10: the time without use counts from now. Returns the window that the path leaves.
    fn reverse(&mut self, jiffies: u64) -> Window {
        let Reduction { prr, undo } = &mut *self.recovery.reduction;
        let left = self.window;
        self.window = undo.reversed(left, || self.cc.undo(&left, prr.recover_fs));
        undo.forget();
        self.validation.used_at = jiffies as u32;
        left
    }
}

impl<C: CongestionControl> Sender<C> {
    pub(crate) fn flight(&self) -> Flight {
        Flight {
            una: self.una,
            nxt: self.nxt,
            retransmitted: self.board.sums().retransmitted,
            in_flight: self.paths.in_flight(),
        }
    }

    /// What a reduction of the active path means to the connection: CWR is to be sent (RFC 3168, section 6.1.2), and no probe
    /// asks for another reduction.
    pub(crate) fn reduction_begun(&mut self) {
        self.probe.forget();
        self.cwr_queued = self.ecn;
    }

    /// Takes the facts of an ACK that says more than that data arrived in order, or that meets a path in an episode.
    pub(crate) fn recover(&mut self, clock: &Clock, config: &Config, facts: &mut Facts) {
        if self.board.is_empty() {
            self.count_duplicates(0);
        }
        if facts.ece {
            self.paths.active.recovery.forbid_undo();
        }
        let said = self.said_of_earlier_decisions(facts);
        let rest = self.hear(clock, config, said, facts);
        if rest == Rest::Nothing {
            return;
        }
        if rest == Rest::Everything && !self.sack {
            self.hear_duplicate(facts);
        }
        let lost = self.detect_losses(clock, config, facts);
        if lost.retransmissions > 0 {
            self.hear(clock, config, Fact::RetransmissionLost, facts);
        }
        if self.paths.active.pipe.lost > 0 {
            self.hear(clock, config, Fact::Lost, facts);
        } else if rest == Rest::Everything {
            if facts.ece {
                self.hear(clock, config, Fact::EcnEcho, facts);
            }
            let missing = self.evidence() == State::LimitedTransmit;
            let fact = if missing {
                Fact::Missing
            } else {
                Fact::NothingMissing
            };
            self.hear(clock, config, fact, facts);
        }
        if !self.paths.parked().is_empty() {
            self.recover_parked(clock);
        }
    }

    /// The active path hears a fact.
    #[inline(always)] // most facts are known where they are heard, and most do nothing
    fn hear(&mut self, clock: &Clock, config: &Config, fact: Fact, facts: &mut Facts) -> Rest {
        let (action, rest) = transition(self.paths.active.recovery.state, fact, self.sack);
        if action != Action::Nothing {
            self.carry_out(clock, config, action, facts);
        }
        rest
    }

    /// The active path hears a fact that no ACK brings.
    pub(crate) fn hear_timer(&mut self, clock: &Clock, config: &Config, fact: Fact) {
        let mut none = Facts::none(self.una, self.nxt);
        self.hear(clock, config, fact, &mut none);
    }

    /// What an ACK says of the episode that the path is in, or of its last one.
    fn said_of_earlier_decisions(&mut self, facts: &Facts) -> Fact {
        if facts.reneged {
            return Fact::Reneged;
        }
        let recovery = &self.paths.active.recovery;
        let reach = recovery.reach(self.una, facts.progress);
        // RFC 3522, section 3.2, step 3, waits for an acceptable ACK, one that acknowledges something.
        let acceptable = reach != Reach::DuplicateAck;
        let eifel = || {
            acceptable
                .then(|| self.original_answered())
                .filter(|&a| a)?;
            let in_flight = self.board.sums().retransmitted > 0;
            Some(Evidence::Eifel { in_flight })
        };
        let dsack = || {
            recovery
                .reduction
                .undo
                .all_reported()
                .then_some(Evidence::Dsack)
        };
        let by = match recovery.state {
            State::Open | State::LimitedTransmit => dsack(),
            State::Cwr => None,
            State::FastRecovery => eifel().or_else(dsack),
            State::Timeout => match eifel().or_else(|| dsack().filter(|_| acceptable)) {
                None => return self.frto_fact(facts, reach),
                by => by,
            },
        };
        by.map_or(Fact::Ack(reach), |by| Fact::SpuriousReduction(by, reach))
    }

    fn frto_fact(&mut self, facts: &Facts, reach: Reach) -> Fact {
        let progress = Progress {
            recovered: matches!(reach, Reach::FullAck | Reach::PastPoint),
            beyond: self.sent_beyond_point(),
            new_data: self.has_unsent() && after(self.window_end(), self.nxt),
        };
        match self.frto.verdict(facts, progress) {
            Verdict::Spurious => {
                self.stats.frto_undos += 1;
                Fact::SpuriousReduction(Evidence::Frto, reach)
            }
            Verdict::SendNew => Fact::NewDataFirst,
            Verdict::Conventional => Fact::Ack(reach),
        }
    }

    /// Whether new data was sent since the active path's state began.
    pub(crate) fn sent_beyond_point(&self) -> bool {
        after(self.nxt, self.paths.active.recovery.point)
    }

    fn carry_out(&mut self, clock: &Clock, config: &Config, action: Action, facts: &mut Facts) {
        match action {
            Action::Nothing => {}
            Action::ForgetEpisode => self.eifel.forget(),
            Action::GiveGrace => {
                let ticks = linux::reneging_grace(clock, &self.paths.active.rtt);
                self.timer.set(clock, Purpose::Rto, ticks);
                facts.restart_timer = false;
            }
            Action::EndCwr => self.paths.active.complete_reduction(clock),
            Action::EndFastRecovery => self.end_fast_recovery(clock),
            Action::EndTimeout => {
                self.rack.recovery_over(false);
                self.end_timeout(clock);
            }
            Action::AwaitMore => {
                self.rack.recovery_over(false);
                self.await_more();
            }
            Action::UndoAndAwaitMore => {
                self.undo(clock, Reversal::WindowOnly);
                self.await_more();
            }
            Action::Repair => self.frto.retransmit = Retransmit::Lost,
            Action::AwaitRetransmissions => {
                self.note_reordering(facts.prior_una);
                self.frto.retransmit = Retransmit::Held;
            }
            Action::UndoAndJudgeAgain => {
                self.note_reordering(facts.prior_una);
                self.forget_repaired();
                self.undo(clock, Reversal::AndLosses);
                self.follow_evidence(clock);
            }
            Action::UndoWithin => {
                self.undo(clock, Reversal::AndReordering);
                self.follow_evidence(clock);
            }
            Action::UndoAtEnd => {
                self.undo(clock, Reversal::WindowOnly);
                self.paths.active.set_state(clock, State::Open);
            }
            Action::UndoLate => self.undo(clock, Reversal::AndReordering),
            Action::UndoTimeout { ends } => self.undo_timeout(clock, ends),
            Action::BeginFastRecovery => {
                self.enter_fast_recovery(clock, facts.ece);
                self.frto.retransmit = Retransmit::Lost;
            }
            Action::BeginCwr => self.enter_cwr(clock),
            Action::BeginTimeout { reduces, tests } => {
                self.begin_timeout(clock, config, reduces, tests);
            }
            Action::FollowEvidence(state) => {
                self.forget_repaired();
                self.come_to_rest(clock, state);
            }
            Action::ForgetRepaired => self.forget_repaired(),
        }
    }

    fn end_fast_recovery(&mut self, clock: &Clock) {
        self.rack.recovery_over(false);
        self.paths.active.complete_reduction(clock);
    }

    /// Without SACK, at the recovery point: what follows may be old duplicates.
    fn await_more(&mut self) {
        if self.paths.active.recovery.state == State::FastRecovery {
            self.count_duplicates(0);
        }
        self.forget_repaired();
    }

    /// The active path enters fast recovery.
    fn enter_fast_recovery(&mut self, clock: &Clock, ece: bool) {
        self.stats.recoveries += 1;
        let flight = self.flight();
        let path = &mut self.paths.active;
        if path.begin_fast_recovery(clock, flight, ece) {
            self.reduction_begun();
        }
    }

    /// The window is reduced for ECE.
    fn enter_cwr(&mut self, clock: &Clock) {
        self.stats.cwrs += 1;
        let path = &mut self.paths.active;
        path.recovery.reduction.undo.forget();
        path.begin_reduction(clock, self.nxt);
        path.set_state(clock, State::Cwr);
        self.reduction_begun();
    }

    /// Outside of an episode, what the scoreboard shows: limited transmit if anything is missing or sent again, else open.
    fn evidence(&self) -> State {
        let sums = self.board.sums();
        if sums.sacked + sums.lost > 0 || self.board.repairs() {
            State::LimitedTransmit
        } else {
            State::Open
        }
    }

    pub(crate) fn follow_evidence(&mut self, clock: &Clock) {
        self.come_to_rest(clock, self.evidence());
    }

    fn come_to_rest(&mut self, clock: &Clock, state: State) {
        let path = &mut self.paths.active;
        if path.recovery.state != state {
            path.set_state(clock, state);
            path.recovery.point = self.nxt;
        }
    }

    /// Paths that are not active hear of the losses that they are charged with, and of the end of their recovery.
    pub(crate) fn recover_parked(&mut self, clock: &Clock) {
        let flight = self.flight();
        for path in self.paths.parked() {
            let state = path.recovery.state;
            if state > State::LimitedTransmit && !before(flight.una, path.recovery.point) {
                if state == State::Timeout {
                    path.set_state(clock, State::Open);
                } else {
                    path.complete_reduction(clock);
                }
            }
            if path.pipe.lost > 0 && path.recovery.state < State::FastRecovery {
                self.stats.recoveries += 1;
                if path.begin_fast_recovery(clock, flight, false) {
                    path.reduce_at_once();
                }
            }
        }
    }

    /// PRR's step for one ACK.
    pub(crate) fn follow_prr(&mut self, delivered: u32, newly_lost: u32, progress: bool) {
        let in_flight = self.paths.in_flight();
        let path = &mut self.paths.active;
        if path.cc.steers() {
            return;
        }
        let step = Step {
            delivered,
            in_flight,
            ssthresh: path.window.ssthresh,
            safe: progress && newly_lost == 0,
        };
        if let Some(cwnd) = path.recovery.reduction.prr.window(step) {
            path.window.cwnd = cwnd;
        }
    }

    /// Whether timestamps say that the active path's reduction was needless.
    pub(crate) fn original_answered(&self) -> bool {
        let undo = &self.paths.active.recovery.reduction.undo;
        undo.original_answered(self.eifel.of(self.echoed))
    }

    /// Undoes the active path's reduction.
    pub(crate) fn undo(&mut self, clock: &Clock, reversal: Reversal) {
        match reversal {
            Reversal::WindowOnly => {}
            Reversal::AndLosses => self.board.unmark_lost(&mut self.paths),
            Reversal::AndReordering => self.rack.recovery_over(true),
        }
        let stands = self.paths.active.recovery.reduction.undo.is_forbidden();
        let left = self.paths.active.reverse(clock.jiffies);
        // A threshold that has returned leaves no reduction to tell the receiver of (RFC 3168, section 6.1.2).
        self.cwr_queued &= self.paths.active.window.ssthresh <= left.ssthresh;
        self.rack.judge_again();
        self.stats.undos += u32::from(!stands);
    }

    /// With no retransmission outstanding the next episode has a timestamp of its own.
    pub(crate) fn forget_repaired(&mut self) {
        if !self.board.repairs() {
            self.eifel.forget();
        }
    }
}
