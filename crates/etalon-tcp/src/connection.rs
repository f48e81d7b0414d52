// SPDX-License-Identifier: MIT OR Apache-2.0
//! The connection: what it does with a segment or a timer. What its owner asks of it: `calls.rs`, `transmit.rs`.

use crate::Config;
use crate::cc::CongestionControl;
use crate::linux;
use crate::mptcp::Subflow;
use crate::prediction::Prediction;
use crate::receiving::{Marks, PriorAck, Receiver};
use crate::segment::{Flags, Segment};
use crate::sending::{Fin, Sender};
use crate::seq::{after, before};
use crate::stats::Tally;
use crate::timers::{Clock, Purpose};
use std::sync::Arc;

/// States of a connection (RFC 9293, 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Waits for a SYN.
    Listen,
    /// SYN sent or about to be.
    SynSent,
    /// SYN received, SYN-ACK sent or about to be.
    SynReceived,
    /// Open both ways.
    Established,
    /// FIN sent.
    FinWait1,
    /// FIN sent and acknowledged.
    FinWait2,
    /// FIN received.
    CloseWait,
    /// FIN sent and received, ours not acknowledged.
    Closing,
    /// FIN received, then sent.
    LastAck,
    /// Closed both ways; old duplicates die out.
    TimeWait,
    /// Over.
    Closed,
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both sides sent FIN, and both were acknowledged.
    Finished,
    /// The peer answered our SYN with RST.
    Refused,
    /// The peer sent RST.
    Reset,
    /// [`Connection::abort`] was called.
    Aborted,
}

/// One TCP endpoint of one connection.
///
/// The owner calls [`on_segment`](Connection::on_segment) for each segment that arrives,
/// [`on_timer`](Connection::on_timer) when [`next_timer`](Connection::next_timer) has come, and after each of these and after
/// each call of the application's side [`poll_transmit`](Connection::poll_transmit) until it yields nothing. Times are
/// nanoseconds of host time and must not go back.
#[derive(Clone, Debug)]
pub struct Connection<C> {
    /// As it was asked for, but that `tdtcp` is none once the peer has declined it. Connections share it until one changes its own.
    pub(crate) config: Arc<Config>,
    /// What it has as a subflow of MPTCP, if it is one.
    pub(crate) subflow: Option<Box<Subflow>>,
    pub(crate) clock: Clock,
    pub(crate) state: ConnectionState,
    pub(crate) close_reason: Option<CloseReason>,
    pub(crate) snd: Sender<C>,
    pub(crate) rcv: Receiver,
    pub(crate) stats: Tally,
    /// What may be due, and what is expected next.
    pub(crate) prediction: Prediction,
    pub(crate) syn_due: bool,
    pub(crate) syn_sent_at: u64,
    pub(crate) syns_sent: u32,
    pub(crate) peer_scales: bool,
    pub(crate) ack_before_data: bool,
    /// RST that is to go out: apart, since few connections send one.
    pub(crate) rst_due: Option<Box<Segment>>,
    pub(crate) fin_received: bool,
    /// When a segment without payload that was not acceptable was answered last, in ticks.
    answered_invalid: u32,
}

impl<C: CongestionControl> Connection<C> {
    fn new(config: Arc<Config>, cc: C, state: ConnectionState) -> Connection<C> {
        let clock = Clock::new(config.hz);
        let mut rcv = Receiver::new(&config, &clock);
        rcv.dctcp = cc.wants_dctcp_feedback();
        Connection {
            snd: Sender::new(&config, &clock, cc),
            rcv,
            state,
            close_reason: None,
            stats: Tally::default(),
            prediction: Prediction::Open,
            syn_due: state == ConnectionState::SynSent,
            syn_sent_at: 0,
            syns_sent: 0,
            peer_scales: false,
            ack_before_data: false,
            rst_due: None,
            fin_received: false,
            answered_invalid: u32::MAX / 2,
            clock,
            subflow: config.mptcp.map(|mptcp| Box::new(Subflow::new(mptcp))),
            config,
        }
    }

