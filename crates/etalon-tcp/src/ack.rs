//! What is done with an acknowledgement: RFC 9293, section 3.10.7.4, fifth step, and then who hears the facts that it holds.
//!
//! They are heard in this order, since each may change what the next is asked of: who only measures (rate samples, the congestion
//! control's [`on_ack`](CongestionControl::on_ack)) hears them before anything is decided; the loss probe and recovery decide
//! (`recovery.rs` has the order among them); the timer is set for what is outstanding after that; and the window moves last, by
//! the rule of the state that the path is in by then.

use crate::cc::{Ack, CongestionControl, State};
use crate::connection::Connection;
use crate::digest::{Covered, Facts, RttSample};
use crate::frto::Retransmit;
use crate::linux;
use crate::segment::{Flags, Segment};
use crate::seq::{after, before};
use crate::timers::Purpose;

/// The active path's counters before an ACK.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// Segments delivered, and lost.
    delivered: u64,
    lost: u64,
}

impl<C: CongestionControl> Connection<C> {
    /// Takes the acknowledgement in `segment`.
    #[inline(always)] // its only call; most end here that only receive
    pub(crate) fn on_ack(&mut self, segment: &Segment) {
        // There is nothing to acknowledge.
        if segment.ack == self.snd.una && segment.rare.blocks().is_empty() && self.is_idle() {
            if self.snd.ecn {
                self.stats.sender.ece_received += u64::from(segment.flags.contains(Flags::ECE));
                self.observe_idle();
            }
            self.frto.retransmit = Retransmit::Lost;
            self.snd.board.forget_reported();
            self.update_window(segment, false);
            return;
        }
        self.take_ack(segment);
    }

    /// Nothing is outstanding: for DCTCP, as Linux has it, what arrives ends a window of observation, but for the ACK that completes
    /// a handshake.
    #[inline(never)]
    fn observe_idle(&mut self) {
        let opens = std::mem::take(&mut self.opens);
        if self.rcv.dctcp && !opens {
            let path = &mut self.paths.active;
            let ack = Ack {
                now: self.clock.now,
                jiffies: self.clock.jiffies,
                prior_una: self.snd.una,
                una: self.snd.una,
                nxt: self.snd.nxt,
                hz: self.clock.hz,
                ..Ack::default()
            };
            path.cc.on_ack(&mut path.window, &ack);
        }
    }

    fn take_ack(&mut self, segment: &Segment) {
        let (ack, prior_una) = (segment.ack, self.snd.una);
        let ece_flag = segment.flags.contains(Flags::ECE);
        if ece_flag && self.snd.ecn {
            self.stats.sender.ece_received += 1;
        }
        if self.config.tdtcp.is_some() {
            self.hear_tdns(segment);
        }
        let mut facts = Facts::of(segment, prior_una, self.snd.nxt, self.snd.ecn);
        // "If the ACK is a duplicate (SEG.ACK =< SND.UNA), it can be ignored": but for SACKs, which may be news.
        if before(ack, prior_una) {
            if self.snd.sack && !segment.rare.blocks().is_empty() {
                self.take_sacks(segment, &mut facts);
                self.recover(&mut facts);
            }
            return;
        }
        self.frto.retransmit = Retransmit::Lost;
        if self.snd.board.is_empty() {
            self.on_ack_of_nothing(segment, &mut facts);
            return;
        }
        let path = &self.paths.active;
        let before = Before {
            delivered: path.delivered,
            lost: path.lost,
        };
        let prior_high = self.snd.board.highest_sacked(prior_una);
        self.advance(segment, &mut facts);
        self.take_selective(segment, &mut facts);
        let mut covered = Covered::none(self.snd.nxt);
        self.take_cumulative(&mut facts, &mut covered, ack);
        let rtt = self.conclude(&mut facts, &covered, prior_high);
        self.tell(&mut facts, rtt, ece_flag, before);
    }

    /// "If SND.UNA < SEG.ACK =< SND.NXT, then set SND.UNA <- SEG.ACK. [...] If SND.UNA =< SEG.ACK =< SND.NXT, the send window
    /// should be updated."
    #[inline]
    fn advance(&mut self, segment: &Segment, facts: &mut Facts) {
        self.snd.una = segment.ack;
        if facts.progress {
            self.snd.timeouts = 0;
        }
        facts.window_update = self.update_window(segment, facts.progress);
    }

    #[inline]
    fn take_selective(&mut self, segment: &Segment, facts: &mut Facts) {
        if self.snd.sack && !segment.rare.blocks().is_empty() {
            self.take_sacks(segment, facts);
        } else {
            self.snd.board.forget_reported();
        }
    }

