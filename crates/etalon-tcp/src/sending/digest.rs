// SPDX-License-Identifier: MIT OR Apache-2.0
//! An ACK is digested into facts: the scoreboard gives up what it covers, in SACK blocks (`sack.rs`) and in the cumulative part
//! (here), and what that shows is noted. Nothing is decided here.
//!
//! In this order: the segment that moved SND.UNA filled a hole before those that blocks report, so it arrived after them, and "the
//! most recently delivered segment", whose round trip is RACK.rtt (RFC 8985, section 5.3), is the last of the cumulative part.

use crate::Config;
use crate::cc::CongestionControl;
use crate::linux;
use crate::sending::Sender;
use crate::sending::facts::Facts;
use crate::sending::record::{Record, mark};
use crate::sending::undo::echo_before;
use crate::seq::{after, before};
use crate::timers::{Clock, Stamp};

/// What the cumulative part covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// When the first segment was sent that was sent once, on the active path, in microseconds, and the last.
    sent: Option<(u64, Stamp)>,
    /// A retransmission was among them: no sample (Karn).
    ambiguous: bool,
    /// The path has changed since one of them was sent: no sample either, not even by its timestamp.
    changed: bool,
    /// FIN was.
    fin: bool,
    /// The lowest of those sent once; SND.NXT if there is none.
    lowest: u32,
}

impl Acknowledged {
    /// Nothing, yet.
    #[inline]
    pub fn none(nxt: u32) -> Acknowledged {
        Acknowledged {
            sent: None,
            ambiguous: false,
            changed: false,
            fin: false,
            lowest: nxt,
        }
    }
}

/// Fact: an RTT sample. In microseconds it is Linux's: of instants in whole microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttSample {
    /// Of the first segment that the ACK newly delivers: what the timeout must cover, delayed ACKs included.
    pub first: u64,
    /// Of the last: what the congestion control is told.
    pub last: u64,
    /// The same in nanoseconds.
    pub last_ns: u64,
}

impl<C: CongestionControl> Sender<C> {
    /// "Any segments on the retransmission queue that are thereby entirely acknowledged are removed" (RFC 9293, section 3.10.7.4).
    #[inline(always)] // its only call
    pub(crate) fn take_cumulative(
        &mut self,
        clock: &Clock,
        facts: &mut Facts,
        covered: &mut Acknowledged,
        una: u32,
    ) {
        let path = &mut self.paths;
        let point = path.active.recovery.point;
        // Nearly always this is all: segments that were sent once and arrived in order.
        if let Some((first, last, count)) = self.board.pop_unmarked(path, una) {
            facts.acked = count;
            facts.original_delivered = !after(first.end, point);
            covered.lowest = first.start;
            if path.times(first.sent(), first.path) {
                covered.sent = Some((first.sent(), last.stamp));
            } else {
                covered.changed = true;
            }
            if self.sack {
                path.active.delivered += u64::from(count);
                let min_rtt = path.active.rtt.min();
                self.rack.delivered(clock.us, min_rtt, &last);
            }
        }
        while let Some(record) = self.board.pop_acked(&mut self.paths, una) {
            facts.acked += 1;
            self.take_acked(clock, facts, covered, &record);
        }
        self.board.clear_if_empty();
        if self.paths.active.rate.is_some() {
            self.paths.note_acked_before(self.board.first());
        }
        if !self.sack && facts.acked > 0 {
            self.take_duplicates(facts.acked);
        }
    }

