//! RACK-TLP (RFC 8985): losses are told by time, and a probe makes the receiver speak when the tail is lost.
//!
//! As Linux has it: the reordering window is min_rtt/4 (steps raised by DSACKs), and none at all in recovery or after three
//! duplicate ACKs while no reordering was ever seen; the reordering timer and the probe timer run in ticks with a margin of
//! [`timer_margin`](crate::Config::timer_margin) (RFC 8985 has no such granularity); a probe's timeout grows by the minimum RTO, not by the maximum delayed ACK, when
//! one segment is in flight; no probe in Disorder, Recovery or Loss.

use crate::cc::{CongestionControl, State};
use crate::connection::Connection;
use crate::path::{DUP_THRESH, Path};
use crate::rtt::UNKNOWN;
use crate::scoreboard::{Record, mark};
use crate::sender::{Forced, Retransmit};
use crate::seq::{after, before};
use crate::timers::Purpose;

/// Recoveries for which a raised reordering window is kept.
const PERSIST: u8 = 16;

/// RACK's view of the most recently sent segment that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// When it was sent, in microseconds, and where it ended.
    sent: u64,
    end: u32,
    /// Its round-trip time in microseconds.
    pub rtt: u32,
    /// There is news to judge by.
    pub advanced: bool,
    /// Reordering was seen.
    pub reordering_seen: bool,
    /// Reordering window in quarters of min_rtt, and recoveries until it falls back.
    steps: u8,
    persist: u8,
    /// Bytes acknowledged at the end of the round trip in which a DSACK last widened it.
    widened_until: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: 0,
            end: 0,
            rtt: 0,
            advanced: false,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            widened_until: 0,
        }
    }
}

/// Whether a segment was sent after another; those sent together are ordered by sequence.
#[inline]
fn sent_after(sent: u64, end: u32, other_sent: u64, other_end: u32) -> bool {
    sent > other_sent || (sent == other_sent && after(end, other_end))
}

impl Rack {
    /// A segment was delivered (RFC 8985, step 2).
    #[inline]
    pub fn delivered(&mut self, now_us: u64, min_rtt: u32, record: &Record) {
        let rtt = now_us.saturating_sub(record.sent) as u32;
        if rtt < min_rtt && record.has(mark::EVER_RESENT) {
            // The ACK answers the original, not the retransmission.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent_after(record.sent, record.end, self.sent, self.end) {
            self.sent = record.sent;
            self.end = record.end;
        }
    }

