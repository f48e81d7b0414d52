// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is sent next, and what is booked for it: lost segments again, or new ones. Which segment carries it is `transmit.rs`'s business.

use crate::Config;
use crate::cc::CongestionControl;
use crate::sending::frto::Retransmit;
use crate::sending::pacing::Share;
use crate::sending::record::{Record, mark};
use crate::sending::{Fin, Forced, Sender};
use crate::seq::{after, before, later};
use crate::timers::{Clock, Purpose};

/// What bounds the payload of the next new segment beside the windows. It is not the sender's to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Payload of a full segment now: SACK blocks take theirs of it.
    pub mss: u32,
    /// What is left of MPTCP's mapping that it is of (RFC 8684, section 3.3); none of plain TCP.
    pub mapping: Option<u32>,
}

impl Limits {
    /// Up to `len` bytes: a segment is of one mapping.
    #[inline]
    pub fn within_mapping(self, len: u32) -> u32 {
        self.mapping.map_or(len, |left| len.min(left))
    }
}

/// A part of the sequence space that a segment is to carry now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// From here up to there, FIN included.
    pub start: u32,
    pub end: u32,
    pub fin: bool,
    /// It is sent for the first time.
    pub new: bool,
    /// The segment has PSH.
    pub push: bool,
}

impl<C: CongestionControl> Sender<C> {
    /// The next transmission that the windows let out, if there is one.
    #[inline(always)] // its only call
    pub(crate) fn next_transmission(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
    ) -> Option<Transmission> {
        if self.frto.retransmit == Retransmit::Lost && self.board.has_lost() {
            let transmission = self.next_retransmission(clock, config);
            if transmission.is_some() {
                return transmission;
            }
        }
        let transmission = self.next_new(clock, config, limits);
        if transmission.is_none() && self.frto.retransmit == Retransmit::NewFirst {
            return self.after_new_data(clock, config);
        }
        transmission
    }

    /// F-RTO asked for new data first. If none went out, lost segments follow.
    #[cold]
    fn after_new_data(&mut self, clock: &Clock, config: &Config) -> Option<Transmission> {
        if after(self.nxt, self.paths.active.recovery.point) {
            self.frto.retransmit = Retransmit::Held;
            return None;
        }
        self.frto.give_up();
        self.next_retransmission(clock, config)
    }

    /// A transmission that the congestion window does not bound: after a timeout, or a loss probe.
    #[cold]
    pub(crate) fn forced_transmission(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
        forced: Forced,
    ) -> Option<Transmission> {
        match forced {
            Forced::Front => {
                let first = self.board.first();
                let record = self.board.get(first);
                let resend = record.is_some_and(|r| !r.has(mark::SACKED));
                resend.then(|| self.retransmit(clock, first, true))?
            }
            Forced::Probe => self.send_loss_probe(clock, config, limits),
            Forced::WindowProbe => self.window_probe(clock, config, limits),
        }
    }

    /// Sends a record again on the active path. `counts`: it counts as in flight (a loss probe does not).
    pub(crate) fn retransmit(
        &mut self,
        clock: &Clock,
        index: u64,
        counts: bool,
    ) -> Option<Transmission> {
        let board = &mut self.board;
        let record = board.retransmit(&mut self.paths, index, clock.stamp(), counts)?;
        if let Some(rate) = &mut self.paths.of(record.path).rate {
            rate.forget(index);
        }
        let path = &mut self.paths.active;
        if counts {
            self.eifel.retransmitted(clock.timestamp());
            path.recovery.reduction.undo.retransmitted();
            if path.recovery.reduces() {
                path.recovery.reduction.prr.out += 1;
            }
        }
        path.note_sent(clock, index);
        self.stats.retransmits += 1;
        // A window probe or an odd peer may have acknowledged part of it.
        let start = later(record.start, self.una);
        let fin = record.has(mark::FIN);
        let len = record.end.wrapping_sub(start) - u32::from(fin);
        Some(Transmission {
            start,
            end: record.end,
            fin,
            new: false,
            push: record.end == self.nxt && self.pending == 0 && len > 0,
        })
    }

