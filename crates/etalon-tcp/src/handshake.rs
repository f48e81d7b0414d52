// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening and closing: SYN with options, ECN negotiation, FIN, RST, TIME-WAIT.

use crate::Ecn;
use crate::cc::CongestionControl;
use crate::connection::{CloseReason, Connection, ConnectionState};
use crate::linux;
use crate::options::{RareOptions, SynOptions};
use crate::segment::{Flags, Segment};
use crate::sending::Fin;
use crate::timers::Purpose;

/// Bytes of the timestamp option, padded, if it is there.
const fn timestamp_option(on: bool) -> u16 {
    if on { 12 } else { 0 }
}

impl<C: CongestionControl> Connection<C> {
    fn wants_ecn(&self) -> bool {
        self.config.ecn == Ecn::On || self.rcv.dctcp
    }

    /// Our SYN, or SYN-ACK.
    pub(crate) fn syn(&mut self) -> Segment {
        let reply = self.state == ConnectionState::SynReceived;
        let mut flags = Flags::SYN;
        if reply {
            flags |= Flags::ACK;
            if self.snd.ecn {
                flags |= Flags::ECE;
            }
        } else if self.wants_ecn() {
            flags |= Flags::ECE | Flags::CWR;
        }
        self.syn_sent_at = self.clock.us;
        self.syns_sent += 1;
        self.snd.nxt = self.snd.first.wrapping_add(1);
        if self.snd.timer.purpose == Purpose::None {
            let ticks = self.snd.paths.active.rtt.rto_ticks();
            self.snd.timer.set(&self.clock, Purpose::Rto, ticks);
        }
        let mss = self.config.mss + timestamp_option(self.config.timestamps);
        let full = mss - timestamp_option(reply && self.snd.timestamps);
        let mut rare = RareOptions::from(SynOptions {
            mss,
            window_scale: (!reply || self.peer_scales).then_some(self.rcv.scale),
            sack_permitted: self.snd.sack,
        });
        rare.set_mptcp(self.offered_mptcp());
        Segment {
            seq: self.snd.first,
            ack: if reply { self.rcv.nxt } else { 0 },
            window: self.rcv.first_window(full),
            flags,
            ect: self.rcv.dctcp && (!reply || self.snd.ecn),
            timestamps: self
                .snd
                .timestamps
                .then(|| (self.clock.timestamp(), self.rcv.ts_recent)),
            tdn: self.offered_tdns(),
            rare,
            ..Segment::default()
        }
    }

    fn take_options(&mut self, syn: &Segment) {
        let offered = syn.rare.syn();
        self.rcv.start(syn.seq);
        self.snd.sack &= offered.sack_permitted;
        self.rcv.sack = self.snd.sack;
        self.snd.timestamps &= syn.timestamps.is_some();
        if let Some((value, echo)) = syn.timestamps {
            self.rcv.ts_recent = value;
            self.rcv.ts_recent_at = self.clock.us;
            self.snd.echoed = echo;
        }
        match offered.window_scale {
            Some(scale) => {
                self.peer_scales = true;
                self.snd.peer_scale = scale.min(14);
            }
            None => self.rcv.scale = 0,
        }
        let options = timestamp_option(self.snd.timestamps);
        self.snd.mss =
            u32::from(self.config.mss + timestamp_option(self.config.timestamps) - options);
        self.rcv.advertised_mss = self.snd.mss;
        self.rcv.options = options.into();
        if offered.mss > options {
            self.snd.mss = self.snd.mss.min(u32::from(offered.mss - options));
        }
        self.agree_on_tdns(syn);
        self.agree_on_mptcp(syn);
        self.snd.window = u32::from(syn.window);
        self.snd.max_window = self.snd.window;
        self.snd.mss = linux::within_half_of(self.snd.window, self.snd.mss);
        self.snd.window_seq = syn.seq;
    }

