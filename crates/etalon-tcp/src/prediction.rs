// SPDX-License-Identifier: MIT OR Apache-2.0
//! Header prediction (Van Jacobson, "4BSD TCP Header Prediction", 1990): while nothing is amiss, an end that only receives expects the next
//! bytes, and one that only sends expects an ACK of the oldest that it sent. Whether it is such an end is asked when it falls silent, by
//! [`prediction`](Connection::prediction); the segment must then be the one predicted ([`predicts`](Connection::predicts)). So all questions that the
//! general way asks of every segment (`connection.rs`, `ack.rs`, `digest.rs`) and of what goes out for it (`transmit.rs`) have their answers
//! before, and what is left of it is here. What goes out leaves in one go through an [`Outlet`]; so does the data of a sender of which an ACK was not
//! predicted, but that has nothing to repair. It does the same: the test below holds it against the general way, to each bit of a connection.

use crate::cc::{Ack, CongestionControl, State};
use crate::connection::{Connection, ConnectionState};
use crate::outlet::Outlet;
use crate::segment::{Flags, Segment};
use crate::sending::Fin;
use crate::sending::frto::Retransmit;
use crate::sending::output::Limits;
use crate::sending::pacing::Share;
use crate::sending::record::Record;
use crate::seq::{after, before};
use crate::timers::Purpose;

/// What may be due, and what is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prediction {
    // Those in which nothing is due come first: they are asked for with every packet.
    /// Nothing is due, and anything may come.
    Silent,
    /// Nothing is due: the next bytes are expected.
    AwaitsData,
    /// Nothing is due: an ACK of the oldest segments is expected.
    AwaitsAck,
    /// Anything may be due.
    Open,
    /// The bytes came that were expected: an ACK may be due, and nothing else.
    DataCame,
    /// The ACK came: new data may go out, and nothing else.
    AckCame,
}

impl Prediction {
    /// Nothing is due.
    #[inline]
    pub fn is_silent(self) -> bool {
        matches!(
            self,
            Prediction::Silent | Prediction::AwaitsData | Prediction::AwaitsAck
        )
    }

    /// The general way goes on with what was expected and has come.
    #[inline]
    pub fn forget_predicted(&mut self) {
        if matches!(self, Prediction::DataCame | Prediction::AckCame) {
            *self = Prediction::Open;
        }
    }

    /// Something else has changed than what was expected: the general way is taken.
    pub fn surprise(&mut self) {
        *self = if self.is_silent() {
            Prediction::Silent
        } else {
            Prediction::Open
        };
    }
}

impl<C: CongestionControl> Connection<C> {
    /// Sends all that is due at `now`, as [`poll_transmit`](Connection::poll_transmit) would yield it. After a segment, that is the instant at
    /// which the segment came.
    #[inline(always)] // for every packet
    pub fn transmit(&mut self, now: u64, outlet: &mut impl Outlet) {
        if self.is_silent() {
            return;
        }
        if self.prediction == Prediction::DataCame {
            debug_assert!(now <= self.clock.now, "it came just now");
            self.answer_predicted(outlet);
        } else if self.prediction == Prediction::AckCame {
            debug_assert!(now <= self.clock.now, "it came just now");
            self.send_data(outlet);
        } else {
            self.transmit_unpredicted(now, outlet);
        }
    }

    /// Whether [`transmit`](Connection::transmit) sends an ACK that was predicted and no more, so that no timer comes earlier thereby and no
    /// data is held back.
    #[inline]
    pub fn only_answers(&self) -> bool {
        self.prediction == Prediction::DataCame
    }

    /// The same after what was not predicted: often the end still has nothing to say, or only new data.
    #[inline(never)]
    fn transmit_unpredicted(&mut self, now: u64, outlet: &mut impl Outlet) {
        if self.prediction == Prediction::Open {
            self.clock.advance(now);
            if self.owes_an_ack_at_most() {
                // With the ACK what came beside a hole is read, after which more is expected.
                if self.rcv.ack_due() {
                    self.answer(outlet);
                }
                self.prediction = self.prediction();
                return;
            }
            if self.owes_only_data() {
                return self.send_data(outlet);
            }
        }
        self.transmit_generally(now, outlet);
    }

