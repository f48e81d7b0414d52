//! Header prediction (Van Jacobson, "4BSD TCP Header Prediction", 1990): while nothing is amiss, an end that only receives expects the next
//! bytes, and one that only sends expects an ACK of the oldest that it sent. Whether it is such an end is asked when it falls silent, by
//! [`outlook`](Connection::outlook); the segment must then be the one foretold ([`foretells`](Connection::foretells)). So all questions that the
//! general way asks of every segment (`connection.rs`, `ack.rs`, `digest.rs`) and of what goes out for it (`transmit.rs`) have their answers
//! before, and what is left of it is here. It does the same: the test below holds it against the general way, to each bit of a connection.

use crate::cc::{Ack, CongestionControl, State};
use crate::connection::{Connection, ConnectionState};
use crate::frto::Retransmit;
use crate::segment::{Flags, Segment};
use crate::sender::Fin;
use crate::seq::{after, before};

/// What may be due, and what is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
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

impl Outlook {
    /// Nothing is due.
    #[inline]
    pub fn is_silent(self) -> bool {
        matches!(
            self,
            Outlook::Silent | Outlook::AwaitsData | Outlook::AwaitsAck
        )
    }

    /// What was expected has come.
    #[inline]
    pub fn is_foretold(self) -> bool {
        matches!(self, Outlook::DataCame | Outlook::AckCame)
    }

    /// Something else has changed than what was expected: the general way is taken.
    pub fn surprise(&mut self) {
        *self = if self.is_silent() {
            Outlook::Silent
        } else {
            Outlook::Open
        };
    }
}

impl<C: CongestionControl> Connection<C> {
    /// What is expected of the peer, now that nothing is due.
    pub(crate) fn outlook(&self) -> Outlook {
        let plain = self.state == ConnectionState::Established
            && self.subflow.is_none()
            && self.config.tdtcp.is_none()
            && !self.snd.ecn
            && self.snd.forced.is_none()
            && self.rcv.expects_nothing_but_data();
        if !plain {
            Outlook::Silent
        } else if self.is_idle() {
            Outlook::AwaitsData
        } else if self.expects_ack() {
            Outlook::AwaitsAck
        } else {
            Outlook::Silent
        }
    }

    /// What is outstanding was sent once, on the only path, and nothing speaks against it; nothing is owed to the peer.
    fn expects_ack(&self) -> bool {
        let path = &self.paths.active;
        !self.snd.board.is_empty()
            && self.snd.board.is_intact()
            && self.snd.sack
            && self.snd.fin == Fin::None
            && self.snd.timeouts == 0
            && self.frto.retransmit == Retransmit::Lost
            && !self.probe.is_out()
            && !self.paced
            && path.recovery.state == State::Open
            && path.rate.is_none()
            && self.paths.is_only_one()
            && self.rcv.owes_nothing()
    }

    /// Whether `segment` is the one that was expected.
    #[inline(always)] // for every packet
    pub(crate) fn foretells(&self, segment: &Segment) -> bool {
        if !matches!(self.outlook, Outlook::AwaitsData | Outlook::AwaitsAck) {
            return false;
        }
        let timely = match segment.timestamps {
            Some((value, _)) => self.snd.timestamps && !before(value, self.snd.ts_recent),
            None => !self.snd.timestamps,
        };
        let plain = timely
            && segment.seq == self.rcv.nxt
            && segment.sack.is_empty()
            && segment.tdn.is_none()
            && segment.mptcp.is_none();
        match self.outlook {
            Outlook::AwaitsData => {
                plain
                    && segment.flags.0 | Flags::PSH.0 == (Flags::ACK | Flags::PSH).0
                    && segment.ack == self.snd.una
                    && self.rcv.takes_whole(u32::from(segment.len))
            }
            Outlook::AwaitsAck => {
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
    pub(crate) fn take_foretold(&mut self, segment: &Segment) -> bool {
        if self.outlook == Outlook::AwaitsData {
            self.take_foretold_data(segment);
            return true;
        }
        let Some(count) = self.snd.board.unmarked_up_to(self.snd.una, segment.ack) else {
            return false;
        };
        self.take_foretold_ack(segment, count);
        true
    }

    #[inline(always)] // its only call
    fn take_foretold_data(&mut self, segment: &Segment) {
        let len = u32::from(segment.len);
        let echoed_before = self.snd.echoed;
        self.note_timestamps(segment);
        self.frto.retransmit = Retransmit::Lost;
        self.snd.board.forget_reported();
        self.update_window(segment, false);
        self.rcv
            .note_echo(&self.clock, len, self.snd.echoed, echoed_before);
        let rtt = &self.paths.active.rtt;
        self.rcv
            .receive_whole(&self.clock, len, segment.flags, rtt.rto_ticks());
        self.rcv.schedule(&self.clock, rtt.srtt());
        self.outlook = if self.rcv.ack_due() {
            Outlook::DataCame
        } else {
            Outlook::AwaitsData
        };
    }

    /// `count`: so many segments are acknowledged.
    #[inline(always)] // its only call
    fn take_foretold_ack(&mut self, segment: &Segment, count: u32) {
        self.note_timestamps(segment);
        let prior_una = std::mem::replace(&mut self.snd.una, segment.ack);
        self.update_window(segment, true);
        self.snd.board.forget_reported();
        let (first, last) = self.snd.board.pop_unmarked_up_to(count);
        let path = &mut self.paths.active;
        path.pipe.acked(count);
        path.delivered += u64::from(count);
        let now = self.clock.us;
        self.rack.delivered(now, path.rtt.min(), &last);
        self.snd.bytes_acked += u64::from(segment.ack.wrapping_sub(prior_una));
        let rtt = now - last.sent;
        path.rtt.sample_min(&self.clock, rtt as u32);
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        path.rtt
            .sample(&self.clock, (now - first.sent) as u32, una, nxt);
        let mut ack = Ack {
            now: self.clock.now,
            jiffies: self.clock.jiffies,
            acked: count,
            delivered: count,
            rtt: Some(rtt * 1000),
            srtt: path.srtt(),
            cwnd_limited: false,
            ece: false,
            prior_una,
            una,
            nxt,
            hz: self.clock.hz,
        };
        path.cc.on_ack(&mut path.window, &ack);
        self.set_transmit_timer();
        self.grow(&mut ack);
        self.outlook = Outlook::AckCame;
    }

    /// The next segment, if one goes out for the segment that was expected.
    #[inline(always)] // for every packet
    pub(crate) fn next_foretold(&mut self, out: &mut Segment) -> bool {
        if self.outlook == Outlook::DataCame {
            self.outlook = Outlook::AwaitsData;
            self.pure_ack(out);
            return true;
        }
        if self.snd.pending > 0 {
            if let Some(len) = self.next_of_chunk() {
                if !self.queue_full(false) {
                    let (start, end, _) = self.record_new(len);
                    self.plain(self.rcv.field(), out);
                    self.payload(start, end, false, out);
                    if self.pushes(len) {
                        out.flags |= Flags::PSH;
                    }
                    return true;
                }
            }
        }
        self.note_burst();
        self.outlook = Outlook::AwaitsAck;
        false
    }
}

#[cfg(test)]
mod tests;