    pub(crate) fn on_segment_listen(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN)
            || segment.flags.contains(Flags::ACK)
            || segment.flags.contains(Flags::RST)
        {
            return;
        }
        self.take_options(segment);
        let offered = segment.flags.contains(Flags::ECE) && segment.flags.contains(Flags::CWR);
        self.set_ecn(offered && self.wants_ecn());
        self.state = ConnectionState::SynReceived;
        self.syn_due = true;
    }

    /// ACKs echo marks as DCTCP has it, or not.
    pub(crate) fn set_dctcp(&mut self, on: bool) {
        self.snd.dctcp = on;
        self.rcv.dctcp = on;
    }

    fn set_ecn(&mut self, on: bool) {
        self.snd.ecn = on;
        self.rcv.ecn = on;
    }

    pub(crate) fn on_segment_syn_sent(&mut self, segment: &Segment) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.snd.nxt;
        if segment.flags.contains(Flags::RST) {
            if acks_syn {
                self.close(CloseReason::Refused);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) || !acks_syn {
            return;
        }
        self.take_options(segment);
        self.set_ecn(
            self.wants_ecn()
                && segment.flags.contains(Flags::ECE)
                && !segment.flags.contains(Flags::CWR),
        );
        self.establish();
        self.await_join();
        let mss = self.current_mss();
        self.snd.lay_out(0, mss);
        self.snd.begin_writing(mss);
        self.rcv.force_ack();
        self.ack_before_data = true;
    }

    /// In SYN-RECEIVED: returns whether the segment completes the handshake.
    pub(crate) fn completes_handshake(&mut self, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::SYN) {
            // The peer did not get our SYN-ACK.
            self.syn_due = true;
            return false;
        }
        if !segment.flags.contains(Flags::ACK) || segment.ack != self.snd.nxt {
            return false;
        }
        if let Some((_, echo)) = segment.timestamps {
            self.snd.echoed = echo;
        }
        self.establish();
        self.snd.opens = true;
        self.snd.window = u32::from(segment.window) << self.snd.peer_scale;
        self.snd.max_window = self.snd.window;
        let mss = self.current_mss();
        self.snd.lay_out(0, mss);
        self.snd.begin_writing(mss);
        self.snd.window_seq = segment.seq;
        self.answer_join();
        true
    }

    /// Our SYN was acknowledged.
    fn establish(&mut self) {
        self.state = ConnectionState::Established;
        self.snd.una = self.snd.nxt;
        self.snd.small_end = self.snd.nxt;
        self.snd.timer.clear();
        let sample = if self.syns_sent == 1 {
            Some(self.clock.us - self.syn_sent_at)
        } else if self.snd.timestamps && self.snd.echoed != 0 {
            Some(u64::from(self.clock.timestamp().wrapping_sub(self.snd.echoed)).max(1) * 1000)
        } else {
            None
        };
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        let path = &mut self.snd.paths.active;
        match sample {
            Some(us) => {
                path.rtt.sample_min(&self.clock, us as u32);
                path.rtt
                    .sample(&self.clock, &self.config, us as u32, una, nxt);
            }
            None => path.rtt.fall_back(&self.clock, &self.config),
        }
        self.snd.paths.establish(&self.clock, nxt);
        // RFC 6298, 5.7; Linux lets one loss pass.
        let syn_lost_twice = self.syns_sent > 2;
        self.snd.open_window(&self.config, syn_lost_twice);
        self.rcv.established(&self.clock, self.snd.echoed);
    }

    /// The SYN or SYN-ACK timed out.
    pub(crate) fn on_syn_timeout(&mut self) {
        let rtt = &mut self.snd.paths.active.rtt;
        rtt.back_off(&self.clock, &self.config);
        self.snd.stats.rtos += 1;
        self.syn_due = true;
        let ticks = self.snd.paths.active.rtt.rto_ticks();
        self.snd.timer.set(&self.clock, Purpose::Rto, ticks);
    }

    /// The peer's FIN is in order.
    pub(crate) fn on_fin(&mut self) {
        self.fin_received = true;
        let open = self.state == ConnectionState::Established;
        self.rcv.acks.fin_arrived(open);
        self.state = match self.state {
            ConnectionState::Established => ConnectionState::CloseWait,
            ConnectionState::FinWait1 if self.snd.fin_acked => ConnectionState::TimeWait,
            ConnectionState::FinWait1 => ConnectionState::Closing,
            ConnectionState::FinWait2 => ConnectionState::TimeWait,
            other => other,
        };
        if self.state == ConnectionState::TimeWait {
            self.enter_time_wait();
        }
    }

    /// The application closes because the peer has. What is to be acknowledged at once is so before that.
    #[cold]
    pub(crate) fn follow_peer(&mut self) {
        self.ack_before_data |= self.rcv.ack_due() && self.snd.fin == Fin::None;
        self.shutdown();
    }

    /// Starts TIME-WAIT, or starts it again.
    pub(crate) fn enter_time_wait(&mut self) {
        self.state = ConnectionState::TimeWait;
        let ticks = self.clock.ticks_for_ns(self.config.time_wait);
        self.snd.timer.set(&self.clock, Purpose::TimeWait, ticks);
    }

    /// Our FIN went out.
    pub(crate) fn fin_sent(&mut self) {
        self.state = match self.state {
            ConnectionState::Established => ConnectionState::FinWait1,
            ConnectionState::CloseWait => ConnectionState::LastAck,
            other => other,
        };
    }

    /// Our FIN may have been acknowledged.
    pub(crate) fn after_ack(&mut self) {
        if !self.snd.fin_acked {
            return;
        }
        match self.state {
            ConnectionState::FinWait1 => self.state = ConnectionState::FinWait2,
            ConnectionState::Closing => self.enter_time_wait(),
            ConnectionState::LastAck => self.close(CloseReason::Finished),
            _ => {}
        }
    }

    /// A segment for a connection that is over: RST, so that the peer gives up too (RFC 9293, 3.10.7.1).
    pub(crate) fn refuse(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let end = segment.seq.wrapping_add(segment.seq_len());
        let rst = if segment.flags.contains(Flags::ACK) {
            Segment {
                seq: segment.ack,
                flags: Flags::RST,
                ..Segment::default()
            }
        } else {
            Segment {
                ack: end,
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            }
        };
        self.rst_due = Some(Box::new(rst));
    }

    /// The end.
    pub(crate) fn close(&mut self, reason: CloseReason) {
        self.state = ConnectionState::Closed;
        self.close_reason = self.close_reason.or(Some(reason));
        self.snd.timer.clear();
        self.rcv.acks.timer.clear();
        self.rcv.release_held_back();
        self.snd.pending = 0;
    }
}
