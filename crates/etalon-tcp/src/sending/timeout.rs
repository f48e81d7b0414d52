//! The retransmission timer (RFC 6298, section 5): when it is set, and what follows when it expires.

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::Forced;
use crate::sending::Sender;
use crate::sending::episode::Flight;
use crate::sending::path::Path;
use crate::sending::rack::DUP_THRESH;
use crate::sending::recovery::{Fact, Reach};
use crate::sending::scoreboard::mark;
use crate::timers::{Clock, Purpose};

impl<C: CongestionControl> Path<C> {
    /// The retransmission timer expired while this path was active. `reduces`: the threshold falls.
    fn begin_timeout(&mut self, clock: &Clock, flight: Flight, reduces: bool) {
        if reduces {
            let ssthresh = self.remembered_ssthresh();
            self.recovery.reduction.undo.remember(ssthresh);
            self.recovery
                .reduction
                .undo
                .begin(flight.una, flight.retransmitted);
            self.recovery.reduction.prr.prior_cwnd = self.window.cwnd;
            // RFC 5681, section 3.1: "the value of ssthresh MUST be set to no more than the value given in equation (4)".
            self.window.ssthresh = self.cc.ssthresh(&self.window, clock.now).max(2);
        }
        self.window.cwnd = linux::loss_window(flight.in_flight);
        self.window.cwnd_count = 0;
        self.validation.used_at = clock.jiffies as u32;
        self.set_state(clock, State::Timeout);
        // RFC 6582, section 3.2, step 4: "record the highest sequence number transmitted in the variable recover".
        self.recovery.point = flight.nxt;
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Microseconds until the front of the scoreboard times out; `None` if that is past.
    pub(crate) fn us_until_rto(&self, clock: &Clock) -> Option<u64> {
        let front = self.board.front()?;
        let rto = clock.us_of_ticks(self.paths.active.rtt.rto_ticks());
        (front.sent() + rto)
            .checked_sub(clock.us)
            .filter(|&us| us > 0)
    }

    /// Sets the retransmission timer (RFC 6298, 5.1 to 5.3): a full timeout from now, or what is left of it if the timer
    /// served another purpose meanwhile.
    pub(crate) fn rearm_rto(&mut self, clock: &Clock) {
        if self.board.is_empty() {
            // "(5.2) When all outstanding data has been acknowledged, turn off the retransmission timer."
            if self.timer.purpose != Purpose::Persist {
                self.timer.clear();
            }
            return;
        }
        if matches!(self.timer.purpose, Purpose::Reordering | Purpose::LossProbe) {
            self.resume_rto(clock);
        } else {
            let ticks = self.paths.active.rtt.rto_ticks();
            self.timer.set(clock, Purpose::Rto, ticks);
        }
    }

    /// Sets the retransmission timer to what is left of the timeout since the front was sent: the timer served another
    /// purpose meanwhile, which is no news of the network.
    pub(crate) fn resume_rto(&mut self, clock: &Clock) {
        if self.board.is_empty() {
            return;
        }
        let ticks = clock.ticks_for_us(self.us_until_rto(clock).unwrap_or(1));
        self.timer.set(clock, Purpose::Rto, ticks);
    }

    /// The retransmission timer expired.
    pub(crate) fn on_rto(&mut self, clock: &Clock, config: &Config) {
        if self.board.is_empty() {
            return;
        }
        self.stats.rtos += 1;
        self.probe.forget();
        let recovery = &self.paths.active.recovery;
        let expired = Fact::RtoExpired {
            covered: !matches!(
                recovery.reach(self.una, false),
                Reach::DuplicateAck | Reach::PartialAck
            ),
            again: self.timeouts > 0,
        };
        self.hear_timer(clock, config, expired);
        self.timeouts += 1;
        // "(5.4) Retransmit the earliest segment that has not been acknowledged by the TCP receiver."
        self.forced = Some(Forced::Front);
        // "(5.5) The host MUST set RTO <- RTO * 2 ("back off the timer")."
        let rtt = &mut self.paths.active.rtt;
        rtt.back_off(clock, config);
        // "(5.6) Start the retransmission timer, such that it expires after RTO seconds."
        self.timer.set(clock, Purpose::Rto, rtt.rto_ticks());
    }

    pub(crate) fn enter_timeout(&mut self, clock: &Clock, config: &Config, reduces: bool) {
        let before = self.paths.active.recovery.state;
        self.mark_lost_at_timeout(clock, config);
        if before <= State::LimitedTransmit && self.board.sums().sacked >= DUP_THRESH {
            // Duplicates did not repair it: the degree of reordering was overestimated.
            self.rack.reordering.degree = self.rack.reordering.degree.min(DUP_THRESH);
        }
        let flight = self.flight();
        self.paths.active.begin_timeout(clock, flight, reduces);
        // RFC 5682, section 3.1, step 1: not if fast recovery went on, unless the timer has expired before.
        let fresh = !matches!(before, State::FastRecovery | State::Timeout);
        self.frto.begin(fresh || self.timeouts > 0);
        self.cwr_queued = self.ecn;
        self.recover_parked(clock);
    }

    /// RFC 8985, section 6.3: the front is lost, and what was sent long enough ago.
    fn mark_lost_at_timeout(&mut self, clock: &Clock, config: &Config) {
        let reneged = self.board.front().is_some_and(|r| r.has(mark::SACKED));
        if reneged {
            // RFC 2018, section 5: after a timeout "the data sender SHOULD turn off all of the SACKed bits".
            self.stats.reneged += 1;
            self.board.unmark_sacked(&mut self.paths);
            self.board.forget_reported();
        } else if !self.sack {
            self.count_duplicates(0);
        }
        let spares = self.sack && !reneged;
        let others = self.is_relaxed(config).then(|| self.relaxed_patience());
        for index in self.board.first()..self.board.end() {
            let front = index == self.board.first();
            let Some(record) = self.board.get(index) else {
                break;
            };
            let rtt = match &others {
                Some(others) => others.of(record.path),
                None => self.rack.rtt,
            };
            if spares && !front && linux::may_still_arrive(record, rtt, clock.us) {
                continue;
            }
            let lost = self.board.mark_lost(&mut self.paths, index);
            self.count_lost(lost);
        }
    }

    /// All that the timeout marked lost is repaired.
    pub(crate) fn end_timeout(&mut self, clock: &Clock) {
        self.paths.active.set_state(clock, State::Open);
        if !self.sack {
            // As on Linux: duplicates counted meanwhile may begin the next episode.
            self.newreno_detect(false);
        }
    }

    /// The timeout was spurious. `ends`: beyond doubt, so that its repair is over.
    pub(crate) fn undo_timeout(&mut self, clock: &Clock, ends: bool) {
        self.undo_and_unmark(clock);
        self.timeouts = 0;
        if ends {
            self.end_timeout(clock);
        }
    }
}
