//! The receiving half: what is expected next, the window that is advertised, and what is echoed of marks. What arrived beyond a hole
//! is in `reassembly.rs`, when to acknowledge in `delayed_ack.rs`.

use crate::Config;
use crate::autotune::Autotune;
use crate::delayed_ack::{DelayedAck, MAX_QUICK_ACKS};
use crate::reassembly::Reassembly;
use crate::sack_compression::SackCompression;
use crate::seq::{after, before, earlier};
use crate::timers::{Clock, Purpose};

/// Segment size assumed before the first data (RFC 9293's default).
const DEFAULT_MSS: u32 = 536;

/// Segments that the first round trip is expected to bring (RFC 6928), whatever our own initial window.
const FIRST_SEGMENTS: u32 = 10;

/// An acknowledgement that must go out with an earlier state of the receiver (DCTCP).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PriorAck {
    pub ack: u32,
    pub ece: bool,
}

/// ECN bits of an incoming segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub ce: bool,
    pub ect: bool,
    pub cwr: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Next expected (RCV.NXT).
    pub nxt: u32,
    /// RCV.NXT when the last ACK was sent.
    pub acked_up_to: u32,
    /// Right edge of the window advertised last.
    edge: u32,
    /// Scale of our window field.
    pub scale: u8,
    /// Window that may be advertised so far, and the most.
    window_limit: u32,
    window_bound: u32,
    /// Grows the buffer with the flow.
    autotune: Option<Autotune>,
    buffer: u32,
    /// In order and not yet read.
    unread: u32,
    auto_read: bool,
    pub advertised_mss: u32,
    /// Estimate of the peer's full segment, and the length of the last small one.
    mss: u32,
    last_small: u32,
    pub held: Reassembly,
    /// Bytes delivered in order.
    pub bytes: u64,
    pub acks: DelayedAck,
    pub compression: SackCompression,
    /// SACK was negotiated.
    pub sack: bool,
    /// ECN was negotiated; DCTCP's rule for echoes.
    pub ecn: bool,
    pub dctcp: bool,
    echo: bool,
    marked: bool,
    ecn_seen: bool,
    prior_nxt: u32,
    /// Where the sequence space ends, once the peer's FIN was seen.
    fin_end: Option<u32>,
    pub prior_ack: Option<PriorAck>,
}

impl Receiver {
    pub fn new(config: &Config, clock: &Clock) -> Receiver {
        // As Linux: for the whole of the buffer, of which half is offered.
        let whole = 2 * u64::from(config.receive_buffer.max(config.max_receive_buffer));
        let mut scale = 0;
        while scale < 14 && whole >> scale > 65_535 {
            scale += 1;
        }
        Receiver {
            nxt: 0,
            acked_up_to: 0,
            edge: 0,
            scale,
            window_limit: config.initial_receive_window.min(config.receive_buffer),
            window_bound: config.receive_buffer,
            buffer: config.receive_buffer,
            autotune: (config.max_receive_buffer > config.receive_buffer)
                .then(|| Autotune::new(config.max_receive_buffer)),
            unread: 0,
            auto_read: config.auto_read,
            advertised_mss: u32::from(config.mss),
            mss: DEFAULT_MSS.min(u32::from(config.mss)),
            last_small: 0,
            held: Reassembly::default(),
            bytes: 0,
            acks: DelayedAck::new(config, clock),
            compression: SackCompression::NONE,
            sack: false,
            ecn: false,
            dctcp: false,
            echo: false,
            marked: false,
            ecn_seen: false,
            prior_nxt: 0,
            fin_end: None,
            prior_ack: None,
        }
    }

    /// The peer's SYN had sequence number `seq`.
    pub fn start(&mut self, seq: u32) {
        self.nxt = seq.wrapping_add(1);
        self.acked_up_to = self.nxt;
        self.edge = self.nxt.wrapping_add(self.window_limit.min(65_535));
        self.prior_nxt = self.nxt;
    }

    /// The window of a SYN: whole segments of `mss` bytes.
    pub fn first_window(&mut self, mss: u16) -> u16 {
        let whole = self.window_limit - self.window_limit % u32::from(mss.max(1));
        if whole > 0 {
            self.window_limit = whole;
        }
        self.window_limit.min(65_535) as u16
    }

    /// Window that the peer may still use.
    #[inline]
    pub fn window(&self) -> u32 {
        let left = self.edge.wrapping_sub(self.nxt);
        if (left as i32) < 0 { 0 } else { left }
    }

    /// Whether the segment lies at least partly in the window (RFC 9293, 3.10.7.4).
    #[inline]
    pub fn acceptable(&self, seq: u32, end: u32) -> bool {
        !before(end, self.acked_up_to) && !after(seq, self.nxt.wrapping_add(self.window()))
    }

    /// An ACK must go out now.
    #[inline]
    pub fn ack_due(&self) -> bool {
        self.acks.is_due()
    }

    pub fn force_ack(&mut self) {
        self.acks.hasten();
    }

    /// Whether ACKs carry ECE.
    #[inline]
    pub fn echoes(&self) -> bool {
        self.echo
    }

