//! Tail loss probe (RFC 8985, section 7): a probe makes the receiver speak when the tail is lost.

use crate::cc::{CongestionControl, State};
use crate::connection::Connection;
use crate::digest::Facts;
use crate::path::PathId;
use crate::segment::Segment;
use crate::sender::Forced;
use crate::seq::{after, before};
use crate::timers::Purpose;

/// The probe in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossProbe {
    /// SND.NXT after it was sent (`TLP.end_seq`); none if no probe is in flight.
    end: Option<u32>,
    /// It was a retransmission (`TLP.is_retrans`).
    retransmitted: bool,
    /// The path on which the probed segment was sent.
    path: PathId,
}

impl LossProbe {
    #[inline]
    pub fn is_out(&self) -> bool {
        self.end.is_some()
    }

    /// Whether a DSACK that ends at `end` reports it.
    pub fn ends_at(&self, end: u32) -> bool {
        self.end == Some(end)
    }

    pub fn forget(&mut self) {
        self.end = None;
    }

    /// Section 7.4.2, TLP_process_ack(). Returns whether the probe repaired a loss, which nothing else has told.
    fn on_ack(&mut self, ack: u32, pure_duplicate: bool, reported: bool) -> bool {
        let Some(end) = self.end.filter(|&end| !before(ack, end)) else {
            return false;
        };
        // It carried new data, or the receiver had its segment already: nothing was lost.
        if !self.retransmitted || reported {
            self.end = None;
            return false;
        }
        if after(ack, end) {
            return true;
        }
        if pure_duplicate {
            self.end = None;
        }
        false
    }
}

impl<C: CongestionControl> Connection<C> {
    /// Section 7.2, `TLP_calc_PTO()`, and the timer. Returns whether a probe is due in this state. `progress`: the timeout counts
    /// from now, because new data was acknowledged.
    #[inline(always)] // twice for every burst that an ACK lets out
    pub(crate) fn schedule_loss_probe(&mut self, progress: bool) -> bool {
        let path = &self.paths.active;
        if self.snd.board.is_empty()
            || !self.snd.sack
            || !matches!(path.recovery.state, State::Open | State::Cwr)
        {
            return false;
        }
        self.set_loss_probe(progress);
        true
    }

    /// The same, where a probe is due.
    #[inline(always)] // as above
    pub(crate) fn set_loss_probe(&mut self, progress: bool) {
        let path = &self.paths.active;
        let mut ticks = if path.rtt.srtt() == 0 {
            u64::from(self.clock.hz) // a second
        } else if self.snd.board.len() == 1 {
            path.rtt.lone_probe_ticks(&self.clock, &self.config)
        } else {
            path.rtt.probe_ticks()
        };
        if progress {
            ticks = ticks.min(path.rtt.rto_ticks());
        } else if !self.rto_is_beyond(ticks) {
            ticks = self.not_beyond_rto(ticks);
        }
        self.timer.set(&self.clock, Purpose::LossProbe, ticks);
    }

    /// Whether the front's timeout is sure to be so many ticks away, as it nearly always is. Divides nothing.
    #[inline(always)] // as above
    fn rto_is_beyond(&self, ticks: u64) -> bool {
        let rto = self.paths.active.rtt.rto_ticks();
        let front = self.snd.board.front();
        front.is_some_and(|front| {
            let age = self.clock.us - front.sent;
            rto > ticks && self.clock.covers_us(rto - ticks, age)
        })
    }

    /// So many ticks, or as many as the front's timeout is away.
    #[cold]
    fn not_beyond_rto(&self, ticks: u64) -> u64 {
        match self.us_until_rto() {
            Some(us) if us < self.clock.us_of_ticks(ticks) => {
                ticks.min(self.clock.ticks_for_us(us))
            }
            _ => ticks,
        }
    }

    /// Section 7.3: the timer fired; one probe at a time.
    pub(crate) fn on_loss_probe_timer(&mut self) {
        if self.probe.is_out() || self.snd.board.is_empty() {
            self.resume_rto();
        } else {
            self.snd.forced = Some(Forced::Probe);
        }
    }

    /// Section 7.3, `TLP_send_probe()`: a new segment if there is one that fits the peer's window, else the last one again.
    pub(crate) fn send_loss_probe(&mut self, out: &mut Segment) -> bool {
        let mut path = self.paths.active.id;
        let retransmitted = if let Some(len) = self.next_of_chunk().or_else(|| self.next_alone()) {
            self.send_new(len, out);
            false
        } else if self.snd.board.is_empty() {
            return false;
        } else {
            let last = self.snd.board.end() - 1;
            path = self.snd.board.get(last).map_or(path, |record| record.path);
            self.retransmit(last, false, out);
            true
        };
        self.stats.sender.tlps += 1;
        self.probe = LossProbe {
            end: Some(self.snd.nxt),
            retransmitted,
            path,
        };
        self.snd.burst = 0;
        self.snd.rearm = false;
        // A full timeout follows the probe.
        self.timer.clear();
        self.rearm_rto();
        true
    }

    /// Section 7.4: an ACK arrived while a probe was out. A loss that the probe repaired is a congestion event: one reduction,
    /// at once.
    pub(crate) fn hear_probe(&mut self, ack: u32, pure_duplicate: bool, facts: &Facts) {
        if !self.probe.on_ack(ack, pure_duplicate, facts.probe_reported) {
            return;
        }
        let id = self.probe.path;
        let path = self.paths.of(id);
        path.begin_reduction(&self.clock, self.snd.nxt);
        path.set_state(&self.clock, State::Cwr);
        path.complete_reduction(&self.clock);
        self.reduction_begun();
        if id == self.paths.active.id {
            self.follow_evidence();
        } else {
            self.paths.of(id).set_state(&self.clock, State::Open);
        }
    }
}
