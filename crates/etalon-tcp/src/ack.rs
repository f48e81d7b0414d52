//! An incoming ACK: digested into facts with the help of the scoreboard, then told to whom they concern.
//!
//! The facts: what was delivered (counted on each [`Path`](crate::Path)), what arrived out of order, round-trip times. What is
//! lost follows from them (`rack.rs`). They are heard by the congestion control, the loss probe, recovery and the timer.

use crate::cc::{Ack, CongestionControl};
use crate::connection::Connection;
use crate::frto::Retransmit;
use crate::linux;
use crate::scoreboard::{Record, mark};
use crate::segment::{Flags, Segment};
use crate::seq::{after, before};
use crate::timers::{Clock, Purpose};
use crate::undo::echo_before;

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// SND.UNA before, and whether it advanced.
    pub prior_una: u32,
    pub progress: bool,
    /// Delivered: segments acknowledged cumulatively, and whether one was newly SACKed.
    pub acked: u32,
    pub sacked: bool,
    /// Delivered: a segment that was never retransmitted and was sent before the recovery point.
    pub original_delivered: bool,
    /// Reordered: the lowest segment never retransmitted that was delivered after later ones; SND.NXT if there is none.
    pub reordered_from: u32,
    /// RTT: when the first and the last of the newly SACKed originals were sent on the active path; `None` without any.
    pub sacked_sent: Option<(u64, u64)>,
    /// ECE, and ECN is on.
    pub ece: bool,
    /// A DSACK for something retransmitted; for the loss probe.
    pub reported: bool,
    pub probe_reported: bool,
    /// Counts as a duplicate ACK (RFC 5681, section 2).
    pub duplicate: bool,
    /// The segment has payload or FIN; it changes the window.
    pub carries_data: bool,
    pub window_update: bool,
    /// The front is SACKed although SND.UNA stands before it: the receiver has taken back SACKs.
    pub reneged: bool,
    /// The retransmission timer must be set again.
    pub restart_timer: bool,
}

impl Facts {
    fn of(segment: &Segment, prior_una: u32, nxt: u32, ecn: bool) -> Facts {
        Facts {
            prior_una,
            progress: after(segment.ack, prior_una),
            acked: 0,
            sacked: false,
            original_delivered: false,
            reordered_from: nxt,
            sacked_sent: None,
            ece: ecn && segment.flags.contains(Flags::ECE),
            reported: false,
            probe_reported: false,
            duplicate: false,
            carries_data: segment.len > 0,
            window_update: false,
            reneged: false,
            restart_timer: false,
        }
    }

    /// Whether it is more than an acknowledgement number that is known already.
    #[inline]
    fn says_more(&self) -> bool {
        self.carries_data || self.window_update || self.acked > 0
    }
}

/// Round-trip times that the cumulative part of an ACK shows.
#[derive(Clone, Copy, Debug, Default)]
struct Originals {
    /// When the first and the last segment were sent that were sent once, on the active path.
    sent: Option<(u64, u64)>,
    /// A retransmission was among what is acknowledged: no sample (Karn).
    ambiguous: bool,
    /// The path has changed since one of them was sent: no sample either, not even by its timestamp.
    changed: bool,
    /// FIN was.
    fin: bool,
    /// The lowest of those sent once.
    lowest: u32,
}

/// Fact: an RTT sample in microseconds.
#[derive(Clone, Copy, Debug)]
struct RttSample {
    /// Of the first segment that the ACK newly delivers: what the timeout must cover, delayed ACKs included.
    first: u64,
    /// Of the last: what the congestion control is told.
    last: u64,
}

