// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done with an acknowledgement: RFC 9293, section 3.10.7.4, fifth step, and then who hears the facts that it holds.
//!
//! They are heard in this order, since each may change what the next is asked of: who only measures (rate samples, the congestion
//! control's [`on_ack`](CongestionControl::on_ack)) hears them before anything is decided; the loss probe and recovery decide
//! (`recovery.rs` has the order among them); the timer is set for what is outstanding after that; and the window moves last, by
//! the rule of the state that the path is in by then.

use crate::Config;
use crate::cc::{Ack, CongestionControl, Report, State};
use crate::linux;
use crate::segment::{Flags, Segment};
use crate::sending::Sender;
use crate::sending::digest::{Acknowledged, RttSample};
use crate::sending::facts::Facts;
use crate::sending::frto::Retransmit;
use crate::seq::{after, before};
use crate::timers::{Clock, Purpose};

/// The active path's counters before an ACK.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// Segments delivered, and lost.
    delivered: u64,
    lost: u32,
}

impl<C: CongestionControl> Sender<C> {
    /// Takes the acknowledgement in `segment`. `mss`: payload of a full segment that we could send now.
    #[inline(always)] // its only call; most end here that only receive
    pub(crate) fn on_ack(&mut self, clock: &Clock, config: &Config, mss: u32, segment: &Segment) {
        // There is nothing to acknowledge.
        if segment.ack == self.una && segment.rare.blocks().is_empty() && self.is_idle() {
            if self.ecn {
                self.stats.ece_received += u64::from(segment.flags.contains(Flags::ECE));
                self.observe_idle(clock);
            }
            self.frto.retransmit = Retransmit::Lost;
            self.board.forget_reported();
            self.update_window(segment, false);
            return;
        }
        self.take_ack(clock, config, mss, segment);
    }

    /// Nothing is outstanding: for DCTCP, as Linux has it, what arrives ends a window of observation, but for the ACK that completes
    /// a handshake.
    #[inline(never)]
    fn observe_idle(&mut self, clock: &Clock) {
        let opens = std::mem::take(&mut self.opens);
        if self.dctcp && !opens {
            let path = &mut self.paths.active;
            let ack = Ack {
                now: clock.now,
                jiffies: clock.jiffies,
                prior_una: self.una,
                una: self.una,
                nxt: self.nxt,
                hz: clock.hz,
                ..Ack::default()
            };
            path.cc.on_ack(&mut path.window, &ack);
        }
    }

    fn take_ack(&mut self, clock: &Clock, config: &Config, mss: u32, segment: &Segment) {
        let (ack, prior_una) = (segment.ack, self.una);
        let ece_flag = segment.flags.contains(Flags::ECE);
        if ece_flag && self.ecn {
            self.stats.ece_received += 1;
        }
        if config.tdtcp.is_some() {
            self.hear_tdns(segment);
        }
        let mut facts = Facts::of(segment, prior_una, self.nxt, self.ecn);
        // "If the ACK is a duplicate (SEG.ACK =< SND.UNA), it can be ignored": but for SACKs, which may be news.
        if before(ack, prior_una) {
            if self.sack && !segment.rare.blocks().is_empty() {
                self.take_sacks(clock, segment, &mut facts);
                self.recover(clock, config, &mut facts);
            }
            return;
        }
        self.frto.retransmit = Retransmit::Lost;
        if self.board.is_empty() {
            self.on_ack_of_nothing(clock, config, mss, segment, &mut facts);
            return;
        }
        let path = &self.paths.active;
        let before = Before {
            delivered: path.delivered,
            lost: path.lost,
        };
        let prior_high = self.board.highest_sacked(prior_una);
        self.advance(segment, &mut facts);
        self.take_selective(clock, segment, &mut facts);
        let mut covered = Acknowledged::none(self.nxt);
        self.take_cumulative(clock, &mut facts, &mut covered, ack);
        let rtt = self.conclude(clock, config, &mut facts, &covered, prior_high);
        self.tell(clock, config, &mut facts, rtt, ece_flag, before);
    }

    /// "If SND.UNA < SEG.ACK =< SND.NXT, then set SND.UNA <- SEG.ACK. [...] If SND.UNA =< SEG.ACK =< SND.NXT, the send window
    /// should be updated."
    #[inline]
    fn advance(&mut self, segment: &Segment, facts: &mut Facts) {
        if self.program.is_some() {
            self.forget_chunks(segment.ack);
        }
        self.una = segment.ack;
        if facts.progress {
            self.timeouts = 0;
        }
        facts.window_update = self.update_window(segment, facts.progress);
    }

    #[inline]
    fn take_selective(&mut self, clock: &Clock, segment: &Segment, facts: &mut Facts) {
        if self.sack && !segment.rare.blocks().is_empty() {
            self.take_sacks(clock, segment, facts);
        } else {
            self.board.forget_reported();
        }
    }

    /// Nothing is outstanding, so that there is nothing to acknowledge: the segment may open the window, and it may report duplicates of what
    /// was repaired before.
    #[cold]
    fn on_ack_of_nothing(
        &mut self,
        clock: &Clock,
        config: &Config,
        mss: u32,
        segment: &Segment,
        facts: &mut Facts,
    ) {
        self.observe_idle(clock);
        self.advance(segment, facts);
        self.window_heard(clock, config, mss, facts.carries_data);
        self.take_selective(clock, segment, facts);
        if facts.reported {
            self.recover(clock, config, facts);
        }
        self.hear_probe(clock, segment.ack, false, facts);
    }