    /// The window field of the next segment; moves the right edge there, never back.
    #[inline]
    pub fn select_window(&mut self) -> u16 {
        let held = self.held.held();
        let free = self.buffer.saturating_sub(self.unread).saturating_sub(held);
        let mut window = free.min(self.window_limit);
        // Silly window avoidance (RFC 9293, 3.8.6.2.2).
        if window < self.mss.min(self.buffer / 2) {
            window = 0;
        }
        let current = self.window();
        let field = (window.max(current) >> self.scale).min(65_535);
        let offered = field << self.scale;
        if offered > current {
            self.edge = self.nxt.wrapping_add(offered);
        }
        field as u16
    }

    /// A segment with an ACK went out: it serves for what was pending.
    #[inline]
    pub fn ack_sent(&mut self) {
        self.acks.sent();
        self.compression.ack_sent();
        self.acked_up_to = self.nxt;
    }

    /// Quick ACKs for half of the window that the peer has, in full segments: at least 2, at most `most`.
    fn quick_acks(&self, most: u32) -> u32 {
        let window = self.edge.wrapping_sub(self.acked_up_to);
        (window / (2 * self.mss.max(1))).max(2).min(most)
    }

    fn enter_quick_ack(&mut self, most: u32) {
        let count = self.quick_acks(most);
        self.acks.enter_quick(count);
    }

    /// The segment is outside the window or a duplicate: acknowledge at once, and say so.
    pub fn out_of_window(&mut self, seq: u32, end: u32) {
        if end != seq && before(seq, self.nxt) {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.held.duplicate(seq, earlier(end, self.nxt));
        }
        self.force_ack();
    }

    /// Takes the sequence range of a segment with payload or FIN. Returns whether it was in order.
    pub fn receive(
        &mut self,
        clock: &Clock,
        seq: u32,
        len: u32,
        fin: bool,
        marks: Marks,
        rto_ticks: u64,
    ) -> bool {
        self.held.forget_duplicate();
        let end = seq.wrapping_add(len + u32::from(fin));
        if fin {
            self.fin_end = Some(end);
        }
        if marks.cwr && self.ecn {
            self.echo = false;
            self.acks.hasten();
        }
        if seq != self.nxt {
            if !after(end, self.nxt) || after(seq, self.nxt) {
                self.receive_elsewhere(seq, end, marks);
                return false;
            }
            self.held.duplicate(seq, self.nxt);
        }
        if self.window() == 0 {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.acks.owe();
            return false;
        }
        self.receive_next(clock, end, len, marks, rto_ticks);
        true
    }

    /// A duplicate, a segment beyond the window, or one beyond a hole.
    #[cold]
    fn receive_elsewhere(&mut self, seq: u32, end: u32, marks: Marks) {
        self.acks.owe();
        if !after(end, self.nxt) {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.held.duplicate(seq, end);
        } else if !before(seq, self.nxt.wrapping_add(self.window())) {
            self.enter_quick_ack(MAX_QUICK_ACKS);
        } else {
            if self.ecn {
                self.note_mark(marks);
            }
            self.held.insert(seq, end);
            // Without SACK the window stays, so that the ACK is a duplicate.
            if self.sack && seq != end {
                self.grow_window();
            }
        }
    }

    /// The next expected bytes, `len` of payload, up to `end`.
    #[inline]
    fn receive_next(&mut self, clock: &Clock, end: u32, len: u32, marks: Marks, rto_ticks: u64) {
        let before_nxt = self.nxt;
        self.nxt = end;
        if len > 0 {
            self.note_data(clock, len, rto_ticks);
            if let Some(tune) = &mut self.autotune {
                let offered = self.edge.wrapping_sub(self.acked_up_to);
                tune.arrived(clock, end, offered);
            }
            if self.ecn {
                self.note_mark(marks);
            }
        }
        if !self.held.is_empty() {
            self.nxt = self.held.advance(self.nxt);
            if self.held.is_empty() {
                // The last hole is filled (RFC 5681, section 4.2).
                self.acks.hasten();
            }
        }
        let fin_byte = u32::from(self.fin_reached() && self.nxt != before_nxt);
        let advance = self.nxt.wrapping_sub(before_nxt) - fin_byte;
        self.bytes += u64::from(advance);
        if !self.auto_read {
            self.unread += advance;
        }
        if len > 0 {
            self.grow_window();
        }
        if self.auto_read {
            self.tune(clock);
        }
    }

    /// Data arrived: two segments more may be offered, up to the bound.
    #[inline]
    fn grow_window(&mut self) {
        if self.window_limit < self.window_bound {
            let more = self.window_limit.saturating_add(2 * self.advertised_mss);
            self.window_limit = more.min(self.window_bound);
            self.acks.window_grew();
        }
    }

    /// The handshake is complete. Until the buffer grows, one segment of it is not offered.
    pub fn established(&mut self, clock: &Clock) {
        let mss = self.advertised_mss;
        self.window_bound = self
            .buffer
            .saturating_sub(mss)
            .max(2 * mss)
            .min(self.buffer);
        self.window_limit = self.window_limit.min(self.window_bound);
        if let Some(tune) = &mut self.autotune {
            tune.begin(clock, self.window_limit.min(FIRST_SEGMENTS * mss));
        }
    }