    /// Nothing is outstanding.
    #[cold]
    fn on_ack_of_nothing(&mut self, segment: &Segment, facts: &mut Facts) {
        self.observe_idle();
        self.advance(segment, facts);
        self.take_selective(segment, facts);
        if facts.reported {
            self.recover(facts);
        }
        if self.next_len().is_some() {
            self.snd.persist_backoff = 0;
        }
        self.check_persist();
        self.hear_probe(segment.ack, false, facts);
    }

    /// Tells the facts to all that they concern. `before`: the active path's counters before the ACK.
    #[inline(always)] // its only call
    fn tell(&mut self, facts: &mut Facts, rtt: Option<RttSample>, ece_flag: bool, before: Before) {
        let path = &mut self.paths.active;
        let mut ack = Ack {
            now: self.clock.now,
            jiffies: self.clock.jiffies,
            acked: facts.acked,
            delivered: (path.delivered - before.delivered) as u32,
            rtt: rtt.map(|rtt| rtt.last * 1000),
            srtt: path.srtt(),
            cwnd_limited: false,
            ece: ece_flag && (self.snd.ecn || self.reads_ece),
            prior_una: facts.prior_una,
            una: self.snd.una,
            nxt: self.snd.nxt,
            hz: self.clock.hz,
        };
        if path.rate.is_some() {
            path.sample_rate(self.clock.now);
        }
        path.cc.on_ack(&mut path.window, &ack);
        self.decide(facts);
        if facts.restart_timer {
            self.set_transmit_timer();
        }
        let path = &mut self.paths.active;
        ack.delivered = (path.delivered - before.delivered) as u32;
        if path.recovery.reduces() {
            let newly_lost = path.lost - before.lost;
            self.follow_prr(ack.delivered, newly_lost, facts.progress);
            self.bound_window();
        } else if facts.acked > 0
            || (facts.sacked && linux::sacks_grow_the_window(self.rack.reordering.degree))
        {
            self.grow(&mut ack);
        } else {
            self.bound_window();
        }
    }

    /// The window may grow by what an ACK delivers.
    #[inline(always)] // in two places, of which one is rare
    pub(crate) fn grow(&mut self, ack: &mut Ack) {
        let path = &mut self.paths.active;
        ack.cwnd_limited = path.cwnd_limited();
        path.cc.increase(&mut path.window, ack);
        self.note_growth();
    }

    /// The window may have grown.
    #[inline(always)] // as above
    pub(crate) fn note_growth(&mut self) {
        self.paths.active.validation.used_at = self.clock.jiffies as u32;
        self.bound_window();
    }

    #[inline]
    fn bound_window(&mut self) {
        let window = &mut self.paths.active.window;
        window.cwnd = window.cwnd.min(self.config.max_cwnd);
    }

    /// The loss probe and recovery hear the facts. Data that arrives in order while nothing is amiss leaves nothing to decide.
    #[inline]
    fn decide(&mut self, facts: &mut Facts) {
        let bare = facts.is_bare();
        if self.probe.is_out() {
            let pure_duplicate = bare && !facts.progress && !facts.sacked;
            self.hear_probe(self.snd.una, pure_duplicate, facts);
        }
        if bare
            || facts.sacked
            || facts.ece
            || facts.reported
            || self.paths.active.recovery.state != State::Open
        {
            facts.duplicate = bare && !facts.progress && !facts.reported;
            self.recover(facts);
        }
    }

    /// Nothing is in flight and nothing waits to be: so it is at the end that only receives.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.snd.board.is_empty()
            && !self.snd.has_unsent()
            && !self.probe.is_out()
            && self.timer.purpose == Purpose::None
    }

    /// Takes the peer's window. Returns whether the segment was the latest to tell it: "(SND.WL1 < SEG.SEQ or (SND.WL1 = SEG.SEQ and
    /// SND.WL2 =< SEG.ACK))".
    #[inline(always)] // for every packet; its calls cost as much as its work
    pub(crate) fn update_window(&mut self, segment: &Segment, progress: bool) -> bool {
        let window = u32::from(segment.window) << self.snd.peer_scale;
        let newer = progress
            || after(segment.seq, self.snd.window_seq)
            || (segment.seq == self.snd.window_seq && window > self.snd.window);
        if newer {
            self.snd.window_seq = segment.seq;
            if window != self.snd.window {
                self.snd.window = window;
                self.snd.max_window = self.snd.max_window.max(window);
            }
        }
        newer
    }

    /// Sets the loss probe's timer, or else the retransmission timer.
    #[inline]
    pub(crate) fn set_transmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }
}
