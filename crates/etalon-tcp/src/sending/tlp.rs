// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tail loss probe (RFC 8985, section 7): a probe makes the receiver speak when the tail is lost.

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::sending::Forced;
use crate::sending::Sender;
use crate::sending::facts::Facts;
use crate::sending::loss_probe::LossProbe;
use crate::sending::output::{Limits, Transmission};
use crate::sending::rtt::Rtt;
use crate::timers::{Clock, Purpose};

impl<C: CongestionControl> Sender<C> {
    /// Section 7.2, `TLP_calc_PTO()`, and the timer. Returns whether a probe is due in this state. `progress`: the timeout counts
    /// from now, because new data was acknowledged.
    #[inline(always)] // twice for every burst that an ACK lets out
    pub(crate) fn schedule_loss_probe(
        &mut self,
        clock: &Clock,
        config: &Config,
        progress: bool,
    ) -> bool {
        let path = &self.paths.active;
        if self.board.is_empty()
            || !self.sack
            || !matches!(path.recovery.state, State::Open | State::Cwr)
        {
            return false;
        }
        self.set_loss_probe(clock, config, progress);
        true
    }

    /// The same, where a probe is due.
    #[inline(always)] // as above
    pub(crate) fn set_loss_probe(&mut self, clock: &Clock, config: &Config, progress: bool) {
        let rtt = &self.paths.active.rtt;
        let mut ticks = match rtt.probe_ticks() {
            0 => u64::from(clock.hz), // a second
            _ if self.board.len() == 1 => {
                Rtt::lone_probe_ticks(clock, config, self.paths.timed_by())
            }
            ticks => ticks,
        };
        if progress {
            ticks = ticks.min(rtt.rto_ticks());
        } else if !self.rto_is_beyond(clock, ticks) {
            ticks = self.not_beyond_rto(clock, ticks);
        }
        self.timer.set(clock, Purpose::LossProbe, ticks);
    }

    /// Whether the front's timeout is sure to be so many ticks away, as it nearly always is. Divides nothing.
    #[inline(always)] // as above
    fn rto_is_beyond(&self, clock: &Clock, ticks: u64) -> bool {
        let rto = self.paths.active.rtt.rto_ticks();
        let front = self.board.front();
        front.is_some_and(|front| {
            let age = clock.us - front.sent();
            rto > ticks && clock.covers_us(rto - ticks, age)
        })
    }

    /// So many ticks, or as many as the front's timeout is away.
    #[cold]
    fn not_beyond_rto(&self, clock: &Clock, ticks: u64) -> u64 {
        match self.us_until_rto(clock) {
            Some(us) if us < clock.us_of_ticks(ticks) => ticks.min(clock.ticks_for_us(us)),
            _ => ticks,
        }
    }

    /// Section 7.3: the timer fired; one probe at a time.
    pub(crate) fn on_loss_probe_timer(&mut self, clock: &Clock) {
        if self.probe.is_out() || self.board.is_empty() {
            self.resume_rto(clock);
        } else {
            self.forced = Some(Forced::Probe);
        }
    }

    /// Section 7.3, `TLP_send_probe()`: a new segment if there is one that fits the peer's window, else the last one again.
    pub(crate) fn send_loss_probe(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
    ) -> Option<Transmission> {
        let mut path = self.paths.active.id;
        let next = self.next_of_chunk(clock, config, limits);
        let next = next.or_else(|| self.next_of_probe(config, limits));
        let transmission = if let Some(len) = next {
            self.new_transmission(clock, len, limits)
        } else if self.board.is_empty() {
            return None;
        } else {
            let last = self.board.end() - 1;
            path = self.board.get(last).map_or(path, |record| record.path);
            self.retransmit(clock, last, false)?
        };
        self.stats.tlps += 1;
        self.probe = LossProbe {
            end: Some(self.nxt),
            retransmitted: !transmission.new,
            path,
        };
        self.burst = 0;
        self.rearm = false;
        // A full timeout follows the probe.
        self.timer.clear();
        self.rearm_rto(clock);
        Some(transmission)
    }

    /// Section 7.4: an ACK arrived while a probe was out. A loss that the probe repaired is a congestion event: one reduction,
    /// at once.
    pub(crate) fn hear_probe(
        &mut self,
        clock: &Clock,
        ack: u32,
        pure_duplicate: bool,
        facts: &Facts,
    ) {
        if !self.probe.on_ack(ack, pure_duplicate, facts.probe_reported) {
            return;
        }
        let id = self.probe.path;
        let path = self.paths.of(id);
        path.begin_reduction(clock, self.nxt);
        path.set_state(clock, State::Cwr);
        path.complete_reduction(clock);
        self.reduction_begun();
        if id == self.paths.active.id {
            self.follow_evidence(clock);
        } else {
            self.paths.of(id).set_state(clock, State::Open);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sending::Forced;
    use crate::sending::alone::{Alone, MS};

    /// As seen on Linux (TDTCP, 67,475 bytes, all ACKs lost): of the 8,996 bytes that the peer's first window has left, which waited for an ACK
    /// in the burst, the probe takes all.
    #[test]
    fn a_probe_takes_the_chunk_that_was_held_back() {
        let mut alone = Alone::with_mss("reno", 8_940);
        (alone.snd.window, alone.snd.max_window) = (62_636, 62_636);
        alone.write(67_475);
        assert_eq!(alone.send_segments(), [0, 1, 2, 3, 4, 5]);
        alone.clock.advance(alone.clock.now + 8 * MS);
        alone.snd.forced = Some(Forced::Probe);
        // The path was in use a moment ago, so that an ACK seems near.
        alone.snd.paths.active.last_sent_ns = alone.clock.now;
        let len = |sent: &crate::sending::output::Transmission| sent.end - sent.start;
        let sent = alone.send();
        assert_eq!(sent.iter().map(len).collect::<Vec<_>>(), [8_940, 56]);
        assert!(!sent[0].push && sent[1].push);
    }
}