impl<C: CongestionControl> Connection<C> {
    /// Takes the acknowledgement in `segment`.
    pub(crate) fn on_ack(&mut self, segment: &Segment) {
        let (ack, prior_una) = (segment.ack, self.snd.una);
        if after(ack, self.snd.nxt) {
            // Something not sent yet: tell the peer where we are (RFC 5961).
            self.rcv.force_ack();
            return;
        }
        let ece_flag = segment.flags.contains(Flags::ECE);
        if ece_flag && self.snd.ecn {
            self.stats.ece_received += 1;
        }
        if ack == prior_una && segment.sack.is_empty() && self.is_idle() {
            self.frto.retransmit = Retransmit::Lost;
            self.snd.seen_sacks.1 = 0;
            self.update_window(segment, false);
            return;
        }
        let mut facts = Facts::of(segment, prior_una, self.snd.nxt, self.snd.ecn);
        if before(ack, prior_una) {
            // Old, but its SACKs may be news.
            if self.snd.sack && !segment.sack.is_empty() {
                self.take_sacks(segment, &mut facts);
                self.recover(&mut facts);
            }
            return;
        }
        if self.frto.retransmit != Retransmit::Lost {
            self.frto.retransmit = Retransmit::Lost;
        }
        let nothing_out = self.snd.board.is_empty();
        let prior_high = self.snd.board.highest_sacked(prior_una);
        let before = (self.paths.active.delivered, self.paths.active.lost);
        if facts.progress {
            self.snd.timeouts = 0;
        }
        facts.window_update = self.update_window(segment, facts.progress);
        self.snd.una = ack;
        if self.snd.sack && !segment.sack.is_empty() {
            self.take_sacks(segment, &mut facts);
        } else {
            self.snd.seen_sacks.1 = 0;
        }
        if nothing_out {
            self.on_ack_of_nothing(&mut facts, ack);
            return;
        }
        let rtt = self.take_cumulative(&mut facts, ack, prior_high);
        self.tell(&mut facts, rtt, ece_flag, before);
    }

    /// The ACK found nothing outstanding.
    #[cold]
    fn on_ack_of_nothing(&mut self, facts: &mut Facts, ack: u32) {
        if facts.reported {
            self.recover(facts);
        }
        if self.next_len().is_some() {
            self.snd.persist_backoff = 0;
        }
        self.check_persist();
        self.hear_probe(ack, false, facts);
    }