    /// An endpoint that opens the connection: the first [`poll_transmit`](Connection::poll_transmit) yields the SYN.
    pub fn client(config: impl Into<Arc<Config>>, cc: C) -> Connection<C> {
        Connection::new(config.into(), cc, ConnectionState::SynSent)
    }

    /// An endpoint that answers the first SYN.
    pub fn server(config: impl Into<Arc<Config>>, cc: C) -> Connection<C> {
        Connection::new(config.into(), cc, ConnectionState::Listen)
    }

    /// The same with `seq` as its initial sequence number, which connections that share a configuration do not have in common.
    #[must_use]
    pub fn starting_at(mut self, seq: u32) -> Connection<C> {
        self.snd.start_at(seq);
        self
    }

    /// A segment arrived at `now`.
    #[inline(always)] // all that comes in goes through it
    pub fn on_segment(&mut self, now: u64, segment: &Segment) {
        self.clock.advance(now);
        if segment.ce {
            self.rcv.stats.ce_received += 1;
        }
        if self.predicts(segment) && self.take_predicted(segment) {
            return;
        }
        self.take_generally(segment);
    }

    /// Takes a segment that was not predicted: apart, so that what is takes no more registers than it needs.
    #[inline(never)]
    fn take_generally(&mut self, segment: &Segment) {
        match segment.len {
            0 => self.stats.others_received += 1,
            _ => self.stats.data_segments_received += 1,
        }
        self.prediction = Prediction::Open;
        if self.exchanges_data() || self.handshake(segment) {
            self.on_segment_synchronised(segment);
        }
    }

    /// Past the handshake, and not closed.
    #[inline]
    pub(crate) fn exchanges_data(&self) -> bool {
        !matches!(
            self.state,
            ConnectionState::Listen
                | ConnectionState::SynSent
                | ConnectionState::SynReceived
                | ConnectionState::Closed
        )
    }

    /// A segment for a connection that is not open. Returns whether it opened it and is now to be taken as usual.
    #[cold]
    fn handshake(&mut self, segment: &Segment) -> bool {
        match self.state {
            ConnectionState::Listen => self.on_segment_listen(segment),
            ConnectionState::SynSent => self.on_segment_syn_sent(segment),
            ConnectionState::SynReceived => {
                if segment.flags.contains(Flags::RST) {
                    self.close(CloseReason::Reset);
                } else {
                    return self.completes_handshake(segment);
                }
            }
            _ => self.refuse(segment),
        }
        false
    }

    #[inline(always)]
    fn on_segment_synchronised(&mut self, segment: &Segment) {
        let end = segment.seq.wrapping_add(segment.seq_len());
        let echoed_before = self.snd.echoed;
        if !self.take_timestamps(segment) {
            self.rcv.stats.paws_drops += 1;
            self.answer_invalid(segment, end);
            return;
        }
        if !self.rcv.acceptable(segment.seq, end) {
            if !segment.flags.contains(Flags::RST) {
                self.answer_invalid(segment, end);
            }
            return;
        }
        if segment.flags.0 & (Flags::RST | Flags::SYN | Flags::ACK).0 != Flags::ACK.0 {
            self.on_odd_flags(segment);
            return;
        }
        if !self.acknowledges_what_was_sent(segment) {
            return;
        }
        if self.snd.timestamps {
            self.note_timestamp(segment);
        }
        if self.state == ConnectionState::TimeWait && segment.flags.contains(Flags::FIN) {
            self.enter_time_wait();
        }
        let mss = self.current_mss();
        self.snd.on_ack(&self.clock, &self.config, mss, segment);
        self.after_ack();
        if self.state == ConnectionState::Closed {
            return;
        }
        if self.subflow.is_some() {
            self.hear_mptcp(segment);
        }
        if segment.seq_len() > 0 {
            let len = u32::from(segment.len);
            self.rcv
                .note_echo(&self.clock, len, self.snd.echoed, echoed_before);
            self.on_payload(segment);
        }
    }