    /// A DSACK: the reordering window was too small. It grows once a round trip at most (step 4).
    ///
    /// `acked`: bytes acknowledged ever; `flight`: bytes from SND.UNA to SND.NXT.
    pub fn note_dsack(&mut self, acked: u64, flight: u32) {
        if self.reordering_seen && acked >= self.widened_until {
            self.widened_until = acked + u64::from(flight);
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// A recovery ended with an undo (by DSACK) or without.
    pub fn recovery_over(&mut self, undone: bool) {
        self.persist = if undone {
            (self.persist + 1).min(PERSIST)
        } else {
            self.persist.saturating_sub(1)
        };
        if self.persist == 0 {
            self.steps = 1;
        }
    }
}

impl<C: CongestionControl> Path<C> {
    fn reordering_window(&self) -> u32 {
        if !self.rack.reordering_seen
            && (matches!(self.state, State::Recovery | State::Loss)
                || self.pipe.sacked >= self.reordering)
        {
            return 0;
        }
        let quarter = match self.rtt.min() {
            UNKNOWN => u32::MAX,
            min => (min / 4).saturating_mul(u32::from(self.rack.steps)),
        };
        quarter.min(self.rtt.srtt())
    }
}

impl<C: CongestionControl> Connection<C> {
    /// Marks what RACK deems lost (RFC 8985, step 5). Returns the time until the next verdict, in microseconds.
    pub(crate) fn rack_detect(&mut self) -> Option<u64> {
        let path = &mut self.path;
        let window = path.reordering_window();
        let (sent, end) = (path.rack.sent, path.rack.end);
        let patience = u64::from(path.rack.rtt) + u64::from(window);
        let now = self.clock.us;
        let mut wait = None;
        let (lost, again) = self
            .snd
            .board
            .walk_by_time(&mut path.pipe, |record: &Record| {
                if !sent_after(sent, end, record.sent, record.end) {
                    return None;
                }
                let due = record.sent + patience;
                if due <= now {
                    return Some(true);
                }
                wait = wait.max(Some(due - now));
                Some(false)
            });
        path.lost += u64::from(lost);
        self.stats.lost += u64::from(lost);
        self.stats.lost_retransmits += u64::from(again);
        wait
    }

    /// Judges after an ACK. Returns whether the reordering timer was set.
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !self.path.rack.advanced {
            return false;
        }
        self.path.rack.advanced = false;
        match self.rack_detect() {
            Some(us) => {
                let ticks = self
                    .clock
                    .ticks_for_us(us + self.config.timer_margin / 1000);
                self.timer.set(&self.clock, Purpose::Reordering, ticks);
                true
            }
            None => false,
        }
    }

    /// The reordering timer fired.
    pub(crate) fn on_reordering_timer(&mut self) {
        let before = self.path.in_flight();
        let lost_before = self.path.lost;
        self.rack_detect();
        if self.path.in_flight() != before {
            if self.path.state != State::Recovery {
                self.enter_recovery(false);
                self.reduce_window(1, self.path.lost - lost_before, false);
            }
            self.snd.retransmit = Retransmit::Lost;
        }
        if self.timer.purpose == Purpose::None {
            self.resume_rto();
        }
    }

    /// Sets the timer for a tail loss probe, if one is due in this state. `advancing`: the timeout counts from now, because
    /// new data was acknowledged.
    #[inline(always)] // twice for every burst that an ACK lets out
    pub(crate) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let path = &self.path;
        if path.pipe.outstanding == 0
            || !self.snd.sack
            || !matches!(path.state, State::Open | State::Cwr)
        {
            return false;
        }
        let mut ticks = if path.rtt.srtt() == 0 {
            u64::from(self.clock.hz)
        } else if path.pipe.outstanding == 1 {
            path.rtt.lone_probe_ticks(&self.clock)
        } else {
            path.rtt.probe_ticks
        };
        if advancing {
            ticks = ticks.min(path.rtt.rto_ticks);
        } else if let Some(us) = self.us_until_rto() {
            // A comparison instead of a division: the timeout is nearly always further away.
            if us < self.clock.us_of_ticks(ticks) {
                ticks = ticks.min(self.clock.ticks_for_us(us));
            }
        }
        self.timer.set(&self.clock, Purpose::LossProbe, ticks);
        true
    }

    /// The loss-probe timer fired: new data if there is some, else the last segment again.
    pub(crate) fn on_loss_probe_timer(&mut self) {
        if self.snd.probe_end.is_none() && !self.snd.board.is_empty() {
            self.snd.forced = Some(Forced::Probe);
        } else {
            self.resume_rto();
        }
    }

    /// An ACK arrived while a probe was out: was something lost that the probe repaired?
    pub(crate) fn process_tlp_ack(&mut self, ack: u32, pure_duplicate: bool, dsacked: bool) {
        let Some(high) = self.snd.probe_end else {
            return;
        };
        if before(ack, high) {
            return;
        }
        if !self.snd.probe_resent || dsacked {
            self.snd.probe_end = None;
        } else if after(ack, high) {
            // Acknowledged beyond the probe without a sign of the original: one loss, one reduction.
            self.begin_reduction();
            self.path.set_state(&self.clock, State::Cwr);
            self.end_reduction();
            self.keep_open();
        } else if pure_duplicate {
            self.snd.probe_end = None;
        }
    }

    /// A segment never retransmitted was delivered below the highest one SACKed: the network reorders.
    pub(crate) fn note_reordering(&mut self, low: u32) {
        let high = self.snd.board.highest_sacked(&self.path.pipe, self.snd.una);
        if !before(low, high) {
            return;
        }
        let distance = high.wrapping_sub(low).div_ceil(self.snd.mss);
        if distance > self.path.reordering {
            self.path.reordering = distance.clamp(DUP_THRESH, 300);
        }
        self.path.rack.reordering_seen = true;
        self.stats.reorderings += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsack_widens_the_window_once_a_round_trip() {
        let mut rack = Rack::default();
        rack.note_dsack(0, 100);
        assert_eq!(rack.steps, 1, "nothing was reordered");
        rack.reordering_seen = true;
        // Beyond 4 GB as at the start: the round is told by bytes, not by sequence numbers.
        for acked in [0, 3 << 30, 9 << 30] {
            let steps = rack.steps;
            rack.note_dsack(acked, 100);
            rack.note_dsack(acked + 99, 100);
            assert_eq!(rack.steps, steps + 1);
            rack.note_dsack(acked + 100, 100);
            assert_eq!(rack.steps, steps + 2);
        }
    }
}