    /// Tells the facts to the congestion control, the loss probe, recovery, the timer and, last, to what sets the window.
    /// `before`: segments delivered on the active path and lost from it before the ACK.
    #[inline(always)] // its only call
    fn tell(
        &mut self,
        facts: &mut Facts,
        rtt: Option<RttSample>,
        ece_flag: bool,
        before: (u64, u64),
    ) {
        let path = &mut self.paths.active;
        let mut ack = Ack {
            now: self.clock.now,
            jiffies: self.clock.jiffies,
            acked: facts.acked,
            delivered: (path.delivered - before.0) as u32,
            rtt: rtt.map(|rtt| rtt.last * 1000),
            srtt: path.srtt(),
            cwnd_limited: path.cwnd_limited(),
            ece: ece_flag && (self.snd.ecn || self.reads_ece),
            prior_una: facts.prior_una,
            una: self.snd.una,
            nxt: self.snd.nxt,
            hz: self.clock.hz,
        };
        if path.rate.is_some() {
            path.sample_rate(self.clock.now);
        }
        if facts.acked > 0 || facts.sacked || ack.ece {
            path.cc.on_ack(&mut path.window, &ack);
        }
        let bare = !facts.says_more();
        if self.probe.is_out() {
            let pure_duplicate = bare && !facts.progress && !facts.sacked;
            self.hear_probe(self.snd.una, pure_duplicate, facts);
        }
        if bare
            || facts.sacked
            || facts.ece
            || facts.reported
            || self.paths.active.recovery.state != crate::cc::State::Open
        {
            facts.duplicate = bare && !facts.progress && !facts.reported;
            self.recover(facts);
        }
        if facts.restart_timer {
            self.set_transmit_timer();
        }
        let path = &mut self.paths.active;
        ack.delivered = (path.delivered - before.0) as u32;
        if path.recovery.reduces() {
            let newly_lost = path.lost - before.1;
            self.follow_prr(ack.delivered, newly_lost, facts.progress);
        } else if facts.acked > 0
            || (facts.sacked && linux::sacks_grow_the_window(self.rack.reordering.degree))
        {
            ack.cwnd_limited = path.cwnd_limited();
            path.cc.increase(&mut path.window, &ack);
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

    /// Takes the peer's window (RFC 9293, 3.10.7.4). Returns whether the segment was the latest to tell it.
    #[inline]
    fn update_window(&mut self, segment: &Segment, progress: bool) -> bool {
        let window = u32::from(segment.window) << self.snd.peer_scale;
        let newer = progress
            || after(segment.seq, self.snd.window_seq)
            || (segment.seq == self.snd.window_seq && (window > self.snd.window || window == 0));
        if newer {
            self.snd.window_seq = segment.seq;
            self.snd.window = window;
            self.snd.max_window = self.snd.max_window.max(window);
        }
        newer
    }

    /// Takes what is acknowledged cumulatively off the scoreboard. Returns the RTT that the ACK shows.
    #[inline(always)] // its only call
    fn take_cumulative(
        &mut self,
        facts: &mut Facts,
        una: u32,
        prior_high: u32,
    ) -> Option<RttSample> {
        let mut originals = Originals {
            lowest: self.snd.nxt,
            ..Originals::default()
        };
        let path = &mut self.paths;
        let point = path.active.recovery.point;
        // Nearly always this is all: segments that were sent once and arrived in order.
        if let Some((first, last, count)) = self.snd.board.pop_unmarked(path, una) {
            facts.acked = count;
            facts.original_delivered = !after(first.end, point);
            originals.lowest = first.start;
            if path.unchanged_since(first.sent, first.path) {
                originals.sent = Some((first.sent, last.sent));
            } else {
                originals.changed = true;
            }
            if self.snd.sack {
                path.active.delivered += u64::from(count);
                let min_rtt = path.active.rtt.min();
                self.rack.delivered(self.clock.us, min_rtt, &last);
            }
        }
        while let Some(record) = self.snd.board.pop_acked(&mut self.paths, una) {
            facts.acked += 1;
            self.take_acked(facts, &mut originals, &record);
        }
        self.snd.board.clear_if_empty();
        if self.paths.active.rate.is_some() {
            self.paths.note_acked_before(self.snd.board.first());
        }
        if !self.snd.sack && facts.acked > 0 {
            self.take_duplicates(facts.acked);
        }
        let bytes = una.wrapping_sub(facts.prior_una);
        self.snd.bytes_acked += u64::from(bytes - u32::from(originals.fin));
        facts.reneged = self.snd.board.front().is_some_and(|r| r.has(mark::SACKED));
        let sample = self.rtt_sample(facts, &originals);
        if facts.acked > 0 {
            facts.restart_timer = true;
            if self.snd.sack && before(originals.lowest, prior_high) {
                self.note_reordering(originals.lowest);
            }
        } else if let (Some((first, _)), Some(front)) = (facts.sacked_sent, self.snd.board.front())
        {
            let now = self.clock.us;
            let front_age = now.saturating_sub(front.sent);
            facts.restart_timer = linux::sack_restarts_timeout(now - first, front_age);
        }
        sample
    }

    /// Without SACK: of the segments acknowledged one filled the hole, the others had sent duplicate ACKs.
    fn take_duplicates(&mut self, acked: u32) {
        let duplicates = self.snd.board.sums().sacked;
        let delivered = acked.saturating_sub(duplicates).max(1);
        self.paths.active.delivered += u64::from(delivered);
        self.count_duplicates(duplicates.saturating_sub(acked - 1));
        self.limit_duplicates();
    }

    /// A segment that has marks, or was sent on another path, was acknowledged cumulatively.
    fn take_acked(&mut self, facts: &mut Facts, originals: &mut Originals, record: &Record) {
        if record.has(mark::FIN) {
            self.fin_acked = true;
            originals.fin = true;
        }
        let again = record.has(mark::EVER_RETRANSMITTED);
        originals.ambiguous |= again;
        if record.has(mark::SACKED) {
            return;
        }
        let point = self.paths.active.recovery.point;
        if !again {
            if self.paths.unchanged_since(record.sent, record.path) {
                let first = originals.sent.map_or(record.sent, |sent| sent.0);
                originals.sent = Some((first, record.sent));
            } else {
                originals.changed = true;
            }
            if before(record.start, originals.lowest) {
                originals.lowest = record.start;
            }
            facts.original_delivered |= !after(record.end, point);
        }
        if self.snd.sack {
            let path = self.paths.of(record.path);
            path.delivered += 1;
            // The ACK answers an earlier transmission.
            let earlier = again && echo_before(self.snd.echoed, Clock::timestamp_of(record.sent));
            if !earlier {
                let min_rtt = path.rtt.min();
                self.rack.delivered(self.clock.us, min_rtt, record);
            }
        }
    }

    /// The RTT that an ACK shows, which the path's estimate takes: of segments sent once (Karn), else by the timestamp it echoes.
    #[inline]
    fn rtt_sample(&mut self, facts: &Facts, originals: &Originals) -> Option<RttSample> {
        let now = self.clock.us;
        let cumulative = originals
            .sent
            .filter(|_| !originals.ambiguous && !originals.changed);
        let sent = match (cumulative, facts.sacked_sent) {
            (Some((first, last)), None) => Some((first, last)),
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (None, sacked) => sacked,
        };
        let sample = match sent {
            Some((first, last)) => RttSample {
                first: now - first,
                last: now - last,
            },
            None if facts.acked > 0 && !originals.changed => {
                let us = self.echoed_rtt()?;
                RttSample {
                    first: us,
                    last: us,
                }
            }
            None => return None,
        };
        let rtt = &mut self.paths.active.rtt;
        rtt.sample_min(&self.clock, sample.last as u32);
        rtt.sample(&self.clock, sample.first as u32, self.snd.una, self.snd.nxt);
        Some(sample)
    }

    /// RFC 7323, section 4.1: the RTT by the echoed timestamp, in microseconds.
    fn echoed_rtt(&self) -> Option<u64> {
        let ms = self.clock.timestamp().wrapping_sub(self.snd.echoed);
        let plausible = self.snd.echoed != 0 && ms < linux::LONGEST_RTT_MS;
        plausible.then(|| u64::from(ms.max(1)) * 1000)
    }

    /// Sets the loss probe's timer, or else the retransmission timer.
    #[inline]
    fn set_transmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Microseconds until the front of the scoreboard times out; `None` if that is past.
    pub(crate) fn us_until_rto(&self) -> Option<u64> {
        let front = self.snd.board.front()?;
        let rto = self.clock.us_of_ticks(self.paths.active.rtt.rto_ticks);
        (front.sent + rto)
            .checked_sub(self.clock.us)
            .filter(|&us| us > 0)
    }

    /// Sets the retransmission timer (RFC 6298, 5.1 to 5.3): a full timeout from now, or what is left of it if the timer
    /// served another purpose meanwhile.
    pub(crate) fn rearm_rto(&mut self) {
        if self.snd.board.is_empty() {
            // "(5.2) When all outstanding data has been acknowledged, turn off the retransmission timer."
            if self.timer.purpose != Purpose::Persist {
                self.timer.clear();
            }
            return;
        }
        if matches!(self.timer.purpose, Purpose::Reordering | Purpose::LossProbe) {
            self.resume_rto();
        } else {
            let ticks = self.paths.active.rtt.rto_ticks;
            self.timer.set(&self.clock, Purpose::Rto, ticks);
        }
    }

    /// Sets the retransmission timer to what is left of the timeout since the front was sent: the timer served another
    /// purpose meanwhile, which is no news of the network.
    pub(crate) fn resume_rto(&mut self) {
        if self.snd.board.is_empty() {
            return;
        }
        let ticks = self.clock.ticks_for_us(self.us_until_rto().unwrap_or(1));
        self.timer.set(&self.clock, Purpose::Rto, ticks);
    }
}