    /// The ACK of what was not expected.
    #[inline(never)]
    fn answer(&mut self, outlet: &mut impl Outlet) {
        self.rcv.provide(outlet);
        outlet.put(|out| {
            self.pure_ack(out);
            self.write_rare_options(out);
            true
        });
    }

    /// Nothing is outstanding or waits to be sent, but for an ACK that may be due.
    #[inline(always)] // asked of every segment that was not predicted
    pub(crate) fn owes_an_ack_at_most(&self) -> bool {
        self.exchanges_data()
            && self.snd.is_idle()
            && !self.rcv.owes_prior_ack()
            && !self.ack_before_data
            && self.snd.forced.is_none()
    }

    /// What is expected of the peer, now that nothing is due.
    pub(crate) fn prediction(&self) -> Prediction {
        if !self.is_plain() {
            return Prediction::Silent;
        }
        if self.snd.board.is_empty() {
            if self.snd.is_idle() && self.snd.board.is_intact() {
                return Prediction::AwaitsData;
            }
        } else if self.expects_ack() {
            return Prediction::AwaitsAck;
        }
        Prediction::Silent
    }

    /// Segments have no options but timestamps, and nothing waits to be read, reported or sent beyond the window.
    fn is_plain(&self) -> bool {
        self.rcv.expects_nothing_but_data()
            && self.state == ConnectionState::Established
            && self.subflow.is_none()
            && self.snd.program_is_done()
            && self.config.tdtcp.is_none()
            && !self.snd.ecn
            && self.snd.forced.is_none()
            && self.snd.frto.retransmit == Retransmit::Lost
    }

    /// Only new data can be due, which leaves as after an ACK that was predicted: nothing is to be sent again, and nothing is owed to the peer.
    #[inline(always)] // as above
    pub(crate) fn owes_only_data(&self) -> bool {
        let path = &self.snd.paths.active;
        self.prediction == Prediction::Open
            && path.pipe.in_flight() > 0
            && !self.snd.board.has_lost()
            && self.snd.fin == Fin::None
            && !self.snd.paced
            && !self.ack_before_data
            && path.rate.is_none()
            && self.snd.paths.is_only_one()
            && self.rcv.owes_nothing()
            && self.is_plain()
    }

    /// What is outstanding was sent once, on the only path, and nothing speaks against it; nothing is owed to the peer.
    fn expects_ack(&self) -> bool {
        let path = &self.snd.paths.active;
        path.recovery.state == State::Open
            && self.snd.board.is_intact()
            && self.snd.sack
            && self.snd.fin == Fin::None
            && self.snd.timeouts == 0
            && !self.snd.probe.is_out()
            && !self.snd.rack.dsack
            && !self.snd.paced
            && path.rate.is_none()
            && self.snd.paths.is_only_one()
            && self.rcv.owes_nothing()
    }

    /// Whether `segment` is the one that was expected.
    #[inline(always)] // for every packet
    pub(crate) fn predicts(&self, segment: &Segment) -> bool {
        if !matches!(
            self.prediction,
            Prediction::AwaitsData | Prediction::AwaitsAck
        ) {
            return false;
        }
        let timely = match segment.timestamps {
            Some((value, _)) => self.snd.timestamps && !before(value, self.rcv.ts_recent),
            None => !self.snd.timestamps,
        };
        let plain = timely
            && segment.seq == self.rcv.nxt
            && segment.tdn.is_none()
            && segment.rare.is_empty();
        match self.prediction {
            Prediction::AwaitsData => {
                plain
                    && segment.flags.0 | Flags::PSH.0 == (Flags::ACK | Flags::PSH).0
                    && segment.ack == self.snd.una
                    && self.rcv.takes_whole(u32::from(segment.len))
            }
            Prediction::AwaitsAck => {
                plain
                    && segment.flags == Flags::ACK
                    && segment.len == 0
                    && after(segment.ack, self.snd.una)
                    && before(segment.ack, self.snd.nxt)
            }
            _ => false,
        }
    }