    /// Lost segments that go out before new ones.
    pub(crate) fn due_again(&self) -> u32 {
        let sums = self.board.sums();
        match self.frto.retransmit {
            Retransmit::Lost => sums.lost.saturating_sub(sums.retransmitted),
            _ => 0,
        }
    }

    /// The next lost segment, if the window lets it out.
    fn next_retransmission(&mut self, clock: &Clock, config: &Config) -> Option<Transmission> {
        if !self.board.has_lost()
            || !self.paths.active.has_room()
            || (self.paced && self.pacing_blocks(clock))
            || self.paths.is_full()
            || self.is_full_below(config, self.mss, Share::AGAIN)
        {
            return None;
        }
        let index = self.board.next_lost()?;
        let front = index == self.board.first();
        let fits = |r: &Record| before(r.start, self.window_end());
        if !front && !self.board.get(index).is_some_and(fits) {
            return None;
        }
        let transmission = self.retransmit(clock, index, true);
        if front && self.timer.purpose != Purpose::Reordering {
            let ticks = self.paths.active.rtt.rto_ticks();
            self.timer.set(clock, Purpose::Rto, ticks);
        }
        transmission
    }

    /// FIN goes with the next segment, if that is the last.
    #[inline]
    pub(crate) fn ends_with(&self, len: u32, fin: Fin) -> bool {
        fin == Fin::Queued && self.pending == u64::from(len)
    }

    /// Payload of the next new segment, if there is one and the peer's window and Nagle's algorithm let it go. `mss`: of a full segment now.
    #[inline]
    pub(crate) fn next_len_of(&self, config: &Config, mss: u32, fin: Fin) -> Option<u32> {
        let len = self.pending.min(u64::from(mss)) as u32;
        let fin = self.ends_with(len, fin);
        if !self.fits(len, fin) || (len < mss && !fin && config.nagle && self.small_out()) {
            return None;
        }
        Some(len)
    }

    /// Whether the next new segment is something, and within the peer's window.
    #[inline(always)] // of `next_len_of`
    pub(crate) fn fits(&self, len: u32, fin: bool) -> bool {
        let end = self.nxt.wrapping_add(len + u32::from(fin));
        !((len == 0 && !fin) || after(end, self.window_end()))
    }

    /// A small segment is not acknowledged yet (Minshall).
    #[inline]
    pub(crate) fn small_out(&self) -> bool {
        !self.board.is_empty() && after(self.small_end, self.una)
    }

    #[inline(always)]
    fn next_new(&mut self, clock: &Clock, config: &Config, limits: Limits) -> Option<Transmission> {
        if self.pending == 0 && self.buffers.is_writing() && self.program.is_some() {
            self.fill_as_written();
        }
        if !self.has_unsent() {
            return None;
        }
        let transmission = self.new_if_allowed(clock, config, limits);
        if transmission.is_none() && self.fin == Fin::Asked {
            self.fin = Fin::Queued;
            return self.new_if_allowed(clock, config, limits);
        }
        transmission
    }

    #[inline(always)]
    fn new_if_allowed(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
    ) -> Option<Transmission> {
        let is_begun = self.chunk.left > 0;
        let len = self.next_of_chunk(clock, config, limits)?;
        if (self.paced && self.pacing_blocks(clock) && !(is_begun && self.paces_chunks()))
            || self.paths.is_full()
            || (!is_begun && self.is_full_below(config, self.chunk.left, Share::NEW))
        {
            return None;
        }
        Some(self.new_transmission(clock, len, limits))
    }

