//! What an incoming ACK brings, in the order in which Linux takes it: window, SACKs, cumulative acknowledgement, RTT, loss
//! recovery, congestion control.

use crate::cc::{Ack, CongestionControl, State};
use crate::connection::Connection;
use crate::path::DUP_THRESH;
use crate::scoreboard::mark;
use crate::segment::{Flags, Segment};
use crate::sender::Retransmit;
use crate::seq::{after, before};
use crate::timers::{Clock, Purpose};

/// News of one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// SND.UNA before.
    pub prior_una: u32,
    /// SND.UNA advanced.
    pub advanced: bool,
    /// Segments cumulatively acknowledged, retransmitted ones among them.
    pub acked: u32,
    pub resent_acked: bool,
    /// A segment sent before `recovery_point` and never retransmitted was delivered (F-RTO).
    pub original_delivered: bool,
    /// A segment was newly SACKed.
    pub sacked: bool,
    /// ECE, and ECN is on.
    pub ece: bool,
    /// A DSACK for something retransmitted; for the loss probe.
    pub dsack: bool,
    pub dsack_of_probe: bool,
    /// Counts as a duplicate ACK.
    pub duplicate: bool,
    pub carries_data: bool,
    pub window_update: bool,
    /// A retransmission was found lost.
    pub lost_retransmit: bool,
    /// The retransmission timer must be set again.
    pub set_timer: bool,
    /// The front of the scoreboard is SACKed although SND.UNA stands before it.
    pub reneging: bool,
    /// When the first and the last of the newly SACKed originals were sent; 0 if there are none.
    pub sack_first_sent: u64,
    pub sack_last_sent: u64,
    /// Lowest original delivered after later ones.
    pub reordered_from: u32,
}

impl<C: CongestionControl> Connection<C> {
    /// Takes the acknowledgement in `segment`.
    pub(crate) fn on_ack(&mut self, segment: &Segment) {
        let ack = segment.ack;
        if after(ack, self.snd.nxt) {
            // Something not sent yet: tell the peer where we are (RFC 5961).
            self.rcv.force_ack();
            return;
        }
        let prior_una = self.snd.una;
        let ece_flag = segment.flags.contains(Flags::ECE);
        if ack == prior_una && segment.sack.is_empty() && self.is_idle() {
            if ece_flag && self.snd.ecn {
                self.stats.ece_received += 1;
            }
            self.snd.retransmit = Retransmit::Lost;
            self.snd.seen_sacks.1 = 0;
            self.update_window(segment, false);
            return;
        }
        let mut news = News {
            prior_una,
            advanced: after(ack, prior_una),
            acked: 0,
            resent_acked: false,
            original_delivered: false,
            sacked: false,
            ece: ece_flag && self.snd.ecn,
            dsack: false,
            dsack_of_probe: false,
            duplicate: false,
            carries_data: segment.len > 0,
            window_update: false,
            lost_retransmit: false,
            set_timer: false,
            reneging: false,
            sack_first_sent: 0,
            sack_last_sent: 0,
            reordered_from: self.snd.nxt,
        };
        if news.ece {
            self.stats.ece_received += 1;
        }
        if before(ack, prior_una) {
            if self.snd.sack && !segment.sack.is_empty() {
                self.take_sacks(segment, &mut news);
                self.recover(&mut news);
            }
            return;
        }
        if self.snd.retransmit != Retransmit::Lost {
            self.snd.retransmit = Retransmit::Lost;
        }
        let prior_pipe = self.path.pipe;
        let prior_in_flight = prior_pipe.in_flight();
        let prior_delivered = self.path.delivered;
        let prior_lost = self.path.lost;
        let prior_high = self.snd.board.highest_sacked(&self.path.pipe, prior_una);
        if news.advanced {
            self.snd.timeouts = 0;
        }
        news.window_update = self.update_window(segment, news.advanced);
        self.snd.una = ack;
        if self.snd.sack && !segment.sack.is_empty() {
            self.take_sacks(segment, &mut news);
        } else {
            self.snd.seen_sacks.1 = 0;
        }
        if prior_pipe.outstanding == 0 {
            if news.dsack {
                self.recover(&mut news);
            }
            if self.next_len().is_some() {
                self.snd.persist_backoff = 0;
            }
            self.check_persist();
            self.process_tlp_ack(ack, false, news.dsack_of_probe);
            return;
        }
        let acked_bytes = ack.wrapping_sub(prior_una);
        let rtt = self.clean(&mut news, acked_bytes, prior_high);
        let not_dup = news.carries_data || news.window_update || news.acked > 0;
        let mut info = Ack {
            now: self.clock.now,
            jiffies: self.clock.jiffies,
            acked: news.acked,
            delivered: (self.path.delivered - prior_delivered) as u32,
            lost: 0,
            rtt: rtt.map(|us| us * 1000),
            srtt: self.path.srtt(),
            min_rtt: self.path.min_rtt(),
            prior_in_flight,
            cwnd_limited: self.path.cwnd_limited(),
            ece: ece_flag && (self.snd.ecn || self.reads_ece),
            prior_una,
            una: ack,
            nxt: self.snd.nxt,
            open: self.path.open_or_disorder(),
            hz: self.clock.hz,
        };
        if news.acked > 0 || news.sacked || info.ece {
            self.path.cc.on_ack(&mut self.path.window, &info);
        }
        if self.snd.probe_end.is_some() {
            let pure_duplicate = !news.advanced && !not_dup && !news.sacked;
            self.process_tlp_ack(ack, pure_duplicate, news.dsack_of_probe);
        }
        if !not_dup || news.sacked || news.ece || news.dsack || self.path.state != State::Open {
            news.duplicate = !news.advanced && !not_dup && !news.dsack;
            self.recover(&mut news);
        }
        if news.set_timer {
            self.set_transmit_timer();
        }
        info.delivered = (self.path.delivered - prior_delivered) as u32;
        let newly_lost = self.path.lost - prior_lost;
        info.lost = newly_lost as u32;
        if self.path.reducing() {
            self.reduce_window(info.delivered, newly_lost, news.advanced);
        } else if news.acked > 0 || (self.path.reordering > DUP_THRESH && news.sacked) {
            info.open = self.path.open_or_disorder();
            info.cwnd_limited = self.path.cwnd_limited();
            self.path.cc.increase(&mut self.path.window, &info);
        }
    }

