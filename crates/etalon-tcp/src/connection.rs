//! The connection: its public face, and what it does with a segment or a timer.

use crate::cc::CongestionControl;
use crate::frto::Frto;
use crate::linux;
use crate::path::Path;
use crate::paths::Paths;
use crate::rack::Rack;
use crate::receiver::{Marks, PriorAck, Receiver};
use crate::segment::{Flags, Segment};
use crate::sender::{FOREVER, Fin, Sender};
use crate::seq::{after, before};
use crate::tdtcp::Tdtcp;
use crate::timers::{Clock, Purpose, Timer};
use crate::tlp::LossProbe;
use crate::undo::Eifel;
use crate::{Config, Stats, Sums};

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

/// What a connection waits for when its timer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingTimer {
    /// The retransmission timeout (RFC 6298), also that of SYN.
    Retransmission,
    /// The tail loss probe (RFC 8985, section 7.2).
    LossProbe,
    /// RACK's reordering window (RFC 8985, section 6.2).
    Reordering,
    /// The next zero-window probe (RFC 9293, 3.8.6.1).
    Persist,
    /// The end of TIME-WAIT.
    TimeWait,
    /// A delayed ACK.
    DelayedAck,
    /// The next paced segment.
    Pacing,
}

/// One TCP endpoint of one connection.
///
/// The owner calls [`on_segment`](Connection::on_segment) for each segment that arrives,
/// [`on_timer`](Connection::on_timer) when [`next_timer`](Connection::next_timer) has come, and after each of these and after
/// each call of the application's side [`poll_transmit`](Connection::poll_transmit) until it yields nothing. Times are
/// nanoseconds of host time and must not go back.
#[derive(Clone, Debug)]
pub struct Connection<C> {
    pub(crate) config: Config,
    /// TDTCP, while it is on.
    pub(crate) tdtcp: Option<Tdtcp>,
    pub(crate) clock: Clock,
    pub(crate) state: ConnectionState,
    pub(crate) close_reason: Option<CloseReason>,
    pub(crate) snd: Sender,
    pub(crate) rcv: Receiver,
    pub(crate) paths: Paths<C>,
    pub(crate) rack: Rack,
    pub(crate) frto: Frto,
    pub(crate) probe: LossProbe,
    pub(crate) eifel: Eifel,
    pub(crate) stats: Stats,
    /// The retransmission timer.
    pub(crate) timer: Timer,
    /// There may be something to transmit.
    pub(crate) dirty: bool,
    /// Segments are paced.
    pub(crate) paced: bool,
    pub(crate) reads_ece: bool,
    pub(crate) min_rto_ticks: u64,
    pub(crate) syn_due: bool,
    pub(crate) syn_sent_at: u64,
    pub(crate) syns_sent: u32,
    pub(crate) peer_scales: bool,
    pub(crate) ack_before_data: bool,
    pub(crate) rst_due: Option<Segment>,
    pub(crate) fin_acked: bool,
    pub(crate) fin_received: bool,
    /// When a segment without payload that was not acceptable was answered last, in ticks.
    answered_invalid: u64,
}

impl<C: CongestionControl> Connection<C> {
    fn new(config: Config, cc: C, state: ConnectionState) -> Connection<C> {
        let clock = Clock::new(config.hz);
        let mut rcv = Receiver::new(&config, &clock);
        rcv.dctcp = cc.wants_dctcp_feedback();
        Connection {
            snd: Sender::new(&config),
            paced: config.pacing || cc.wants_pacing(),
            reads_ece: cc.reads_ece_without_ecn(),
            min_rto_ticks: clock.ticks_for_ns(config.min_rto),
            paths: Paths::new(&config, &clock, cc),
            rack: Rack::default(),
            frto: Frto::default(),
            probe: LossProbe::default(),
            eifel: Eifel::default(),
            rcv,
            state,
            close_reason: None,
            stats: Stats::default(),
            timer: Timer::OFF,
            dirty: true,
            syn_due: state == ConnectionState::SynSent,
            syn_sent_at: 0,
            syns_sent: 0,
            peer_scales: false,
            ack_before_data: false,
            rst_due: None,
            fin_acked: false,
            fin_received: false,
            answered_invalid: u64::MAX / 2,
            clock,
            tdtcp: config.tdtcp,
            config,
        }
    }