    /// The segment echoed our timestamp `echo`.
    #[inline]
    pub fn note_echo(&mut self, clock: &Clock, len: u32, echo: u32) {
        if let Some(tune) = &mut self.autotune {
            if len >= self.mss && echo != 0 {
                tune.echo(clock, echo);
            }
        }
    }

    /// The application has read: is the buffer still large enough?
    #[inline]
    fn tune(&mut self, clock: &Clock) {
        let read = self.bytes - u64::from(self.unread);
        if let Some(tune) = &mut self.autotune {
            if let Some(buffer) = tune.read(clock, read, self.advertised_mss) {
                self.buffer = self.buffer.max(buffer);
                self.window_bound = self.buffer;
            }
        }
    }

    /// Segment size and gaps between segments.
    #[inline]
    fn note_data(&mut self, clock: &Clock, len: u32, rto_ticks: u64) {
        if len >= self.mss {
            self.mss = len.min(self.advertised_mss);
        } else {
            if len == self.last_small && len >= DEFAULT_MSS {
                self.mss = len;
            }
            self.last_small = len;
            if self.auto_read && !self.acks.is_interactive() {
                self.acks.hasten();
            }
        }
        if self.acks.data_arrived(clock, rto_ticks) {
            let count = self.quick_acks(MAX_QUICK_ACKS);
            self.acks.more_quick(count);
        }
    }

    /// ECN: what to echo (RFC 3168, or RFC 8257's state machine). To be asked for connections with ECN only.
    fn note_mark(&mut self, Marks { ce, ect, .. }: Marks) {
        if self.dctcp {
            if ce != self.marked {
                // An ACK that was delayed goes out with the state before the change.
                if self.acks.timer.purpose != Purpose::None {
                    self.prior_ack = Some(PriorAck {
                        ack: self.prior_nxt,
                        ece: self.marked,
                    });
                }
                self.marked = ce;
                self.acks.hasten();
                // When marks begin the next ACK is hastened too. RFC 8257 does not ask for it; Linux is seen to do it, but
                // not always (DEVIATIONS.md).
                if ce {
                    self.enter_quick_ack(2);
                }
            }
            self.prior_nxt = self.nxt;
            self.echo = ce;
        }
        if ce {
            if !self.dctcp && !self.echo {
                self.enter_quick_ack(2);
            }
            self.echo = true;
        }
        if !ect && !ce && self.ecn_seen {
            // Not ECN-capable: a retransmission, so the peer's window may be small.
            self.enter_quick_ack(2);
        }
        self.ecn_seen |= ect || ce;
    }

    /// Everything up to and with the peer's FIN arrived.
    #[inline]
    pub fn fin_reached(&self) -> bool {
        self.fin_end == Some(self.nxt)
    }

    /// After a segment: decides between an ACK now and a delayed one.
    #[inline]
    pub fn schedule(&mut self, clock: &Clock, srtt_us: u32) {
        if !self.acks.is_scheduled() || self.acks.is_due() {
            return;
        }
        let unacked = self.nxt.wrapping_sub(self.acked_up_to);
        let full = unacked > self.mss && (self.auto_read || self.window_would_open());
        if full || self.acks.is_quick() {
            self.acks.hasten();
        } else if self.held.is_empty() {
            self.acks.delay(clock, srtt_us);
        } else if !(self.sack && self.holds_back(clock, srtt_us)) {
            self.acks.hasten();
        }
    }

    /// There is a hole: the ACK may wait for others.
    #[cold]
    fn holds_back(&mut self, clock: &Clock, srtt_us: u32) -> bool {
        let mut rtt8 = self.autotune.as_ref().map_or(0, Autotune::rtt8);
        let srtt8 = u64::from(srtt_us) << 3;
        if rtt8 == 0 || (0 < srtt8 && srtt8 < rtt8) {
            rtt8 = srtt8;
        }
        self.compression.holds_back(clock, self.nxt, rtt8)
    }

    fn window_would_open(&self) -> bool {
        self.buffer.saturating_sub(self.unread) >= self.window()
    }

    /// The application reads up to `max` bytes. A window that doubles thereby is announced.
    pub fn read(&mut self, clock: &Clock, max: u64) -> u64 {
        let taken = u64::from(self.unread).min(max);
        self.unread -= taken as u32;
        if taken > 0 {
            self.tune(clock);
            let current = self.window();
            let free = self
                .buffer
                .saturating_sub(self.unread)
                .min(self.window_limit);
            let sensible = free >= self.mss.min(self.buffer / 2);
            let full_segment_unacked =
                self.acks.is_scheduled() && self.nxt.wrapping_sub(self.acked_up_to) > self.mss;
            if full_segment_unacked
                || (2 * u64::from(current) <= u64::from(self.buffer)
                    && sensible
                    && free >= 2 * current)
            {
                self.force_ack();
            }
        }
        taken
    }
}