    /// Takes the segment that was expected. Returns whether it was the one, to the last of what it acknowledges.
    #[inline(always)] // for every packet
    pub(crate) fn take_predicted(&mut self, segment: &Segment) -> bool {
        if self.prediction == Prediction::AwaitsData {
            self.take_predicted_data(segment);
            return true;
        }
        let board = &mut self.snd.board;
        let Some(acked) = board.pop_unmarked_up_to(self.snd.una, segment.ack) else {
            return false;
        };
        self.take_predicted_ack(segment, acked);
        true
    }

    #[inline(always)] // its only call
    fn take_predicted_data(&mut self, segment: &Segment) {
        self.stats.data_segments_received += 1;
        let len = u32::from(segment.len);
        let echoed_before = self.snd.echoed;
        self.snd.echoed = segment.timestamps.map_or(0, |(_, echo)| echo);
        if !after(segment.seq, self.rcv.acked_up_to) {
            self.note_timely(segment);
        }
        self.snd.update_window(segment, false);
        let echoes = (self.snd.echoed, echoed_before);
        let rtt = self.snd.paths.receivers_rtt();
        self.rcv
            .receive_whole(&self.clock, len, segment.flags, echoes, rtt.rto_ticks());
        if !self.rcv.ack_due() {
            self.rcv.schedule_owed(&self.clock, rtt.srtt());
        }
        self.prediction = if self.rcv.ack_due() {
            Prediction::DataCame
        } else {
            Prediction::AwaitsData
        };
    }

    /// The timestamp of a segment that was predicted, so that it is not old, and is not newer than what was acknowledged last.
    #[inline(always)] // for every packet
    fn note_timely(&mut self, segment: &Segment) {
        if let Some((value, _)) = segment.timestamps {
            self.rcv.ts_recent = value;
            self.rcv.ts_recent_at = self.clock.us;
        }
    }

    /// `acked`: when the first segment that is acknowledged was sent, the last, and their number.
    #[inline(always)] // its only call
    fn take_predicted_ack(&mut self, segment: &Segment, acked: (u64, Record, u32)) {
        self.stats.others_received += 1;
        let (first_sent, last, count) = acked;
        self.snd.echoed = segment.timestamps.map_or(0, |(_, echo)| echo);
        self.note_timely(segment);
        let prior_una = std::mem::replace(&mut self.snd.una, segment.ack);
        self.snd.update_window(segment, true);
        let path = &mut self.snd.paths.active;
        path.pipe.acked(count);
        path.delivered += u64::from(count);
        let now = self.clock.us;
        self.snd.rack.delivered(now, path.rtt.min(), &last);
        self.snd.bytes_acked += u64::from(segment.ack.wrapping_sub(prior_una));
        let rtt = now - last.sent();
        path.rtt.sample_min(&self.clock, rtt as u32);
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        let first_rtt = (now - first_sent) as u32;
        path.rtt
            .sample(&self.clock, &self.config, first_rtt, una, nxt);
        self.snd.set_loss_probe(&self.clock, &self.config, true);
        self.prediction = Prediction::AckCame;
        let path = &mut self.snd.paths.active;
        let limited = path.cwnd_limited();
        if path.cc.increase_by(&mut path.window, count, limited) {
            return self.snd.note_growth(&self.clock, &self.config);
        }
        let mut ack = Ack {
            now: self.clock.now,
            jiffies: self.clock.jiffies,
            acked: count,
            delivered: count,
            rtt: Some(self.clock.now - last.stamp.ns()),
            srtt: path.srtt(),
            cwnd_limited: false,
            ece: false,
            prior_una,
            una,
            nxt,
            hz: self.clock.hz,
        };
        path.cc.on_ack(&mut path.window, &ack);
        self.snd.grow(&self.clock, &self.config, &mut ack);
    }