    /// A segment that has marks, or was sent on another path, was acknowledged cumulatively.
    fn take_acked(
        &mut self,
        clock: &Clock,
        facts: &mut Facts,
        covered: &mut Acknowledged,
        record: &Record,
    ) {
        if record.has(mark::FIN) {
            self.fin_acked = true;
            covered.fin = true;
        }
        let again = record.has(mark::EVER_RETRANSMITTED);
        covered.ambiguous |= again;
        if record.has(mark::SACKED) {
            return;
        }
        if !again {
            if self.paths.times(record.sent(), record.path) {
                let first = covered.sent.map_or(record.sent(), |sent| sent.0);
                covered.sent = Some((first, record.stamp));
            } else {
                covered.changed = true;
            }
            if before(record.start, covered.lowest) {
                covered.lowest = record.start;
            }
            let point = self.paths.active.recovery.point;
            facts.original_delivered |= !after(record.end, point);
        }
        if self.sack {
            self.paths.of(record.path).delivered += 1;
            // The ACK answers an earlier transmission.
            let earlier = again && echo_before(self.echoed, Clock::timestamp_of(record.sent()));
            if earlier {
                self.rack.answered_early(record);
            } else {
                let min_rtt = self.paths.active.rtt.min();
                self.rack.delivered(clock.us, min_rtt, record);
            }
        }
    }

    /// What the two parts show together: reordering, a receiver that reneges, the round-trip time, and whether the timeout counts
    /// from now. `prior_high`: the end of what was SACKed before.
    #[inline(always)] // its only call
    pub(crate) fn conclude(
        &mut self,
        clock: &Clock,
        config: &Config,
        facts: &mut Facts,
        covered: &Acknowledged,
        prior_high: u32,
    ) -> Option<RttSample> {
        let bytes = self.una.wrapping_sub(facts.prior_una);
        self.bytes_acked += u64::from(bytes - u32::from(covered.fin));
        facts.reneged = self.board.front().is_some_and(|r| r.has(mark::SACKED));
        let sample = self.rtt_sample(clock, config, facts, covered);
        if facts.acked > 0 {
            // "(5.3) When an ACK is received that acknowledges new data, restart the retransmission timer" (RFC 6298).
            facts.restart_timer = true;
            if self.sack && before(covered.lowest, prior_high) {
                self.note_reordering(covered.lowest);
            }
        } else if let (Some((first, _)), Some(front)) = (facts.sacked_sent, self.board.front()) {
            let now = clock.us;
            let front_age = now.saturating_sub(front.sent());
            facts.restart_timer = linux::sack_restarts_timeout(now - first, front_age);
        }
        sample
    }

    /// The RTT that an ACK shows, which the path's estimate takes: of segments sent once (Karn), else by the timestamp it echoes.
    #[inline(always)] // its only call
    fn rtt_sample(
        &mut self,
        clock: &Clock,
        config: &Config,
        facts: &Facts,
        covered: &Acknowledged,
    ) -> Option<RttSample> {
        let cumulative = covered
            .sent
            .filter(|_| !covered.ambiguous && !covered.changed);
        let sent = match (cumulative, facts.sacked_sent) {
            (Some((first, last)), None) => Some((first, last)),
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (None, sacked) => sacked,
        };
        let sample = match sent {
            Some((first, last)) => RttSample {
                first: clock.us - first,
                last: clock.us - last.us(),
                last_ns: clock.now - last.ns(),
            },
            None if facts.acked > 0 && !covered.changed && self.echoes_tell_the_rtt(config) => {
                let us = self.echoed_rtt(clock)?;
                RttSample {
                    first: us,
                    last: us,
                    last_ns: us * 1000,
                }
            }
            None => return None,
        };
        let several = config.tdtcp.is_some();
        if several && self.paths.active.srtt() == 0 {
            self.paths.active.hear_first_rtt();
        }
        let rtt = &mut self.paths.active.rtt;
        rtt.sample_min(clock, sample.last as u32);
        let (una, nxt) = (self.una, self.nxt);
        rtt.sample(clock, config, sample.first as u32, una, nxt);
        if several {
            self.paths.end_backoff();
            self.mix_rtts(clock, config);
        }
        Some(sample)
    }

    /// RFC 7323, section 4.1: the RTT by the echoed timestamp, in microseconds.
    fn echoed_rtt(&self, clock: &Clock) -> Option<u64> {
        let ms = clock.timestamp().wrapping_sub(self.echoed);
        let plausible = self.echoed != 0 && ms < linux::LONGEST_RTT_MS;
        plausible.then(|| u64::from(ms.max(1)) * 1000)
    }
}