    /// Whether the acknowledgement number may be one of ours. What was never sent is ignored, which RFC 5961 (section 5) would answer, and
    /// what is older than the peer's largest window, or the connection, is answered ("MUST be discarded and an ACK sent back").
    #[inline]
    fn acknowledges_what_was_sent(&mut self, segment: &Segment) -> bool {
        if !before(segment.ack, self.snd.una) {
            let sent = !after(segment.ack, self.snd.nxt);
            if !sent {
                self.answer_unsent();
            }
            return sent;
        }
        let age = u64::from(self.snd.una.wrapping_sub(segment.ack));
        let valid = age <= u64::from(self.snd.max_window).min(self.snd.bytes_acked);
        if !valid && self.may_answer_invalid() {
            self.rcv.force_ack();
        }
        valid
    }

    /// A segment that is not acceptable is acknowledged (RFC 9293, 3.10.7.4).
    #[cold]
    fn answer_invalid(&mut self, segment: &Segment, end: u32) {
        if segment.seq_len() > 0 || self.may_answer_invalid() {
            self.rcv.out_of_window(segment.seq, end);
        }
    }

    /// What was never sent is acknowledged: answered only once the program has no more to write, as on Linux.
    #[cold]
    fn answer_unsent(&mut self) {
        if self.snd.fin != Fin::None && self.may_answer_invalid() {
            self.rcv.force_ack();
        }
    }

    /// Without payload not again within half a second.
    fn may_answer_invalid(&mut self) -> bool {
        let since = (self.clock.jiffies as u32).wrapping_sub(self.answered_invalid);
        let may = u64::from(since) >= self.clock.ticks_for_ns(linux::INVALID_INTERVAL);
        if may {
            self.answered_invalid = self.clock.jiffies as u32;
        }
        may
    }