    /// The ACK of what was expected.
    #[inline(never)] // as `send_data`
    fn answer_predicted(&mut self, outlet: &mut impl Outlet) {
        self.prediction = Prediction::AwaitsData;
        let window = self.rcv.select_whole_window();
        let header = self.header(window);
        outlet.put(|out| {
            header.put(out);
            true
        });
        self.rcv.ack_sent();
        self.stats.acks_sent += 1;
    }

    /// New data, as far as the window lets it out.
    #[inline(never)] // so that what receives takes no more registers than it needs
    pub(crate) fn send_data(&mut self, outlet: &mut impl Outlet) {
        let limits = Limits {
            mss: self.snd.mss,
            mapping: None,
        };
        while self.snd.pending > 0 {
            let path = &self.snd.paths.active;
            let free = path.window.cwnd.saturating_sub(path.pipe.in_flight());
            if self.snd.chunk.left == 0
                && (free == 0
                    || self
                        .snd
                        .begin_chunk(&self.clock, &self.config, limits, free, Fin::None)
                        .is_none()
                    || self
                        .snd
                        .is_full_below(&self.config, self.snd.chunk.left, Share::NEW))
            {
                break;
            }
            self.send_chunk(outlet);
        }
        if self.prediction == Prediction::AckCame {
            self.snd.note_burst(&self.clock, &self.config, true);
            self.prediction = Prediction::AwaitsAck;
        } else {
            self.end_burst();
        }
    }

    /// Sends the chunk that was begun, which the window lets out.
    #[inline(always)] // its only call
    fn send_chunk(&mut self, outlet: &mut impl Outlet) {
        let mss = self.snd.mss;
        let chunk = self.snd.chunk.left;
        let first = self.snd.nxt;
        let pushes = self.snd.chunk.several || u64::from(chunk) == self.snd.pending;
        let header = self.header(self.rcv.field());
        let (stamp, path) = (self.clock.stamp(), self.snd.paths.active.id);
        let mut sent = 0;
        let mut count = 0;
        while sent < chunk {
            let len = mss.min(chunk - sent);
            let start = first.wrapping_add(sent);
            sent += len;
            count += 1;
            self.snd.board.append(Record {
                stamp,
                start,
                end: first.wrapping_add(sent),
                order: 0,
                marks: 0,
                path,
                charged: path,
            });
            outlet.put(|out| {
                header.put(out);
                out.seq = start;
                out.len = len as u16;
                if pushes && sent == chunk {
                    out.flags |= Flags::PSH;
                }
                true
            });
        }
        outlet.end_chunk(sent);
        if sent < count * mss {
            self.snd.small_end = first.wrapping_add(sent);
        }
        self.book_chunk(sent, count);
    }

    /// Books `count` segments of a chunk with `sent` bytes together.
    #[inline(always)] // its only call
    fn book_chunk(&mut self, sent: u32, count: u32) {
        let snd = &mut self.snd;
        snd.nxt = snd.nxt.wrapping_add(sent);
        snd.pending -= u64::from(sent);
        snd.buffers.sent(sent);
        snd.chunk.left = 0;
        snd.burst += count;
        snd.rearm |= snd.timer.purpose == Purpose::LossProbe;
        let path = &mut snd.paths.active;
        path.pipe.sent(count);
        if path.recovery.reduces() {
            path.recovery.reduction.prr.out += count;
        }
        path.last_sent = self.clock.jiffies as u32;
        path.last_sent_ns = self.clock.now;
        self.rcv.acks.data_sent(&self.clock);
        if self.config.small_queues {
            self.snd.queued += u64::from(sent);
        }
        self.snd.data_segments_sent += u64::from(count);
    }
}

#[cfg(test)]
mod tests;
