// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes out, and in which order: forced transmissions, retransmissions, new data, and a pure ACK if nothing carried it.

use crate::cc::CongestionControl;
use crate::connection::{Connection, ConnectionState};
use crate::options::RareOptions;
use crate::outlet::{Header, Outlet};
use crate::prediction::Prediction;
use crate::receiving::PriorAck;
use crate::segment::{Flags, Segment};
use crate::sending::Forced;
use crate::sending::output::{Limits, Transmission};

impl<C: CongestionControl> Connection<C> {
    /// The next segment to send at `now`, if any. The owner calls it until it yields `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: u64) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment)
            .then_some(segment)
    }

    /// All that is to be sent at `now`, segment by segment; once only new data is owed, the rest as a burst.
    #[inline(never)]
    pub(crate) fn transmit_generally(&mut self, now: u64, outlet: &mut impl Outlet) {
        self.rcv.provide(outlet);
        let (mut payload, mut part) = (0, 0);
        while outlet.put(|out| {
            let sends = self.poll_transmit_into(now, out);
            payload = u32::from(out.len);
            sends
        }) {
            part += payload;
            if self.snd.chunk.left == 0 {
                outlet.end_chunk(std::mem::take(&mut part));
            }
            if self.is_silent() {
                break;
            }
            if part == 0 && self.owes_only_data() {
                return self.send_data(outlet);
            }
        }
        outlet.end_chunk(part);
    }

    /// As [`poll_transmit`](Connection::poll_transmit), but puts the segment in its place. Returns whether there was one; if not, `out`
    /// may have changed all the same.
    #[inline(always)] // of `transmit_generally`
    fn poll_transmit_into(&mut self, now: u64, out: &mut Segment) -> bool {
        if self.prediction.is_silent() && !(self.snd.paced && now >= self.next_timer()) {
            return false;
        }
        self.clock.advance(now);
        self.prediction.forget_predicted();
        let sends = self.next_segment(out);
        if sends {
            self.write_rare_options(out);
        }
        sends
    }

    /// The options of TDTCP and MPTCP.
    #[inline(always)] // of every segment that is sent alone
    pub(crate) fn write_rare_options(&mut self, out: &mut Segment) {
        if self.config.tdtcp.is_some() || self.subflow.is_some() {
            self.write_tdns(out);
            self.write_dss(out);
        }
    }

    /// Puts the next segment into `out`. Like all functions below that take `out`, it returns whether there is one.
    #[inline(always)] // its only call
    fn next_segment(&mut self, out: &mut Segment) -> bool {
        if !self.exchanges_data() {
            return self.next_of_handshake(out);
        }
        if self.owes_an_ack_at_most() {
            let due = self.rcv.ack_due();
            if due {
                self.pure_ack(out);
            }
            self.prediction = self.prediction();
            return due;
        }
        let waiting = self.rcv.waiting.changed_mut();
        if let Some(prior) = waiting.and_then(|waiting| waiting.prior_ack.take()) {
            self.prior_ack(prior, out);
            return true;
        }
        if self.ack_before_data {
            self.ack_before_data = false;
            self.pure_ack(out);
            return true;
        }
        if let Some(forced) = self.snd.forced.take() {
            if self.force(forced, out) {
                return true;
            }
        }
        let limits = self.limits();
        let (clock, config) = (&self.clock, &self.config);
        if let Some(transmission) = self.snd.next_transmission(clock, config, limits) {
            self.data(transmission, out);
            return true;
        }
        // An ACK goes out when there is nothing else to send, so nothing follows it.
        let due = self.rcv.ack_due();
        if due {
            self.pure_ack(out);
        }
        self.end_burst();
        if self.snd.program_waits() && self.program_goes_on() && !due {
            return self.next_of_program(out);
        }
        due
    }

    /// Whether the program has written more, now that there is nothing else to send.
    #[cold]
    fn program_goes_on(&mut self) -> bool {
        let mss = self.current_mss();
        let more = self.snd.program_goes_on(mss);
        if more {
            self.prediction = Prediction::Open;
        }
        more
    }

    /// What goes out of what the program has just written.
    #[cold]
    fn next_of_program(&mut self, out: &mut Segment) -> bool {
        let limits = self.limits();
        let (clock, config) = (&self.clock, &self.config);
        let next = self.snd.next_transmission(clock, config, limits);
        match next {
            Some(transmission) => self.data(transmission, out),
            None => self.end_burst(),
        }
        next.is_some()
    }

    /// SYN or RST.
    #[cold]
    fn next_of_handshake(&mut self, out: &mut Segment) -> bool {
        let segment = match self.state {
            ConnectionState::SynSent | ConnectionState::SynReceived => {
                std::mem::take(&mut self.syn_due).then(|| self.syn())
            }
            ConnectionState::Closed => self.rst_due.take().map(|rst| *rst),
            _ => None,
        };
        let sends = segment.is_some();
        match segment {
            Some(segment) => {
                *out = segment;
                self.stats.others_sent += 1;
            }
            None => self.prediction = Prediction::Silent,
        }
        sends
    }

    /// A segment without payload, as the receiver's state has it.
    #[inline(always)] // for new data and for ACKs; its calls cost as much as its work
    fn bare(&mut self, out: &mut Segment) {
        let window = self.rcv.select_window();
        self.header(window).put(out);
        if self.rcv.echoes() {
            out.flags |= Flags::ECE;
        }
        out.ect = self.rcv.dctcp && self.snd.ecn;
        if self.snd.sack && self.rcv.has_blocks() {
            self.rcv.stats.dsacks_sent += u32::from(self.rcv.waiting.held.has_dsack());
            let most = self.most_sack_blocks();
            self.rcv.waiting.held.blocks(most, &mut out.rare);
        }
    }

    /// What all segments have in common that go out now. `window`: their window field.
    #[inline(always)] // as above
    pub(crate) fn header(&self, window: u16) -> Header {
        Header {
            seq: self.snd.nxt,
            ack: self.rcv.nxt,
            window,
            timestamps: if self.snd.timestamps {
                Some((self.clock.timestamp(), self.rcv.ts_recent))
            } else {
                None
            },
        }
    }

    /// An ACK that should have gone out before what arrived last.
    #[cold]
    fn prior_ack(&mut self, prior: PriorAck, out: &mut Segment) {
        let mut earlier = RareOptions::default();
        if matches!(prior, PriorAck::Range) {
            let most = self.most_sack_blocks();
            self.rcv.waiting.held.earlier_blocks(most, &mut earlier);
        }
        self.bare(out);
        match prior {
            PriorAck::HeldBack => {
                let timestamp = self.rcv.waiting.compression.timestamp;
                out.timestamps = out.timestamps.map(|(_, echo)| (timestamp, echo));
                self.rcv.ack_sent();
            }
            PriorAck::Marks { ack, ece } => {
                out.ack = ack;
                out.rare.clear_blocks();
                out.flags.0 &= !Flags::ECE.0;
                if ece {
                    out.flags |= Flags::ECE;
                }
            }
            PriorAck::Range => out.rare = earlier,
        }
        self.stats.acks_sent += 1;
    }

    #[inline(always)] // as above; where it is rare, that is cold
    pub(crate) fn pure_ack(&mut self, out: &mut Segment) {
        self.bare(out);
        self.rcv.ack_sent();
        self.stats.acks_sent += 1;
    }

    /// A segment that carries a transmission of ours.
    #[inline(always)] // as above
    fn data(&mut self, transmission: Transmission, out: &mut Segment) {
        if transmission.new && transmission.fin {
            self.fin_sent();
        }
        self.bare(out);
        self.rcv.ack_sent();
        out.seq = transmission.start;
        out.len = (transmission.end.wrapping_sub(transmission.start) - u32::from(transmission.fin))
            as u16;
        if transmission.fin {
            out.flags |= Flags::FIN;
        }
        if transmission.push {
            out.flags |= Flags::PSH;
        }
        if out.len > 0 {
            self.rcv.acks.data_sent(&self.clock);
            if self.snd.account(&self.clock, &self.config, out.len) {
                self.prediction = Prediction::Open;
            }
            if self.snd.ecn && transmission.new {
                out.ect = true;
                if self.snd.cwr_queued {
                    self.snd.cwr_queued = false;
                    out.flags |= Flags::CWR;
                }
            }
        } else {
            self.stats.others_sent += 1;
        }
    }

    /// A transmission that the window does not bound.
    #[cold]
    fn force(&mut self, forced: Forced, out: &mut Segment) -> bool {
        let limits = self.limits();
        let (clock, config) = (&self.clock, &self.config);
        match self.snd.forced_transmission(clock, config, limits, forced) {
            Some(transmission) => self.data(transmission, out),
            None if forced == Forced::WindowProbe => {
                // An old sequence number draws an ACK.
                self.pure_ack(out);
                out.seq = self.snd.una.wrapping_sub(1);
            }
            None => return false,
        }
        true
    }

    /// SACK blocks that fit beside a segment's other options (RFC 2018, section 3; SIGCOMM'22, figure 5).
    fn most_sack_blocks(&self) -> usize {
        let timestamps = usize::from(self.snd.timestamps);
        let beside =
            usize::from(self.writes_tdns()) + usize::from(self.is_subflow()) * (1 + timestamps);
        4 - timestamps - beside
    }

    /// The same beside payload: the mapping of MPTCP's DSS takes 24 of the 40 bytes, timestamps 12 (RFC 8684, section 3.3).
    pub(crate) fn most_sack_blocks_beside_data(&self) -> usize {
        if self.is_subflow() {
            return usize::from(!self.snd.timestamps);
        }
        self.most_sack_blocks()
    }

    /// Payload of a full segment now: SACK blocks take theirs of it.
    #[inline]
    pub(crate) fn current_mss(&self) -> u32 {
        if self.snd.sack && self.rcv.has_blocks() {
            let most = self.most_sack_blocks_beside_data();
            return self.snd.mss - self.rcv.waiting.held.option_len(most);
        }
        self.snd.mss
    }

    /// What bounds the payload of the next new segment.
    #[inline]
    fn limits(&self) -> Limits {
        Limits {
            mss: self.current_mss(),
            mapping: self.maps_data().then(|| self.left_of_mapping()),
        }
    }

    /// Nothing more goes out for now: was it the window that stopped it?
    #[inline]
    pub(crate) fn end_burst(&mut self) {
        self.prediction = Prediction::Silent;
        if self.state == ConnectionState::TimeWait {
            return;
        }
        self.snd.note_burst(&self.clock, &self.config, false);
        if self.snd.paths.active.rate.is_some() {
            self.snd.note_app_limit();
        }
        let mss = self.current_mss();
        self.snd.check_persist(&self.clock, &self.config, mss);
        self.prediction = self.prediction();
    }
}