    /// Tells the facts to all that they concern. `before`: the active path's counters before the ACK.
    #[inline(always)] // its only call
    fn tell(
        &mut self,
        clock: &Clock,
        config: &Config,
        facts: &mut Facts,
        rtt: Option<RttSample>,
        ece_flag: bool,
        before: Before,
    ) {
        let path = &mut self.paths.active;
        let mut ack = Ack {
            now: clock.now,
            jiffies: clock.jiffies,
            acked: facts.acked,
            delivered: (path.delivered - before.delivered) as u32,
            rtt: rtt.map(|rtt| rtt.last_ns),
            srtt: path.srtt(),
            cwnd_limited: false,
            ece: ece_flag && (self.ecn || self.reads_ece),
            prior_una: facts.prior_una,
            una: self.una,
            nxt: self.nxt,
            hz: clock.hz,
        };
        if path.rate.is_some() {
            path.sample_rate(clock.now);
        }
        path.cc.on_ack(&mut path.window, &ack);
        self.decide(clock, config, facts, ack.delivered > 0);
        if facts.restart_timer {
            self.set_transmit_timer(clock, config);
        }
        let path = &mut self.paths.active;
        ack.delivered = (path.delivered - before.delivered) as u32;
        if path.rate.is_some() && self.steer(clock, config, &ack, before) {
            return;
        }
        let path = &mut self.paths.active;
        if path.recovery.reduces() {
            let newly_lost = path.lost - before.lost;
            self.follow_prr(ack.delivered, newly_lost, facts.progress);
            self.bound_window(config);
        } else if facts.acked > 0
            || (facts.sacked && linux::sacks_grow_the_window(self.rack.reordering.degree))
        {
            self.grow(clock, config, &mut ack);
        } else {
            self.bound_window(config);
        }
    }

    /// A control that steers sets the window. Returns whether it is one.
    #[cold]
    fn steer(&mut self, clock: &Clock, config: &Config, ack: &Ack, before: Before) -> bool {
        let in_flight = self.paths.in_flight();
        let path = &mut self.paths.active;
        if !path.cc.steers() {
            return false;
        }
        let report = Report {
            now: clock.now,
            delivered: ack.delivered,
            lost: path.lost - before.lost,
            total_delivered: path.delivered,
            in_flight,
            rtt: ack.rtt,
            state: path.recovery.state,
        };
        path.cc.steer(&mut path.window, &report);
        self.note_growth(clock, config);
        true
    }

    /// The window may grow by what an ACK delivers.
    #[inline(always)] // in two places, of which one is rare
    pub(crate) fn grow(&mut self, clock: &Clock, config: &Config, ack: &mut Ack) {
        let path = &mut self.paths.active;
        ack.cwnd_limited = path.cwnd_limited();
        path.cc.increase(&mut path.window, ack);
        self.note_growth(clock, config);
    }

    /// The window may have grown.
    #[inline(always)] // as above
    pub(crate) fn note_growth(&mut self, clock: &Clock, config: &Config) {
        self.paths.active.validation.used_at = clock.jiffies as u32;
        self.bound_window(config);
    }

    #[inline]
    fn bound_window(&mut self, config: &Config) {
        let window = &mut self.paths.active.window;
        window.cwnd = window.cwnd.min(config.max_cwnd);
    }

    /// The loss probe and recovery hear the facts. Data that arrives in order while nothing is amiss leaves nothing to decide. `delivered`:
    /// something that was sent on the active path is.
    #[inline]
    fn decide(&mut self, clock: &Clock, config: &Config, facts: &mut Facts, delivered: bool) {
        let bare = facts.is_bare();
        if self.rack.dsack
            && (facts.acked > 0 || facts.sacked)
            && (delivered || self.paths.is_only_one())
        {
            self.rack.widen(clock.us);
        }
        if self.probe.is_out() {
            let pure_duplicate = bare && !facts.progress && !facts.sacked;
            self.hear_probe(clock, self.una, pure_duplicate, facts);
        }
        if bare
            || facts.sacked
            || facts.ece
            || facts.reported
            || self.paths.active.recovery.state != State::Open
        {
            facts.duplicate = bare && !facts.progress && !facts.reported;
            self.recover(clock, config, facts);
        }
    }

    /// Nothing is in flight and nothing waits to be: so it is at the end that only receives.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.board.is_empty()
            && !self.has_unsent()
            && !self.program_waits()
            && !self.probe.is_out()
            && self.timer.purpose == Purpose::None
    }

    /// Takes the peer's window. Returns whether the segment was the latest to tell it: "(SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and
    /// SND.WL2 =< SEG.ACK))".
    #[inline(always)] // for every packet; its calls cost as much as its work
    pub(crate) fn update_window(&mut self, segment: &Segment, progress: bool) -> bool {
        let window = u32::from(segment.window) << self.peer_scale;
        let newer = progress
            || after(segment.seq, self.window_seq)
            || (segment.seq == self.window_seq && window > self.window);
        if newer {
            self.window_seq = segment.seq;
            if window != self.window {
                self.window = window;
                self.max_window = self.max_window.max(window);
            }
        }
        newer
    }

    /// Sets the loss probe's timer, or else the retransmission timer.
    #[inline]
    pub(crate) fn set_transmit_timer(&mut self, clock: &Clock, config: &Config) {
        if !self.schedule_loss_probe(clock, config, true) {
            self.rearm_rto(clock);
        }
    }
}

#[cfg(test)]
mod tests;