    /// An endpoint that opens the connection: the first [`poll_transmit`](Connection::poll_transmit) yields the SYN.
    pub fn client(config: Config, cc: C) -> Connection<C> {
        Connection::new(config, cc, ConnectionState::SynSent)
    }

    /// An endpoint that answers the first SYN.
    pub fn server(config: Config, cc: C) -> Connection<C> {
        Connection::new(config, cc, ConnectionState::Listen)
    }

    /// A segment arrived at `now`; `ce`: its IP header carried CE.
    #[inline(always)] // all that comes in goes through it
    pub fn on_segment(&mut self, now: u64, segment: &Segment, ce: bool) {
        self.clock.advance(now);
        self.stats.segments_received += 1;
        self.stats.data_segments_received += u64::from(segment.len > 0);
        if ce {
            self.stats.ce_received += 1;
        }
        self.dirty = true;
        if self.exchanges_data() || self.handshake(segment) {
            self.on_segment_synchronised(segment, ce);
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
    fn on_segment_synchronised(&mut self, segment: &Segment, ce: bool) {
        let end = segment.seq.wrapping_add(segment.seq_len());
        let echoed_before = self.snd.echoed;
        if !self.take_timestamps(segment) {
            self.stats.paws_drops += 1;
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
        if let Some((value, _)) = segment.timestamps {
            if self.snd.timestamps
                && !after(segment.seq, self.rcv.acked_up_to)
                && !before(value, self.snd.ts_recent)
            {
                self.snd.ts_recent = value;
                self.snd.ts_recent_at = self.clock.us;
            }
        }
        if self.state == ConnectionState::TimeWait && segment.flags.contains(Flags::FIN) {
            self.enter_time_wait();
        }
        self.on_ack(segment);
        self.after_ack();
        if self.state == ConnectionState::Closed {
            return;
        }
        if segment.seq_len() > 0 {
            let len = u32::from(segment.len);
            self.rcv
                .note_echo(&self.clock, len, self.snd.echoed, echoed_before);
            self.on_payload(segment, ce);
        }
    }

    /// Whether the acknowledgement number may be one of ours. What was never sent is ignored, which RFC 5961 (section 5) would answer, and
    /// what is older than the peer's largest window, or the connection, is answered ("MUST be discarded and an ACK sent back").
    #[inline]
    fn acknowledges_what_was_sent(&mut self, segment: &Segment) -> bool {
        if !before(segment.ack, self.snd.una) {
            return !after(segment.ack, self.snd.nxt);
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

    /// Without payload not again within half a second.
    fn may_answer_invalid(&mut self) -> bool {
        let since = self.clock.jiffies.wrapping_sub(self.answered_invalid);
        let may = since >= self.clock.ticks_for_ns(linux::INVALID_INTERVAL);
        if may {
            self.answered_invalid = self.clock.jiffies;
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
        if !before(value, self.snd.ts_recent) || segment.flags.contains(Flags::RST) {
            return true;
        }
        // One tick may be an accident of reordering. After 24 idle days the clock may have wrapped. A reordered pure ACK
        // does no harm and need not be answered.
        let old = self.snd.ts_recent.wrapping_sub(value);
        let idle = self.clock.us - self.snd.ts_recent_at;
        let reordered_ack = segment.seq_len() == 0
            && segment.seq == self.rcv.nxt
            && segment.ack == self.snd.una
            && u64::from(old) <= self.clock.us_of_ticks(self.paths.active.rtt.rto_ticks) / 1000;
        old <= 1 || idle > 24 * 86_400 * 1_000_000 || reordered_ack
    }

    fn on_payload(&mut self, segment: &Segment, ce: bool) {
        let len = u32::from(segment.len);
        let rto = self.paths.active.rtt.rto_ticks;
        let cwr = segment.flags.contains(Flags::CWR);
        let marks = Marks {
            ce,
            ect: segment.ect,
            cwr,
        };
        if !self
            .rcv
            .receive(&self.clock, segment.seq, len, segment.flags, marks, rto)
        {
            self.stats.out_of_order += u64::from(after(segment.seq, self.rcv.nxt));
        }
        if self.rcv.fin_reached() && !self.fin_received {
            self.on_fin();
        }
        self.rcv.schedule(&self.clock, self.paths.active.rtt.srtt());
    }

    /// The time that [`next_timer`](Connection::next_timer) gave has come. A call before it is harmless.
    pub fn on_timer(&mut self, now: u64) {
        let due = self.next_timer();
        self.clock.advance(now);
        if now < due {
            return;
        }
        self.dirty = true;
        if self.rcv.acks.timer.deadline <= now
            && self.rcv.acks.timer_fired(self.paths.active.rtt.rto_ticks)
        {
            self.stats.delayed_acks += 1;
        }
        if self.rcv.compression.deadline <= now {
            self.rcv.prior_ack = Some(PriorAck::HeldBack);
        }
        if self.timer.deadline <= now {
            let purpose = self.timer.purpose;
            self.timer.clear();
            match (self.state, purpose) {
                (_, Purpose::TimeWait) => self.close(CloseReason::Finished),
                (ConnectionState::SynSent | ConnectionState::SynReceived, _) => {
                    self.on_syn_timeout();
                }
                (_, Purpose::Rto) => self.on_rto(),
                (_, Purpose::LossProbe) => self.on_loss_probe_timer(),
                (_, Purpose::Reordering) => self.on_reordering_timer(),
                (_, Purpose::Persist) => self.on_persist_timer(),
                (_, Purpose::None) => {}
            }
        }
    }

    /// When [`on_timer`](Connection::on_timer) must be called next; `u64::MAX` if never. Valid once
    /// [`poll_transmit`](Connection::poll_transmit) has yielded `None`.
    #[inline]
    pub fn next_timer(&self) -> u64 {
        let paced = if self.paced && self.pacing_blocks() {
            self.snd.paced_until
        } else {
            u64::MAX
        };
        self.timer
            .deadline
            .min(self.rcv.acks.timer.deadline)
            .min(self.rcv.compression.deadline)
            .min(paced)
    }

    /// What [`next_timer`](Connection::next_timer) waits for; `None` if nothing.
    pub fn pending_timer(&self) -> Option<PendingTimer> {
        let due = self.next_timer();
        if due == u64::MAX {
            return None;
        }
        if self.rcv.acks.timer.deadline == due || self.rcv.compression.deadline == due {
            return Some(PendingTimer::DelayedAck);
        }
        if self.timer.deadline != due {
            return Some(PendingTimer::Pacing);
        }
        match self.timer.purpose {
            Purpose::None => None,
            Purpose::Rto => Some(PendingTimer::Retransmission),
            Purpose::LossProbe => Some(PendingTimer::LossProbe),
            Purpose::Reordering => Some(PendingTimer::Reordering),
            Purpose::Persist => Some(PendingTimer::Persist),
            Purpose::TimeWait => Some(PendingTimer::TimeWait),
        }
    }

    /// The application writes `bytes`.
    pub fn write(&mut self, bytes: u64) {
        if self.snd.fin == Fin::None && self.state != ConnectionState::Closed {
            if self.exchanges_data() {
                self.lay_out(self.snd.pending);
            }
            self.snd.pending = self.snd.pending.saturating_add(bytes);
            self.dirty = true;
        }
    }

    /// The application writes as much as the network takes, until [`shutdown`](Connection::shutdown).
    pub fn write_forever(&mut self) {
        self.write(FOREVER);
    }

    /// No more writes: FIN follows what was written (after [`write_forever`](Connection::write_forever), what was sent).
    pub fn shutdown(&mut self) {
        if self.snd.fin == Fin::None {
            if self.snd.pending > FOREVER / 2 {
                self.snd.pending = 0;
            }
            self.snd.fin = Fin::Asked;
            self.dirty = true;
        }
    }

    /// Ends the connection with RST.
    pub fn abort(&mut self) {
        if !matches!(
            self.state,
            ConnectionState::Closed | ConnectionState::Listen | ConnectionState::SynSent
        ) {
            self.rst_due = Some(Segment {
                seq: self.snd.nxt,
                ack: self.rcv.nxt,
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            });
        }
        self.close(CloseReason::Aborted);
        self.dirty = true;
    }

    /// The application reads up to `max` bytes of what arrived in order; returns how many. Needed only without
    /// [`Config::auto_read`].
    pub fn read(&mut self, max: u64) -> u64 {
        let taken = self.rcv.read(&self.clock, max);
        self.dirty |= self.rcv.ack_due();
        taken
    }

    /// A segment with `wire_payload` bytes that [`poll_transmit`](Connection::poll_transmit) yielded has left the host.
    #[inline]
    pub fn departed(&mut self, wire_payload: u32) {
        self.snd.queued = self.snd.queued.saturating_sub(u64::from(wire_payload));
        if self.snd.throttled {
            self.snd.throttled = false;
            self.dirty = true;
        }
    }

    /// Whether data waits only for [`departed`](Connection::departed).
    pub fn is_throttled(&self) -> bool {
        self.snd.throttled
    }

    /// State of the connection.
    pub fn state(&self) -> ConnectionState {
        self.state
    }

    /// Whether the handshake is complete and the connection not over.
    pub fn is_established(&self) -> bool {
        !matches!(
            self.state,
            ConnectionState::Listen
                | ConnectionState::SynSent
                | ConnectionState::SynReceived
                | ConnectionState::TimeWait
                | ConnectionState::Closed
        )
    }

    /// Whether both directions are closed (TIME-WAIT included).
    pub fn is_closed(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::TimeWait | ConnectionState::Closed
        )
    }

    /// Why the connection is over; `None` while it is not. From TIME-WAIT on both sides have finished.
    pub fn close_reason(&self) -> Option<CloseReason> {
        match self.state {
            ConnectionState::TimeWait => Some(CloseReason::Finished),
            _ => self.close_reason,
        }
    }

    /// Whether everything written, and FIN if asked for, is acknowledged.
    pub fn all_acked(&self) -> bool {
        !self.snd.has_unsent() && self.snd.board.is_empty()
    }

    /// Bytes received in order.
    pub fn bytes_received(&self) -> u64 {
        self.rcv.bytes
    }

    /// Bytes acknowledged cumulatively.
    pub fn bytes_acked(&self) -> u64 {
        self.snd.bytes_acked
    }

    /// Bytes written and not yet sent; `u64::MAX` after [`write_forever`](Connection::write_forever), less what was sent.
    pub fn unsent(&self) -> u64 {
        self.snd.pending
    }

    /// Largest payload of a segment in bytes, as both ends' options leave it.
    pub fn mss(&self) -> u32 {
        self.snd.mss
    }

    /// Degree of reordering in segments that is believed; 3 before any was seen.
    pub fn reordering(&self) -> u32 {
        self.rack.reordering.degree
    }

    /// Turns Nagle's algorithm on or off.
    pub fn set_nagle(&mut self, on: bool) {
        self.config.nagle = on;
        self.dirty = true;
    }

    /// Turns pacing on, or off unless the congestion control wants it.
    pub fn set_pacing(&mut self, on: bool) {
        self.config.pacing = on;
        self.paced = on || self.paths.controls().any(CongestionControl::wants_pacing);
        self.dirty = true;
    }

    /// Turns the decay of windows after an idle time on or off.
    pub fn set_slow_start_after_idle(&mut self, on: bool) {
        self.config.slow_start_after_idle = on;
    }

    /// Gives the active path another congestion control, which starts with the window as it is.
    ///
    /// # Errors
    ///
    /// Gives it back if it needs DCTCP's feedback and the handshake was made without, or the other way round: what the peer
    /// echoes cannot be changed any more.
    pub fn set_congestion_control(&mut self, cc: C) -> Result<(), C> {
        if cc.wants_dctcp_feedback() != self.rcv.dctcp && self.state != ConnectionState::Listen {
            return Err(cc);
        }
        self.rcv.dctcp = cc.wants_dctcp_feedback();
        self.reads_ece = cc.reads_ece_without_ecn();
        self.paths.active.set_congestion_control(cc);
        self.set_pacing(self.config.pacing);
        Ok(())
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The path that is active.
    pub fn path(&self) -> &Path<C> {
        &self.paths.active
    }

    /// All paths, the active one first.
    pub fn paths(&self) -> impl Iterator<Item = &Path<C>> {
        self.paths.iter()
    }

    /// Segments outstanding on all paths, by what is known of them.
    pub fn sums(&self) -> &Sums {
        self.snd.board.sums()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
}