    /// Nothing is in flight and nothing waits to be: so it is at the end that only receives.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.path.pipe.outstanding == 0
            && !self.snd.has_unsent()
            && self.snd.probe_end.is_none()
            && self.timer.purpose == Purpose::None
    }

    /// Takes the peer's window (RFC 9293, 3.10.7.4). Returns whether the segment was the latest to tell it.
    #[inline]
    fn update_window(&mut self, segment: &Segment, advanced: bool) -> bool {
        let window = u32::from(segment.window) << self.snd.peer_scale;
        let newer = advanced
            || after(segment.seq, self.snd.window_seq)
            || (segment.seq == self.snd.window_seq && (window > self.snd.window || window == 0));
        if newer {
            self.snd.window_seq = segment.seq;
            self.snd.window = window;
            self.snd.max_window = self.snd.max_window.max(window);
        }
        newer
    }

    /// Takes acknowledged segments off the scoreboard. Returns the RTT that the congestion control is told, in microseconds.
    fn clean(&mut self, news: &mut News, acked_bytes: u32, prior_high: u32) -> Option<u64> {
        let (una, now) = (self.snd.una, self.clock.us);
        let (mut first_sent, mut last_sent, mut fin) = (None, 0, 0);
        let mut reordered_from = self.snd.nxt;
        let path = &mut self.path;
        let min_rtt = path.rtt.min();
        // Nearly always this is all: segments that were sent once and arrived in order.
        if let Some((first, last, count)) = self.snd.board.pop_unmarked(una) {
            news.acked = count;
            news.original_delivered = !after(first.end, path.recovery_point);
            path.pipe.outstanding -= count;
            (first_sent, last_sent) = (Some(first.sent), last.sent);
            reordered_from = first.start;
            if self.snd.sack {
                path.delivered += u64::from(count);
                path.rack.delivered(now, min_rtt, &last);
            }
        }
        while let Some(&record) = self.snd.board.front() {
            if after(record.end, una) {
                break;
            }
            self.snd.board.pop(1);
            news.acked += 1;
            path.pipe.outstanding -= 1;
            if record.has(mark::FIN) {
                self.fin_acked = true;
                fin = 1;
            }
            let marks = record.marks & !mark::FIN;
            if marks == 0 {
                first_sent = first_sent.or(Some(record.sent));
                last_sent = record.sent;
                if before(record.start, reordered_from) {
                    reordered_from = record.start;
                }
                news.original_delivered |= !after(record.end, path.recovery_point);
            } else {
                if record.has(mark::EVER_RESENT) {
                    path.pipe.resent -= u32::from(record.has(mark::RESENT));
                    news.resent_acked = true;
                } else if !record.has(mark::SACKED) {
                    first_sent = first_sent.or(Some(record.sent));
                    last_sent = record.sent;
                    if before(record.start, reordered_from) {
                        reordered_from = record.start;
                    }
                    news.original_delivered |= !after(record.end, path.recovery_point);
                }
                path.pipe.lost -= u32::from(record.has(mark::LOST));
                if record.has(mark::SACKED) {
                    path.pipe.sacked -= 1;
                    continue;
                }
            }
            if self.snd.sack {
                path.delivered += 1;
                let spurious = record.has(mark::EVER_RESENT)
                    && self.snd.echo_before(Clock::timestamp_of(record.sent));
                if !spurious {
                    path.rack.delivered(now, min_rtt, &record);
                }
            }
        }
        self.snd.board.clear_hints_if_empty();
        if !self.snd.sack && news.acked > 0 {
            // One of them filled the hole, the others had sent duplicate ACKs.
            let pipe = &mut self.path.pipe;
            self.path.delivered += u64::from(news.acked.saturating_sub(pipe.sacked).max(1));
            pipe.sacked = pipe.sacked.saturating_sub(news.acked - 1);
            self.limit_duplicates();
        }
        self.snd.bytes_acked += u64::from(acked_bytes - fin);
        news.reneging = self.snd.board.front().is_some_and(|r| r.has(mark::SACKED));
        let sack_rtt = (news.sack_first_sent != 0).then(|| now - news.sack_first_sent);
        let mut sample = None;
        let mut told = None;
        if let (Some(first), false) = (first_sent, news.resent_acked) {
            sample = Some(now - first);
            told = Some(now - last_sent);
        }
        if sack_rtt.is_some() {
            told = Some(now - news.sack_last_sent);
        }
        let mut sample = sample.or(sack_rtt);
        if sample.is_none() && news.acked > 0 && self.snd.echoed != 0 {
            let ms = self.clock.timestamp().wrapping_sub(self.snd.echoed);
            if ms < 1 << 21 {
                sample = Some(u64::from(ms.max(1)) * 1000);
                told = sample;
            }
        }
        if let (Some(us), Some(told)) = (sample, told) {
            self.path.rtt.sample_min(&self.clock, told as u32);
            self.path
                .rtt
                .sample(&self.clock, us as u32, self.snd.una, self.snd.nxt);
        }
        if news.acked > 0 {
            news.set_timer = true;
            if self.snd.sack && before(reordered_from, prior_high) {
                self.note_reordering(reordered_from);
            }
        } else {
            if let (Some(rtt), Some(front)) = (sack_rtt, self.snd.board.front()) {
                // Not if the SACKed segment was sent after the front: else the timeout would recede for ever.
                news.set_timer = rtt > now.saturating_sub(front.sent);
            }
        }
        told
    }

    /// Sets the loss probe's timer, or else the retransmission timer.
    #[inline]
    pub(crate) fn set_transmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Microseconds until the front of the scoreboard times out; `None` if that is past.
    pub(crate) fn us_until_rto(&self) -> Option<u64> {
        let front = self.snd.board.front()?;
        let due = front.sent + self.clock.us_of_ticks(self.path.rtt.rto_ticks);
        due.checked_sub(self.clock.us).filter(|&us| us > 0)
    }

    /// Sets the retransmission timer (RFC 6298, 5.1 to 5.3): a full timeout from now, or what is left of it if the timer
    /// served another purpose meanwhile.
    pub(crate) fn rearm_rto(&mut self) {
        if self.path.pipe.outstanding == 0 {
            if self.timer.purpose != Purpose::Persist {
                self.timer.clear();
            }
            return;
        }
        if matches!(self.timer.purpose, Purpose::Reordering | Purpose::LossProbe) {
            self.resume_rto();
        } else {
            self.timer
                .set(&self.clock, Purpose::Rto, self.path.rtt.rto_ticks);
        }
    }

    /// Sets the retransmission timer to what is left of the timeout since the front was sent: the timer served another
    /// purpose meanwhile, which is no news of the network.
    pub(crate) fn resume_rto(&mut self) {
        if self.path.pipe.outstanding == 0 {
            return;
        }
        let ticks = self.clock.ticks_for_us(self.us_until_rto().unwrap_or(1));
        self.timer.set(&self.clock, Purpose::Rto, ticks);
    }
}
