// SPDX-License-Identifier: MIT OR Apache-2.0
//! The retransmission timer (RFC 6298, section 5): when it is set, and what follows when it expires.

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::Forced;
use crate::sending::Sender;
use crate::sending::episode::Flight;
use crate::sending::path::Path;
use crate::sending::recovery::{Fact, Reach};
use crate::sending::undo::Reversal;
use crate::timers::{Clock, Purpose};

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

    /// The retransmission timer expired. What follows for the path is the table's; this is the timer's own part.
    pub(crate) fn on_rto(&mut self, clock: &Clock, config: &Config) {
        if self.board.is_empty() {
            return;
        }
        self.stats.rtos += 1;
        let reach = self.paths.active.recovery.reach(self.una, false);
        let expired = Fact::RtoExpired {
            covered: matches!(reach, Reach::FullAck | Reach::PastPoint),
            again: self.timeouts > 0,
        };
        self.hear_timer(clock, config, expired);
        self.timeouts += 1;
        // "(5.4) Retransmit the earliest segment that has not been acknowledged by the TCP receiver."
        self.forced = Some(Forced::Front);
        // "(5.5) The host MUST set RTO <- RTO * 2 ("back off the timer")."
        self.paths.back_off();
        let rtt = &mut self.paths.active.rtt;
        rtt.back_off(clock, config);
        // "(5.6) Start the retransmission timer, such that it expires after RTO seconds."
        self.timer.set(clock, Purpose::Rto, rtt.rto_ticks());
    }

    /// The repair of a timeout begins. `reduces`: it counts as congestion; `tests`: it may turn out to be spurious.
    pub(crate) fn begin_timeout(
        &mut self,
        clock: &Clock,
        config: &Config,
        reduces: bool,
        tests: bool,
    ) {
        // What was on its way is judged first, by all that is known until now; windows follow from what is left of it.
        self.lose_at_timeout(clock, config);
        let flight = self.flight();
        let path = &mut self.paths.active;
        if reduces {
            path.reduce_for_timeout(clock, flight);
        }
        path.restart(clock, flight);
        self.frto.begin(tests);
        // RFC 3168, section 6.1.2: the window was reduced, of which the receiver hears by CWR.
        self.cwr_queued = self.ecn;
        self.probe.forget();
        self.recover_parked(clock);
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
        self.undo(clock, Reversal::AndLosses);
        self.timeouts = 0;
        if ends {
            self.end_timeout(clock);
        }
    }
}

impl<C: CongestionControl> Path<C> {
    /// RFC 5681, section 3.1: "the value of ssthresh MUST be set to no more than the value given in equation (4)"; remembered, in case
    /// that the timeout was spurious.
    fn reduce_for_timeout(&mut self, clock: &Clock, flight: Flight) {
        let remembered = self.remembered_ssthresh();
        let reduction = &mut *self.recovery.reduction;
        reduction.undo.remember(remembered);
        reduction.undo.begin(flight.una, flight.retransmitted);
        reduction.prr.recover_fs = self.window.cwnd;
        self.window.ssthresh = self.cc.ssthresh(&self.window, clock.now).max(2);
    }

    /// Slow start from the loss window, until what was outstanding is acknowledged: RFC 6582, section 3.2, step 4: "record the highest
    /// sequence number transmitted in the variable recover".
    fn restart(&mut self, clock: &Clock, flight: Flight) {
        self.recovery.point = flight.nxt;
        self.set_state(clock, State::Timeout);
        self.window.cwnd = linux::loss_window(flight.in_flight);
        self.window.cwnd_count = 0;
        self.validation.used_at = clock.jiffies as u32;
    }
}