    /// An acceptable segment that resets the connection, or does not belong to it.
    #[cold]
    fn on_odd_flags(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            if segment.seq == self.rcv.nxt {
                self.close(CloseReason::Reset);
            } else {
                self.rcv.force_ack();
            }
        } else if segment.flags.contains(Flags::SYN) {
            // Our ACK of the SYN-ACK was lost, or an old duplicate (RFC 5961).
            self.rcv.force_ack();
        }
    }

    /// Timestamps and PAWS (RFC 7323, section 5). Returns whether the segment is acceptable.
    #[inline]
    fn take_timestamps(&mut self, segment: &Segment) -> bool {
        self.snd.echoed = 0;
        if !self.snd.timestamps {
            return true;
        }
        let Some((value, echo)) = segment.timestamps else {
            return true;
        };
        self.snd.echoed = echo;
        if !before(value, self.rcv.ts_recent) || segment.flags.contains(Flags::RST) {
            return true;
        }
        // One tick may be an accident of reordering. After 24 idle days the clock may have wrapped. A reordered pure ACK
        // does no harm and need not be answered.
        let old = self.rcv.ts_recent.wrapping_sub(value);
        let idle = self.clock.us - self.rcv.ts_recent_at;
        let reordered_ack = segment.seq_len() == 0
            && segment.seq == self.rcv.nxt
            && segment.ack == self.snd.una
            && u64::from(old)
                <= self
                    .clock
                    .us_of_ticks(self.snd.paths.active.rtt.rto_ticks())
                    / 1000;
        old <= 1 || idle > 24 * 86_400 * 1_000_000 || reordered_ack
    }

    /// RFC 7323, section 4.3: the timestamp that is echoed, of a segment that is not newer than what was acknowledged last.
    #[inline]
    fn note_timestamp(&mut self, segment: &Segment) {
        let Some((value, _)) = segment.timestamps else {
            return;
        };
        if !after(segment.seq, self.rcv.acked_up_to) && !before(value, self.rcv.ts_recent) {
            self.rcv.ts_recent = value;
            self.rcv.ts_recent_at = self.clock.us;
        }
    }

    fn on_payload(&mut self, segment: &Segment) {
        let len = u32::from(segment.len);
        let rto = self.snd.paths.receivers_rtt().rto_ticks();
        let cwr = segment.flags.contains(Flags::CWR);
        let marks = Marks {
            ce: segment.ce,
            ect: segment.ect,
            cwr,
        };
        if !self
            .rcv
            .receive(&self.clock, segment.seq, len, segment.flags, marks, rto)
        {
            self.rcv.stats.out_of_order += u64::from(after(segment.seq, self.rcv.nxt));
            if self.snd.timer.purpose == Purpose::Persist {
                let mss = self.current_mss();
                self.snd.window_heard(&self.clock, &self.config, mss, false);
            }
        }
        let ends = self.rcv.fin_reached() && !self.fin_received;
        if ends {
            self.on_fin();
        }
        self.rcv
            .schedule(&self.clock, self.snd.paths.receivers_rtt().srtt());
        if ends && self.config.auto_close {
            self.follow_peer();
        }
    }

    /// The time that [`next_timer`](Connection::next_timer) gave has come. A call before it is harmless.
    pub fn on_timer(&mut self, now: u64) {
        let due = self.next_timer();
        self.clock.advance(now);
        if now < due {
            return;
        }
        self.prediction = Prediction::Open;
        if self.rcv.acks.timer.deadline <= now
            && self
                .rcv
                .acks
                .timer_fired(self.snd.paths.receivers_rtt().rto_ticks())
        {
            self.rcv.stats.delayed_acks += 1;
        }
        if self.rcv.held_back_until() <= now {
            self.rcv.waiting.prior_ack = Some(PriorAck::HeldBack);
        }
        if self.snd.timer.deadline <= now {
            let purpose = self.snd.timer.purpose;
            self.snd.timer.clear();
            match (self.state, purpose) {
                (_, Purpose::TimeWait) => self.close(CloseReason::Finished),
                (ConnectionState::SynSent | ConnectionState::SynReceived, _) => {
                    self.on_syn_timeout();
                }
                (_, Purpose::Rto) if self.repeats_join() || self.repeats_data_fin() => {}
                (_, Purpose::Rto) => self.snd.on_rto(&self.clock, &self.config),
                (_, Purpose::LossProbe) => self.snd.on_loss_probe_timer(&self.clock),
                (_, Purpose::Reordering) => self.snd.on_reordering_timer(&self.clock, &self.config),
                (_, Purpose::Persist) => self.snd.on_persist_timer(),
                (_, Purpose::None) => {}
            }
        }
    }

    /// Whether [`next_timer`](Connection::next_timer) comes before `time`.
    #[inline]
    pub fn has_timer_before(&self, time: u64) -> bool {
        self.snd.timer.deadline < time
            || self.rcv.acks.timer.deadline < time
            || self.rcv.held_back_until() < time
            || (self.snd.paced
                && self.snd.pacing_blocks(&self.clock)
                && self.snd.paced_until < time)
    }

    /// The rank of the timer of [`next_timer`](Connection::next_timer): of timers of a host that fire at the same time, those of other
    /// connections included, the greater comes first. Linux has them so: the last that was armed, but before it those that were set for so
    /// long that the kernel rounds them more. It is 0 if the timer does not count ticks.
    pub fn next_timer_rank(&self) -> u64 {
        let due = self.next_timer();
        let timers = [&self.snd.timer, &self.rcv.acks.timer];
        let ranks = timers
            .iter()
            .filter(|timer| timer.deadline == due)
            .map(|timer| timer.rank);
        ranks.max().unwrap_or(0)
    }

    /// When [`on_timer`](Connection::on_timer) must be called next; `u64::MAX` if never. Valid once
    /// [`poll_transmit`](Connection::poll_transmit) has yielded `None`.
    #[inline]
    pub fn next_timer(&self) -> u64 {
        let paced = if self.snd.paced && self.snd.pacing_blocks(&self.clock) {
            self.snd.paced_until
        } else {
            u64::MAX
        };
        self.snd
            .timer
            .deadline
            .min(self.rcv.acks.timer.deadline)
            .min(self.rcv.held_back_until())
            .min(paced)
    }
}
