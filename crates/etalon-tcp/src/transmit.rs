//! What goes out, and in which order: forced transmissions, retransmissions, new data, and a pure ACK if nothing carried it.

use crate::cc::CongestionControl;
use crate::connection::{Connection, ConnectionState};
use crate::frto::Retransmit;
use crate::options::RareOptions;
use crate::outlet::{Header, Outlet};
use crate::prediction::Outlook;
use crate::receiving::PriorAck;
use crate::scoreboard::{Record, mark};
use crate::segment::{Flags, Segment};
use crate::sender::{Fin, Forced};
use crate::seq::{after, before, later};
use crate::timers::Purpose;

/// Segments sent before pacing begins.
const UNPACED: u64 = 10;

impl<C: CongestionControl> Connection<C> {
    /// The next segment to send at `now`, if any. The owner calls it until it yields `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: u64) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment)
            .then_some(segment)
    }

    /// All that is to be sent at `now`, segment by segment; once only new data is owed, the rest as a burst.
    #[inline(never)]
    pub(crate) fn transmit_generally(&mut self, now: u64, outlet: &mut impl Outlet) {
        self.rcv.provide(outlet);
        while outlet.put(|out| self.poll_transmit_into(now, out)) && !self.is_silent() {
            if self.owes_only_data() {
                return self.send_data(outlet);
            }
        }
    }

    /// As [`poll_transmit`](Connection::poll_transmit), but puts the segment in its place. Returns whether there was one; if not, `out`
    /// may have changed all the same.
    #[inline(always)] // of `transmit_generally`
    fn poll_transmit_into(&mut self, now: u64, out: &mut Segment) -> bool {
        if self.outlook.is_silent() && !(self.paced && now >= self.next_timer()) {
            return false;
        }
        self.clock.advance(now);
        self.outlook.forget_foretold();
        let sends = self.next_segment(out);
        if sends {
            self.write_rare_options(out);
        }
        self.stats.segments_sent += u64::from(sends);
        sends
    }

    /// The options of TDTCP and MPTCP.
    #[inline(always)] // of every segment that is sent alone
    pub(crate) fn write_rare_options(&mut self, out: &mut Segment) {
        if self.config.tdtcp.is_some() || self.subflow.is_some() {
            self.write_tdns(out);
            self.write_dss(out);
        }
    }

    /// Puts the next segment into `out`. Like all functions below that take `out`, it returns whether there is one.
    #[inline(always)] // its only call
    fn next_segment(&mut self, out: &mut Segment) -> bool {
        if !self.exchanges_data() {
            return self.next_of_handshake(out);
        }
        if self.owes_an_ack_at_most() {
            self.outlook = self.outlook();
            let due = self.rcv.ack_due();
            if due {
                self.pure_ack(out);
            }
            return due;
        }
        let waiting = self.rcv.waiting.changed_mut();
        if let Some(prior) = waiting.and_then(|waiting| waiting.prior_ack.take()) {
            self.prior_ack(prior, out);
            return true;
        }
        if self.ack_before_data {
            self.ack_before_data = false;
            self.pure_ack(out);
            return true;
        }
        if let Some(forced) = self.snd.forced.take() {
            if self.force(forced, out) {
                return true;
            }
        }
        if self.frto.retransmit == Retransmit::Lost
            && self.snd.board.has_lost()
            && self.next_retransmission(out)
        {
            return true;
        }
        if self.next_new(out) {
            return true;
        }
        if self.frto.retransmit == Retransmit::NewFirst && self.after_new_data(out) {
            return true;
        }
        // An ACK goes out when there is nothing else to send, so nothing follows it.
        let due = self.rcv.ack_due();
        if due {
            self.pure_ack(out);
        }
        self.end_burst();
        due
    }

    /// F-RTO asked for new data first. If none went out, lost segments follow.
    #[cold]
    fn after_new_data(&mut self, out: &mut Segment) -> bool {
        if after(self.snd.nxt, self.paths.active.recovery.point) {
            self.frto.retransmit = Retransmit::Held;
            return false;
        }
        self.frto.give_up();
        self.next_retransmission(out)
    }

    /// SYN or RST.
    #[cold]
    fn next_of_handshake(&mut self, out: &mut Segment) -> bool {
        let segment = match self.state {
            ConnectionState::SynSent | ConnectionState::SynReceived => {
                std::mem::take(&mut self.syn_due).then(|| self.syn())
            }
            ConnectionState::Closed => self.rst_due.take().map(|rst| *rst),
            _ => None,
        };
        let sends = segment.is_some();
        match segment {
            Some(segment) => *out = segment,
            None => self.outlook = Outlook::Silent,
        }
        sends
    }

    /// A segment without payload, as the receiver's state has it.
    #[inline(always)] // for new data and for ACKs; its calls cost as much as its work
    fn bare(&mut self, out: &mut Segment) {
        let window = self.rcv.select_window();
        self.header(window).put(out);
        if self.rcv.echoes() {
            out.flags |= Flags::ECE;
        }
        out.ect = self.rcv.dctcp && self.snd.ecn;
        if self.snd.sack && self.rcv.has_blocks() {
            self.stats.receiver.dsacks_sent += u32::from(self.rcv.waiting.held.has_dsack());
            let most = self.most_sack_blocks();
            self.rcv.waiting.held.blocks(most, &mut out.rare);
        }
    }

    /// What all segments have in common that go out now. `window`: their window field.
    #[inline(always)] // as above
    pub(crate) fn header(&self, window: u16) -> Header {
        Header {
            seq: self.snd.nxt,
            ack: self.rcv.nxt,
            window,
            timestamps: if self.snd.timestamps {
                Some((self.clock.timestamp(), self.snd.ts_recent))
            } else {
                None
            },
        }
    }

    /// An ACK that should have gone out before what arrived last.
    #[cold]
    fn prior_ack(&mut self, prior: PriorAck, out: &mut Segment) {
        let mut earlier = RareOptions::default();
        if matches!(prior, PriorAck::Range) {
            let most = self.most_sack_blocks();
            self.rcv.waiting.held.earlier_blocks(most, &mut earlier);
        }
        self.bare(out);
        match prior {
            PriorAck::HeldBack => {
                let timestamp = self.rcv.waiting.compression.timestamp;
                out.timestamps = out.timestamps.map(|(_, echo)| (timestamp, echo));
                self.rcv.ack_sent();
            }
            PriorAck::Marks { ack, ece } => {
                out.ack = ack;
                out.rare.clear_blocks();
                out.flags.0 &= !Flags::ECE.0;
                if ece {
                    out.flags |= Flags::ECE;
                }
            }
            PriorAck::Range => out.rare = earlier,
        }
        self.stats.acks_sent += 1;
    }

    pub(crate) fn pure_ack(&mut self, out: &mut Segment) {
        self.bare(out);
        self.rcv.ack_sent();
        self.stats.acks_sent += 1;
    }

    /// A segment with the payload from `start` to `end`.
    #[inline(always)] // as above
    fn data(&mut self, start: u32, end: u32, fin: bool, new: bool, out: &mut Segment) {
        self.bare(out);
        self.rcv.ack_sent();
        self.payload(start, end, fin, out);
        if out.len > 0 && self.snd.ecn && new {
            out.ect = true;
            if self.snd.cwr_queued {
                self.snd.cwr_queued = false;
                out.flags |= Flags::CWR;
            }
        }
    }

    /// Gives a segment its payload.
    #[inline(always)] // as above
    pub(crate) fn payload(&mut self, start: u32, end: u32, fin: bool, out: &mut Segment) {
        out.seq = start;
        out.len = (end.wrapping_sub(start) - u32::from(fin)) as u16;
        if fin {
            out.flags |= Flags::FIN;
        }
        if out.len > 0 {
            self.rcv.acks.data_sent(&self.clock);
            self.stats.data_segments_sent += 1;
            self.account(out.len);
        }
    }

    /// Bookkeeping of what goes below TCP.
    #[inline]
    fn account(&mut self, len: u16) {
        if self.config.small_queues {
            self.snd.queued += u64::from(len);
        }
        if self.paced && self.stats.data_segments_sent > UNPACED && self.still_paced() {
            if let Some(rate) = self.pacing_rate() {
                let gap = u64::from(len) * 1_000_000_000 / rate.max(1);
                self.snd.paced_until = self.snd.paced_until.max(self.clock.now) + gap;
            }
        }
    }

    /// Transmissions that ignore the window: after a timeout, a loss probe, a window probe.
    #[cold]
    fn force(&mut self, forced: Forced, out: &mut Segment) -> bool {
        match forced {
            Forced::Front => {
                let first = self.snd.board.first();
                let record = self.snd.board.get(first);
                let resend = record.is_some_and(|r| !r.has(mark::SACKED));
                if resend {
                    self.retransmit(first, true, out);
                }
                resend
            }
            Forced::Probe => self.send_loss_probe(out),
            Forced::WindowProbe => {
                self.stats.sender.window_probes += 1;
                let room = self.snd.window_end().wrapping_sub(self.snd.nxt);
                if self.snd.window > 0 && (room as i32) > 0 {
                    self.restart_after_idle();
                    self.fill_buffer(self.current_mss());
                    let len = u64::from(room.min(self.snd.mss)).min(self.snd.pending);
                    self.send_new(self.within_mapping(len as u32), out);
                } else {
                    // An old sequence number draws an ACK.
                    self.pure_ack(out);
                    out.seq = self.snd.una.wrapping_sub(1);
                }
                true
            }
        }
    }

    /// Sends a record again on the active path. `counts`: it counts as in flight (a loss probe does not).
    pub(crate) fn retransmit(&mut self, index: u64, counts: bool, out: &mut Segment) {
        let us = self.clock.us;
        let board = &mut self.snd.board;
        let Some(record) = board.retransmit(&mut self.paths, index, us, counts) else {
            return;
        };
        if let Some(rate) = &mut self.paths.of(record.path).rate {
            rate.forget(index);
        }
        let path = &mut self.paths.active;
        if counts {
            self.eifel.retransmitted(self.clock.timestamp());
            path.recovery.reduction.undo.retransmitted();
            if path.recovery.reduces() {
                path.recovery.reduction.prr.out += 1;
            }
        }
        path.note_sent(&self.clock, index);
        self.stats.sender.retransmits += 1;
        // A window probe or an odd peer may have acknowledged part of it.
        let start = later(record.start, self.snd.una);
        self.data(start, record.end, record.has(mark::FIN), false, out);
        if record.end == self.snd.nxt && self.snd.pending == 0 && out.len > 0 {
            out.flags |= Flags::PSH;
        }
    }

    /// The next lost segment, if the window lets it out.
    fn next_retransmission(&mut self, out: &mut Segment) -> bool {
        if !self.snd.board.has_lost()
            || !self.paths.active.has_room()
            || (self.paced && self.pacing_blocks())
            || self.paths.is_full()
            || self.queue_full(true)
        {
            return false;
        }
        let Some(index) = self.snd.board.next_lost() else {
            return false;
        };
        let front = index == self.snd.board.first();
        let fits = |r: &Record| before(r.start, self.snd.window_end());
        if !front && !self.snd.board.get(index).is_some_and(fits) {
            return false;
        }
        self.retransmit(index, true, out);
        if front && self.timer.purpose != Purpose::Reordering {
            let ticks = self.paths.active.rtt.rto_ticks();
            self.timer.set(&self.clock, Purpose::Rto, ticks);
        }
        true
    }

    /// SACK blocks that fit beside a segment's other options (RFC 2018, section 3; SIGCOMM'22, figure 5).
    fn most_sack_blocks(&self) -> usize {
        let timestamps = usize::from(self.snd.timestamps);
        let beside =
            usize::from(self.writes_tdns()) + usize::from(self.is_subflow()) * (1 + timestamps);
        4 - timestamps - beside
    }

    /// The same beside payload: the mapping of MPTCP's DSS takes 24 of the 40 bytes, timestamps 12 (RFC 8684, section 3.3).
    pub(crate) fn most_sack_blocks_beside_data(&self) -> usize {
        if self.is_subflow() {
            return usize::from(!self.snd.timestamps);
        }
        self.most_sack_blocks()
    }

    /// Payload of a full segment now: SACK blocks take theirs of it.
    #[inline]
    pub(crate) fn current_mss(&self) -> u32 {
        if self.snd.sack && self.rcv.has_blocks() {
            let most = self.most_sack_blocks_beside_data();
            return self.snd.mss - self.rcv.waiting.held.option_len(most);
        }
        self.snd.mss
    }

    /// FIN goes with the next segment, if that is the last.
    #[inline]
    pub(crate) fn ends_with(&self, len: u32, fin: Fin) -> bool {
        fin == Fin::Queued && self.snd.pending == u64::from(len)
    }

    /// Payload of the next new segment, if there is one and the peer's window and Nagle's algorithm let it go.
    #[inline]
    pub(crate) fn next_len(&self) -> Option<u32> {
        self.next_len_of(self.current_mss(), self.snd.fin)
            .map(|len| self.within_mapping(len))
    }

    /// The same, if a full segment has `mss` bytes now.
    #[inline]
    pub(crate) fn next_len_of(&self, mss: u32, fin: Fin) -> Option<u32> {
        let len = self.snd.pending.min(u64::from(mss)) as u32;
        let fin = self.ends_with(len, fin);
        if !self.fits(len, fin) || (len < mss && !fin && self.config.nagle && self.small_out()) {
            return None;
        }
        Some(len)
    }

    /// Whether the next new segment is something, and within the peer's window.
    #[inline(always)] // of `next_len_of`
    pub(crate) fn fits(&self, len: u32, fin: bool) -> bool {
        let end = self.snd.nxt.wrapping_add(len + u32::from(fin));
        !((len == 0 && !fin) || after(end, self.snd.window_end()))
    }

    /// A small segment is not acknowledged yet (Minshall).
    #[inline]
    pub(crate) fn small_out(&self) -> bool {
        !self.snd.board.is_empty() && after(self.snd.small_end, self.snd.una)
    }

    #[inline(always)]
    fn next_new(&mut self, out: &mut Segment) -> bool {
        if !self.snd.has_unsent() {
            return false;
        }
        if self.send_if_allowed(out) {
            return true;
        }
        if self.snd.fin == Fin::Asked {
            self.snd.fin = Fin::Queued;
            return self.send_if_allowed(out);
        }
        false
    }

    #[inline(always)]
    fn send_if_allowed(&mut self, out: &mut Segment) -> bool {
        let Some(len) = self.next_of_chunk() else {
            return false;
        };
        if (self.paced && self.pacing_blocks()) || self.paths.is_full() || self.queue_full(false) {
            return false;
        }
        self.send_new(len, out);
        true
    }

    #[inline]
    pub(crate) fn send_new(&mut self, len: u32, out: &mut Segment) {
        let (start, end, fin) = self.record_new(len);
        self.data(start, end, fin, true, out);
        if self.pushes(len) {
            out.flags |= Flags::PSH;
        }
    }

    /// Whether the new segment of `len` bytes that was booked last has PSH: it ends what was written, or a chunk of several.
    #[inline]
    pub(crate) fn pushes(&self, len: u32) -> bool {
        let chunk = &self.snd.chunk;
        len > 0 && self.snd.pending == 0 || chunk.several && chunk.left == 0
    }

    /// Books a new segment of `len` bytes. Returns where it starts and ends, and whether FIN is with it.
    #[inline(always)] // as above
    pub(crate) fn record_new(&mut self, len: u32) -> (u32, u32, bool) {
        let start = self.snd.nxt;
        let first = self.snd.board.is_empty();
        let path = &mut self.paths.active;
        let now = self.clock.now;
        if path.pipe.in_flight() == 0 {
            let idle = now - path.last_sent_ns;
            path.cc.on_restart(&mut path.window, now, idle);
        }
        if path.recovery.reduces() {
            path.recovery.reduction.prr.out += 1;
        }
        let id = path.id;
        self.snd.pending -= u64::from(len);
        self.snd.buffers.sent(len);
        self.snd.chunk.left = self.snd.chunk.left.saturating_sub(len);
        let fin = self.snd.fin == Fin::Queued && self.snd.pending == 0;
        let end = start.wrapping_add(len + u32::from(fin));
        if fin {
            self.fin_sent();
        }
        if len < self.snd.mss && len < self.current_mss() {
            self.snd.small_end = end;
        }
        self.snd.nxt = end;
        let record = Record {
            sent: self.clock.us,
            start,
            end,
            order: 0,
            marks: if fin { mark::FIN } else { 0 },
            path: id,
            charged: id,
        };
        let index = self.snd.board.push(&mut self.paths, record);
        self.paths.active.note_sent(&self.clock, index);
        self.snd.burst += 1;
        self.snd.rearm |= first || self.timer.purpose == Purpose::LossProbe;
        (start, end, fin)
    }

    /// Nothing more goes out for now: was it the window that stopped it?
    #[inline]
    pub(crate) fn end_burst(&mut self) {
        self.outlook = Outlook::Silent;
        if self.state == ConnectionState::TimeWait {
            return;
        }
        self.note_burst(false);
        if self.paths.active.rate.is_some() {
            self.note_app_limit();
        }
        self.check_persist();
        self.outlook = self.outlook();
    }

    /// What was sent now was a burst: was it the window that ended it? The timer is set for what is outstanding. `foretold`: the ACK was that
    /// let it out, so that nothing is amiss and a probe is due after it.
    #[inline(always)]
    pub(crate) fn note_burst(&mut self, foretold: bool) {
        self.snd.buffers.end();
        let held_back = std::mem::take(&mut self.snd.chunk).held_back;
        let sent = std::mem::take(&mut self.snd.burst);
        let full = held_back || !self.paths.active.has_room() || self.paths.is_full();
        let path = &mut self.paths.active;
        if sent > 0 || (full && self.snd.has_unsent()) {
            let decays = self.config.slow_start_after_idle;
            path.validate(&self.clock, self.snd.una, self.snd.nxt, full, decays);
        }
        let rearm = std::mem::take(&mut self.snd.rearm);
        if foretold {
            if sent > 0 {
                self.set_loss_probe(false);
            }
        } else if !(sent > 0 && self.schedule_loss_probe(false)) && rearm {
            self.rearm_rto();
        }
        if cfg!(debug_assertions) {
            self.snd.board.check(&self.paths, self.snd.sack);
        }
    }

    /// Tells rate samples that the application limits the sender, if it does.
    #[cold]
    fn note_app_limit(&mut self) {
        let path = &mut self.paths.active;
        let limited = !self.snd.has_unsent() && !self.snd.board.has_lost() && path.has_room();
        if let Some(rate) = path.rate.as_mut().filter(|_| limited) {
            rate.limit(path.delivered + u64::from(path.pipe.in_flight()).max(1));
        }
    }

    /// Sets the persist timer if the peer's window is all that holds data back (RFC 9293, 3.8.6.1).
    #[inline]
    pub(crate) fn check_persist(&mut self) {
        if self.snd.board.is_empty() && self.snd.has_unsent() {
            self.set_persist();
        } else if self.timer.purpose == Purpose::Persist {
            self.timer.clear();
        }
    }

    fn set_persist(&mut self) {
        let blocked = self.next_len().is_none();
        if blocked && self.timer.purpose == Purpose::None {
            let [least, most] =
                [self.config.min_rto, self.config.max_rto].map(|ns| self.clock.ticks_for_ns(ns));
            let base = self.paths.active.rtt.rto_ticks().max(least);
            let ticks = (base << self.snd.persist_backoff.min(16)).min(most);
            self.timer.set(&self.clock, Purpose::Persist, ticks);
        } else if !blocked && self.timer.purpose == Purpose::Persist {
            self.timer.clear();
        }
    }

    /// The persist timer fired.
    pub(crate) fn on_persist_timer(&mut self) {
        if !self.snd.board.is_empty() || !self.snd.has_unsent() {
            return;
        }
        self.snd.persist_backoff = self.snd.persist_backoff.saturating_add(1);
        self.snd.forced = Some(Forced::WindowProbe);
    }

    /// Data flows after a pause: the window may be out of date (RFC 2861).
    pub(crate) fn restart_after_idle(&mut self) {
        if !self.config.slow_start_after_idle {
            return;
        }
        let path = &mut self.paths.active;
        let idle = self.clock.jiffies.saturating_sub(path.last_sent);
        if idle > path.rtt.rto_ticks() {
            path.restart_after_idle(&self.clock, idle);
        }
    }
}