    /// Books a new segment of `len` bytes.
    #[inline(always)] // its other call is rare
    pub(crate) fn new_transmission(
        &mut self,
        clock: &Clock,
        len: u32,
        limits: Limits,
    ) -> Transmission {
        let (start, end, fin) = self.record_new(clock, len, limits);
        let stopped = self.program.is_some() && self.stopped_at(end);
        Transmission {
            start,
            end,
            fin,
            new: true,
            push: self.pushes(len) || stopped,
        }
    }

    /// Whether the new segment of `len` bytes that was booked last has PSH: it ends what was written, or a chunk of several.
    #[inline]
    fn pushes(&self, len: u32) -> bool {
        let chunk = &self.chunk;
        len > 0 && self.pending == 0 || chunk.several && chunk.left == 0
    }

    /// Books it. Returns where it starts and ends, and whether FIN is with it.
    #[inline(always)] // as above
    fn record_new(&mut self, clock: &Clock, len: u32, limits: Limits) -> (u32, u32, bool) {
        let start = self.nxt;
        let first = self.board.is_empty();
        let path = &mut self.paths.active;
        let now = clock.now;
        if path.pipe.in_flight() == 0 {
            let idle = now - path.last_sent_ns;
            path.cc.on_restart(&mut path.window, now, idle);
        }
        if path.recovery.reduces() {
            path.recovery.reduction.prr.out += 1;
        }
        let id = path.id;
        self.pending -= u64::from(len);
        self.buffers.sent(len);
        let ends_chunk = self.chunk.left == len;
        self.chunk.left = self.chunk.left.saturating_sub(len);
        let fin = self.fin == Fin::Queued && self.pending == 0;
        let end = start.wrapping_add(len + u32::from(fin));
        if fin {
            self.fin = Fin::Sent;
        }
        if len < self.mss && len < limits.mss {
            self.small_end = end;
        }
        self.nxt = end;
        let mut marks = if fin { mark::FIN } else { 0 };
        if ends_chunk && self.program.is_some() {
            marks |= self.note_chunk();
        }
        let record = Record {
            stamp: clock.stamp(),
            start,
            end,
            order: 0,
            marks,
            path: id,
            charged: id,
        };
        let index = self.board.push(&mut self.paths, record);
        self.paths.active.note_sent(clock, index);
        self.burst += 1;
        self.rearm |= first || self.timer.purpose == Purpose::LossProbe;
        (start, end, fin)
    }

    /// What was sent now was a burst: was it the window that ended it? The timer is set for what is outstanding. `predicted`: the ACK was that
    /// let it out, so that nothing is amiss and a probe is due after it.
    #[inline(always)]
    pub(crate) fn note_burst(&mut self, clock: &Clock, config: &Config, predicted: bool) {
        if self.buffers.is_writing() {
            self.stop_writing();
        }
        let held_back = std::mem::take(&mut self.chunk).held_back;
        let sent = std::mem::take(&mut self.burst);
        let full = held_back || !self.paths.active.has_room() || self.paths.is_full();
        if sent > 0 || (full && self.has_unsent()) {
            let decays = config.slow_start_after_idle;
            let path = &mut self.paths.active;
            path.validate(clock, self.una, self.nxt, full, decays);
        }
        let rearm = std::mem::take(&mut self.rearm);
        if predicted {
            if sent > 0 {
                self.set_loss_probe(clock, config, false);
            }
        } else if !(sent > 0 && self.schedule_loss_probe(clock, config, false)) && rearm {
            self.rearm_rto(clock);
        }
        if cfg!(debug_assertions) {
            self.board.check(&self.paths, self.sack);
        }
    }

    /// Tells rate samples that the application limits the sender, if it does.
    #[cold]
    pub(crate) fn note_app_limit(&mut self) {
        let unsent = self.has_unsent();
        let path = &mut self.paths.active;
        let limited = !unsent && !self.board.has_lost() && path.has_room();
        if let Some(rate) = path.rate.as_mut().filter(|_| limited) {
            rate.limit(path.delivered + u64::from(path.pipe.in_flight()).max(1));
        }
    }
}
