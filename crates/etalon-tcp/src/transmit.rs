//! What goes out, and in which order: forced transmissions, retransmissions, new data, and a pure ACK if nothing carried it.

use crate::cc::CongestionControl;
use crate::connection::{Connection, ConnectionState};
use crate::scoreboard::{Record, mark};
use crate::segment::{Flags, Segment};
use crate::sender::{Fin, Forced, Retransmit};
use crate::seq::{after, before, later};
use crate::timers::Purpose;

/// Segments sent before pacing begins.
const UNPACED: u64 = 10;

impl<C: CongestionControl> Connection<C> {
    /// The next segment to send at `now`, if any. The owner calls it until it yields `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: u64) -> Option<Segment> {
        let released = self.config.pacing && now >= self.next_timer();
        if !(self.dirty || released) {
            return None;
        }
        self.clock.advance(now);
        let segment = self.next_segment();
        if segment.is_some() {
            self.stats.segments_sent += 1;
        } else {
            self.end_burst();
            self.dirty = false;
            self.refresh_timer();
        }
        segment
    }

    fn next_segment(&mut self) -> Option<Segment> {
        match self.state {
            ConnectionState::SynSent | ConnectionState::SynReceived => {
                return std::mem::take(&mut self.syn_due).then(|| self.syn());
            }
            ConnectionState::Listen => return None,
            ConnectionState::Closed => {
                return self.rst_due.take();
            }
            _ => {}
        }
        if let Some(prior) = self.rcv.prior_ack.take() {
            let mut segment = self.bare();
            segment.ack = prior.ack;
            if !prior.ece {
                segment.flags.0 &= !Flags::ECE.0;
            } else {
                segment.flags |= Flags::ECE;
            }
            self.stats.acks_sent += 1;
            return Some(segment);
        }
        if self.ack_before_data {
            self.ack_before_data = false;
            return Some(self.pure_ack());
        }
        if let Some(segment) = self.forced() {
            return Some(segment);
        }
        if self.snd.retransmit == Retransmit::Lost {
            if let Some(segment) = self.next_retransmission() {
                return Some(segment);
            }
        }
        if let Some(segment) = self.next_new() {
            return Some(segment);
        }
        if self.snd.retransmit == Retransmit::NewFirst {
            if after(self.snd.nxt, self.path.high_seq) {
                self.snd.retransmit = Retransmit::Held;
            } else {
                self.path.frto = false;
                self.snd.retransmit = Retransmit::Lost;
                if let Some(segment) = self.next_retransmission() {
                    return Some(segment);
                }
            }
        }
        self.rcv.ack_due().then(|| self.pure_ack())
    }

    /// A segment without payload, as the receiver's state has it.
    fn bare(&mut self) -> Segment {
        let mut flags = Flags::ACK;
        if self.rcv.echoes() {
            flags |= Flags::ECE;
        }
        let mut segment = Segment {
            seq: self.snd.nxt,
            ack: self.rcv.nxt,
            window: self.rcv.select_window(),
            flags,
            ect: self.rcv.dctcp && self.snd.ecn,
            ..Segment::default()
        };
        if self.snd.timestamps {
            segment.timestamps = Some((self.clock.timestamp(), self.snd.ts_recent));
        }
        if self.snd.sack && self.rcv.has_sack_blocks() {
            self.stats.dsacks_sent += u64::from(self.rcv.has_dsack());
            segment.sack = self
                .rcv
                .sack_blocks(if self.snd.timestamps { 3 } else { 4 });
        }
        segment
    }

    fn pure_ack(&mut self) -> Segment {
        let segment = self.bare();
        self.rcv.ack_sent();
        self.stats.acks_sent += 1;
        segment
    }

    /// A segment with the payload from `start` to `end`.
    #[inline]
    fn data(&mut self, start: u32, end: u32, fin: bool, new: bool) -> Segment {
        let mut segment = self.bare();
        self.rcv.ack_sent();
        segment.seq = start;
        segment.len = (end.wrapping_sub(start) - u32::from(fin)) as u16;
        if fin {
            segment.flags |= Flags::FIN;
        }
        if segment.len > 0 {
            self.rcv.data_sent(&self.clock);
            self.stats.data_segments_sent += 1;
            if self.snd.pending == 0 {
                segment.flags |= Flags::PSH;
            }
            if self.snd.ecn && new {
                segment.ect = true;
                if self.snd.cwr_queued {
                    self.snd.cwr_queued = false;
                    segment.flags |= Flags::CWR;
                }
            }
        }
        self.account(segment.len);
        segment
    }

    /// Bookkeeping of what goes below TCP.
    #[inline]
    fn account(&mut self, len: u16) {
        if len == 0 {
            return;
        }
        self.snd.data_segments += 1;
        if self.config.small_queues {
            self.snd.queued += u64::from(len);
        }
        if self.config.pacing && self.snd.data_segments > UNPACED {
            if let Some(rate) = self.pacing_rate() {
                let gap = u64::from(len) * 1_000_000_000 / rate.max(1);
                self.snd.paced_until = self.snd.paced_until.max(self.clock.now) + gap;
            }
        }
    }

    /// Pacing rate in bytes a second: twice the window each RTT in the first half of slow start, 1.2 times otherwise.
    fn pacing_rate(&self) -> Option<u64> {
        let srtt = u64::from(self.path.rtt.srtt());
        if srtt == 0 {
            return None;
        }
        let window = &self.path.window;
        let percent = if window.cwnd < window.ssthresh / 2 {
            200
        } else {
            120
        };
        let segments = u64::from(window.cwnd.max(self.path.pipe.packets_out));
        Some(segments * u64::from(self.snd.mss) * percent * 10_000 / srtt)
    }

    /// Data waits only for its pacing time.
    #[inline]
    pub(crate) fn pacing_blocks(&self) -> bool {
        self.snd.paced_until > self.clock.now
    }

    /// Whether enough is queued below TCP: two segments or a millisecond at the pacing rate, twice that for retransmissions.
    #[inline]
    fn queue_full(&mut self, retransmission: bool) -> bool {
        let twice = u32::from(retransmission);
        if self.snd.queued <= u64::from(2 * self.snd.mss) << twice
            || !self.config.small_queues
            || self.snd.board.is_empty()
        {
            return false;
        }
        let millisecond = self.pacing_rate().unwrap_or(u64::MAX) / 1024;
        let limit = millisecond.min(1 << 20).max(u64::from(2 * self.snd.mss)) << twice;
        let full = self.snd.queued > limit;
        self.snd.throttled |= full;
        full
    }

    /// Transmissions that ignore the window: after a timeout, a loss probe, a window probe.
    fn forced(&mut self) -> Option<Segment> {
        match self.snd.forced.take()? {
            Forced::Front => {
                let first = self.snd.board.first();
                let resend = self
                    .snd
                    .board
                    .get(first)
                    .is_some_and(|r| !r.has(mark::SACKED));
                resend.then(|| self.retransmit(first, true))
            }
            Forced::Probe => self.probe(),
            Forced::WindowProbe => {
                self.stats.window_probes += 1;
                let room = self.snd.window_end().wrapping_sub(self.snd.nxt);
                if self.snd.window > 0 && (room as i32) > 0 {
                    let len = u64::from(room.min(self.snd.mss)).min(self.snd.pending);
                    return Some(self.send_new(len as u32));
                }
                // An old sequence number draws an ACK.
                let mut segment = self.pure_ack();
                segment.seq = self.snd.una.wrapping_sub(1);
                Some(segment)
            }
        }
    }

    /// The loss probe: a new segment if there is one that fits the peer's window, else the last one again.
    fn probe(&mut self) -> Option<Segment> {
        let retransmitted;
        let segment = if let Some(len) = self.next_len() {
            retransmitted = false;
            self.send_new(len)
        } else {
            let last = self.snd.board.end().checked_sub(1)?;
            retransmitted = true;
            self.snd.board.get(last)?;
            self.retransmit(last, false)
        };
        self.stats.tlps += 1;
        self.snd.tlp_high = Some(self.snd.nxt);
        self.snd.tlp_retransmitted = retransmitted;
        self.snd.burst = 0;
        self.snd.rearm = false;
        // A full timeout follows the probe.
        self.timer.clear();
        self.rearm_rto();
        Some(segment)
    }

    /// Sends a record again. `count`: it counts as in flight (a loss probe does not).
    fn retransmit(&mut self, index: u64, count: bool) -> Segment {
        let stamp = self.clock.timestamp();
        self.snd.board.note_resent(index, self.clock.us);
        let record = self.snd.board.get_mut(index).copied().unwrap_or(Record {
            sent: 0,
            start: 0,
            end: 0,
            marks: 0,
        });
        if count {
            if let Some(r) = self.snd.board.get_mut(index) {
                r.marks |= mark::RESENT;
            }
            let path = &mut self.path;
            path.pipe.retrans_out += u32::from(!record.has(mark::RESENT));
            if path.retrans_stamp == 0 {
                path.retrans_stamp = stamp;
            }
            path.undo_retrans = path.undo_retrans.max(0) + 1;
            if path.reducing() {
                path.prr.out += 1;
            }
        }
        self.stats.retransmits += 1;
        self.snd.last_sent = self.clock.jiffies;
        self.snd.last_sent_ns = self.clock.now;
        // A window probe or an odd peer may have acknowledged part of it.
        let start = later(record.start, self.snd.una);
        self.data(start, record.end, record.has(mark::FIN), false)
    }

    /// The next lost segment, if the window lets it out.
    fn next_retransmission(&mut self) -> Option<Segment> {
        let pipe = &self.path.pipe;
        if pipe.lost_out <= pipe.retrans_out || pipe.in_flight() >= self.path.window.cwnd {
            return None;
        }
        if self.config.pacing && self.pacing_blocks() {
            return None;
        }
        if self.queue_full(true) {
            return None;
        }
        let index = self.snd.board.next_lost()?;
        let record = self.snd.board.get(index)?;
        let front = index == self.snd.board.first();
        if !front && !before(record.start, self.snd.window_end()) {
            return None;
        }
        let segment = self.retransmit(index, true);
        if front && self.timer.purpose != Purpose::Reordering {
            self.timer
                .set(&self.clock, Purpose::Rto, self.path.rtt.rto_ticks);
        }
        Some(segment)
    }

    /// Sequence space of the next new segment, if data waits and the peer's window and Nagle's algorithm let it go.
    #[inline]
    pub(crate) fn next_len(&self) -> Option<u32> {
        let snd = &self.snd;
        let len = snd.pending.min(u64::from(snd.mss)) as u32;
        let fin = snd.fin == Fin::Queued && snd.pending <= u64::from(snd.mss);
        if len == 0 && !fin {
            return None;
        }
        if after(snd.nxt.wrapping_add(len), snd.window_end()) {
            return None;
        }
        let small = len < snd.mss && !fin && self.config.nagle;
        if small && self.path.pipe.packets_out > 0 && after(snd.small_end, snd.una) {
            return None;
        }
        Some(len)
    }

    #[inline]
    fn next_new(&mut self) -> Option<Segment> {
        if !self.snd.has_unsent() || self.path.pipe.in_flight() >= self.path.window.cwnd {
            return None;
        }
        let len = self.next_len()?;
        if self.config.pacing && self.pacing_blocks() {
            return None;
        }
        if self.queue_full(false) {
            return None;
        }
        Some(self.send_new(len))
    }

    #[inline]
    fn send_new(&mut self, len: u32) -> Segment {
        let start = self.snd.nxt;
        let prior = self.path.pipe.packets_out;
        if prior == 0 {
            self.restart_after_idle();
        }
        if self.path.pipe.in_flight() == 0 {
            let idle = self.clock.now - self.snd.last_sent_ns;
            self.path
                .cc
                .on_restart(&mut self.path.window, self.clock.now, idle);
        }
        self.snd.last_sent = self.clock.jiffies;
        self.snd.last_sent_ns = self.clock.now;
        self.snd.pending -= u64::from(len);
        let fin = self.snd.fin == Fin::Queued && self.snd.pending == 0;
        let end = start.wrapping_add(len + u32::from(fin));
        if fin {
            self.fin_sent();
        }
        if len < self.snd.mss {
            self.snd.small_end = end;
        }
        self.snd.nxt = end;
        self.snd.board.push(Record {
            sent: self.clock.us,
            start,
            end,
            marks: if fin { mark::FIN } else { 0 },
        });
        self.path.pipe.packets_out += 1;
        self.snd.burst += 1;
        if self.path.reducing() {
            self.path.prr.out += 1;
        }
        self.snd.rearm |= prior == 0 || self.timer.purpose == Purpose::LossProbe;
        self.data(start, end, fin, true)
    }

    /// Nothing more goes out for now: was it the window that stopped it?
    #[inline]
    fn end_burst(&mut self) {
        if !self.is_synchronised() {
            return;
        }
        let limited = self.path.pipe.in_flight() >= self.path.window.cwnd;
        let sent = std::mem::take(&mut self.snd.burst);
        if sent > 0 || (limited && self.snd.has_unsent()) {
            let decay = self.config.slow_start_after_idle;
            self.path
                .validate(&self.clock, limited, self.snd.una, self.snd.nxt, decay);
        }
        let rearm = std::mem::take(&mut self.snd.rearm);
        let probing = sent > 0 && self.schedule_loss_probe(false);
        if rearm && !probing {
            self.rearm_rto();
        }
        self.check_persist();
        if cfg!(debug_assertions) {
            self.check_consistency();
        }
    }

    fn is_synchronised(&self) -> bool {
        !matches!(
            self.state,
            ConnectionState::Listen
                | ConnectionState::SynSent
                | ConnectionState::SynReceived
                | ConnectionState::TimeWait
                | ConnectionState::Closed
        )
    }

    /// Sets the persist timer if the peer's window is all that holds data back (RFC 9293, 3.8.6.1).
    pub(crate) fn check_persist(&mut self) {
        if self.path.pipe.packets_out > 0 || !self.snd.has_unsent() {
            if self.timer.purpose == Purpose::Persist {
                self.timer.clear();
            }
            return;
        }
        let blocked = self.next_len().is_none();
        if blocked && self.timer.purpose == Purpose::None {
            let base = self.path.rtt.rto_ticks.max(self.min_rto_ticks);
            let ticks =
                (base << self.snd.persist_backoff.min(16)).min(self.path.rtt.max_rto_ticks());
            self.timer.set(&self.clock, Purpose::Persist, ticks);
        } else if !blocked && self.timer.purpose == Purpose::Persist {
            self.timer.clear();
        }
    }

    /// The persist timer fired.
    pub(crate) fn on_persist_timer(&mut self) {
        if self.path.pipe.packets_out > 0 || !self.snd.has_unsent() {
            return;
        }
        self.snd.persist_backoff += 1;
        self.snd.forced = Some(Forced::WindowProbe);
    }

    /// Data flows after a pause: the window may be out of date (RFC 2861).
    fn restart_after_idle(&mut self) {
        if !self.config.slow_start_after_idle {
            return;
        }
        let idle = self.clock.jiffies.saturating_sub(self.snd.last_sent);
        if idle > self.path.rtt.rto_ticks {
            self.path.restart(&self.clock, idle);
        }
    }

    /// The counters must be what a scan would find; compiled out of release builds.
    fn check_consistency(&self) {
        let mut expected = self.snd.board.recount();
        if !self.snd.sack {
            expected.sacked_out = self.path.pipe.sacked_out;
        }
        assert_eq!(
            self.path.pipe, expected,
            "counters differ from the scoreboard"
        );
    }
}
