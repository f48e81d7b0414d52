// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving half: what is expected next, the window that is advertised, and what is echoed of marks. What arrived beyond a hole
//! is in `reassembly.rs`, when to acknowledge in `delayed_ack.rs` and `ack_delay.rs`, the window in `window.rs`. It knows nothing of the sending half.

mod ack_delay;
pub(crate) mod autotune;
mod delayed_ack;
mod offer;
mod reassembly;
mod round_trip;
mod sack_compression;
mod waiting;
mod window;

use self::autotune::Autotune;
use self::delayed_ack::{DelayedAck, MAX_QUICK_ACKS};
use self::reassembly::Kept;
pub(crate) use self::waiting::{PriorAck, Waiting};
use crate::memory::Buffer;
use crate::outlet::Outlet;
use crate::rare::Rare;
use crate::segment::Flags;
use crate::seq::{after, before, earlier};
use crate::stats::OfReceiver;
use crate::timers::{Clock, Purpose};
use crate::{Config, Memory};

/// Segment size assumed before the first data (RFC 9293's default).
const DEFAULT_MSS: u32 = 536;

/// Smallest segment that may be a peer's full one (RFC 9293 has no least).
const LEAST_MSS: u32 = 88;

/// ECN bits of an incoming segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub ce: bool,
    pub ect: bool,
    pub cwr: bool,
}

/// One end's receiving half.
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
    /// The window cannot grow with segments of this length or longer.
    too_long_to_grow: u32,
    /// Grows the buffer with the flow.
    pub autotune: Option<Autotune>,
    /// Memory for what was received, and the most that it may become. Half of it is offered.
    buffer: u32,
    max_buffer: u32,
    memory: fn(u32) -> Memory,
    /// Who reads at once does so; not while what came beside a hole waits for its ACK.
    auto_read: bool,
    /// What it offers is of the stream's memory, not its own.
    pub is_subflow: bool,
    pub advertised_mss: u32,
    /// Bytes of options on each segment.
    pub options: u32,
    /// Estimate of the peer's full segment, and the length of the last small one.
    mss: u32,
    last_small: u32,
    pub waiting: Rare<Waiting>,
    /// Bytes delivered in order.
    pub bytes: u64,
    pub acks: DelayedAck,
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
    /// The peer's timestamp that is echoed (TS.Recent), and when it came, in microseconds (RFC 7323, section 4.3).
    pub ts_recent: u32,
    pub ts_recent_at: u64,
    pub stats: Rare<OfReceiver>,
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
            too_long_to_grow: u32::MAX,
            buffer: config.receive_buffer.saturating_mul(2),
            max_buffer: whole.min(u32::MAX.into()) as u32,
            memory: config.memory,
            autotune: (config.max_receive_buffer > config.receive_buffer)
                .then(|| Autotune::new(config.max_receive_buffer.saturating_mul(2))),
            auto_read: config.auto_read,
            is_subflow: false,
            advertised_mss: u32::from(config.mss),
            options: 0,
            mss: DEFAULT_MSS.min(u32::from(config.mss)),
            last_small: 0,
            waiting: Rare::default(),
            bytes: 0,
            acks: DelayedAck::new(config, clock),
            sack: false,
            ecn: false,
            dctcp: false,
            echo: false,
            marked: false,
            ecn_seen: false,
            prior_nxt: 0,
            fin_end: None,
            ts_recent: 0,
            ts_recent_at: 0,
            stats: Rare::default(),
        }
    }

    /// The peer's SYN had sequence number `seq`.
    pub fn start(&mut self, seq: u32) {
        self.nxt = seq.wrapping_add(1);
        self.acked_up_to = self.nxt;
        self.edge = self.nxt.wrapping_add(self.window_limit.min(65_535));
        self.prior_nxt = self.nxt;
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

    /// A segment with an ACK went out: it serves for what was pending.
    #[inline]
    pub fn ack_sent(&mut self) {
        self.acks.sent();
        self.release_held_back();
        self.acked_up_to = self.nxt;
    }

    /// Something waits beyond a hole.
    #[inline]
    fn has_hole(&self) -> bool {
        let waiting = self.waiting.changed();
        waiting.is_some_and(|waiting| !waiting.held.is_empty())
    }

    /// The next segment has SACK blocks.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        let waiting = self.waiting.changed();
        waiting.is_some_and(|waiting| waiting.held.has_blocks())
    }

    /// Has memory for the blocks of the next segment, if that has any and `outlet` has some to spare.
    #[inline]
    pub fn provide(&mut self, outlet: &mut impl Outlet) {
        if let Some(Waiting { held, .. }) = self.waiting.changed_mut() {
            if held.has_blocks() && held.spare.is_empty() {
                held.spare = outlet.spare();
            }
        }
    }

    /// An ACK must go out with an earlier state.
    #[inline]
    pub fn owes_prior_ack(&self) -> bool {
        let waiting = self.waiting.changed();
        waiting.is_some_and(|waiting| waiting.prior_ack.is_some())
    }

    /// No ACK is held back any more, and what waited for one is read.
    #[inline]
    pub fn release_held_back(&mut self) {
        if let Some(waiting) = self.waiting.changed_mut() {
            waiting.compression.ack_sent();
            self.read_late();
        }
    }

    /// When an ACK that is held back goes out, in nanoseconds; `u64::MAX` if none is.
    #[inline]
    pub fn held_back_until(&self) -> u64 {
        let waiting = self.waiting.changed();
        waiting.map_or(u64::MAX, |waiting| waiting.compression.deadline)
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
            let end = earlier(end, self.nxt);
            self.waiting.held.duplicate(seq, end);
        }
        self.force_ack();
    }

    /// Nothing waits beyond a hole or to be read, or is to be reported: what comes next in order is taken at once.
    pub fn expects_nothing_but_data(&self) -> bool {
        let waits = |waiting: &Waiting| {
            !waiting.unread.is_empty()
                || !waiting.held.is_empty()
                || waiting.held.has_blocks()
                || waiting.prior_ack.is_some()
        };
        self.auto_read
            && !self.waiting.changed().is_some_and(waits)
            && self.fin_end.is_none()
            && !self.ecn
            && !self.echo
    }

    /// All that came is acknowledged, with all of the window.
    pub fn owes_nothing(&self) -> bool {
        let holds_any = |waiting: &Waiting| waiting.compression.holds_any();
        self.acked_up_to == self.nxt
            && self.offers_all()
            && self.acks.are_idle()
            && !self.waiting.changed().is_some_and(holds_any)
    }

    /// Whether a segment of `len` bytes is a full one and there is a window for it.
    #[inline]
    pub fn takes_whole(&self, len: u32) -> bool {
        len >= self.mss && after(self.edge, self.nxt)
    }

    /// Takes the next bytes, of an end that [expects](Receiver::expects_nothing_but_data) nothing else. `echoes`: of our timestamps, by
    /// this segment and the one before.
    #[inline(always)] // its only call
    pub fn receive_whole(
        &mut self,
        clock: &Clock,
        len: u32,
        flags: Flags,
        echoes: (u32, u32),
        rto_ticks: u64,
    ) {
        self.nxt = self.nxt.wrapping_add(len);
        self.bytes += u64::from(len);
        self.note_full(len, flags);
        self.note_arrival(clock, rto_ticks);
        self.grow_with(len);
        if let Some(tune) = &mut self.autotune {
            tune.echo(clock, echoes.0, echoes.1, true);
            tune.arrived(clock, self.nxt, self.edge.wrapping_sub(self.acked_up_to));
            if tune.is_over(clock.us) {
                self.tune(clock.us, self.bytes);
            }
        }
    }

    /// Takes the sequence range of a segment with payload or FIN. Returns whether it was in order.
    pub fn receive(
        &mut self,
        clock: &Clock,
        seq: u32,
        len: u32,
        flags: Flags,
        marks: Marks,
        rto_ticks: u64,
    ) -> bool {
        if let Some(waiting) = self.waiting.changed_mut() {
            waiting.held.forget_duplicate();
            self.read_late();
        }
        let fin = flags.contains(Flags::FIN);
        let end = seq.wrapping_add(len + u32::from(fin));
        if fin && self.fin_end.is_none() && self.may_end_at(end) {
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
            self.waiting.held.duplicate(seq, self.nxt);
        }
        if self.window() == 0 {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.acks.owe();
            return false;
        }
        self.receive_next(clock, end, len, flags, marks, rto_ticks);
        true
    }

    /// Whether a FIN before `end` may be true: not if there is more behind it already.
    #[cold]
    fn may_end_at(&self, end: u32) -> bool {
        let more = self.waiting.held.end().is_some_and(|held| after(held, end));
        after(end, self.nxt) && !more
    }

    /// A duplicate, a segment beyond the window, or one beyond a hole.
    #[cold]
    fn receive_elsewhere(&mut self, seq: u32, end: u32, marks: Marks) {
        let in_window = before(seq, self.nxt.wrapping_add(self.window()));
        let in_stream = self.fin_end.is_none_or(|fin| !after(end, fin));
        let beyond_hole = after(end, self.nxt) && in_window && in_stream;
        if beyond_hole && self.ecn {
            self.note_mark(marks);
        }
        self.acks.owe();
        if !after(end, self.nxt) {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.waiting.held.duplicate(seq, end);
        } else if beyond_hole {
            self.receive_beyond_hole(seq, end);
        } else {
            self.enter_quick_ack(MAX_QUICK_ACKS);
        }
    }

    fn receive_beyond_hole(&mut self, seq: u32, end: u32) {
        let len = end.wrapping_sub(seq);
        let segment = Buffer::new(seq, end, (self.memory)(len));
        if self.waiting.held.append(&segment) {
            if self.sack {
                self.grow_window(len, self.free());
            }
            return;
        }
        let free = self.free();
        let waiting = &mut *self.waiting;
        let held_back = waiting.compression.holds_any();
        let (kept, flushes) = waiting.held.insert(segment, held_back);
        // Without SACK the window stays, so that the ACK is a duplicate.
        if kept == Kept::Joined && self.sack {
            self.grow_window(len, self.free());
        }
        if flushes {
            // It serves for this segment too.
            self.waiting.prior_ack = self.waiting.prior_ack.or(Some(PriorAck::Range));
            self.ack_sent();
        }
        if kept == Kept::Alone && self.sack && len > 0 {
            self.grow_window(len, free);
        }
    }

    /// The next expected bytes, `len` of payload, up to `end`.
    #[inline]
    fn receive_next(
        &mut self,
        clock: &Clock,
        end: u32,
        len: u32,
        flags: Flags,
        marks: Marks,
        rto_ticks: u64,
    ) {
        let before_nxt = self.nxt;
        self.nxt = end;
        if len > 0 {
            self.note_data(clock, len, flags, rto_ticks);
            if self.ecn {
                self.note_mark(marks);
            }
            self.keep_and_grow(before_nxt, len);
        }
        if self.has_hole() {
            self.release(clock, before_nxt, len);
            if !self.has_hole() {
                // The last hole is filled (RFC 5681, section 4.2).
                self.acks.hasten();
            }
        }
        let fin_byte = u32::from(self.fin_reached() && self.nxt != before_nxt);
        let advance = self.nxt.wrapping_sub(before_nxt) - fin_byte;
        self.bytes += u64::from(advance);
        if self.auto_read {
            self.read_at_once(clock);
        }
    }

    /// Payload came up to what is expected next by now: segment size, gaps between segments, and what a round trip brings.
    #[inline]
    fn note_data(&mut self, clock: &Clock, len: u32, flags: Flags, rto_ticks: u64) {
        if len >= self.mss {
            self.note_full(len, flags);
        } else {
            self.note_small(len, flags);
        }
        self.note_arrival(clock, rto_ticks);
        if let Some(tune) = &mut self.autotune {
            let offered = self.edge.wrapping_sub(self.acked_up_to);
            tune.arrived(clock, self.nxt, offered);
        }
    }

    /// A segment that is as long as the peer's full ones, or longer.
    #[inline]
    fn note_full(&mut self, len: u32, flags: Flags) {
        self.mss = len.min(self.advertised_mss);
        self.last_small = 0;
        if flags.contains(Flags::PSH) {
            self.answer_alone();
        }
    }

    /// Payload came: when, and whether it calls for quick ACKs.
    #[inline]
    fn note_arrival(&mut self, clock: &Clock, rto_ticks: u64) {
        if self.acks.data_arrived(clock, rto_ticks) {
            let count = self.quick_acks(MAX_QUICK_ACKS);
            self.acks.more_quick(count);
        }
    }

    /// A segment that is smaller than those before: two of a size are taken for the peer's full segments, unless PSH or FIN says why they
    /// are small, or they are too small for any.
    fn note_small(&mut self, len: u32, flags: Flags) {
        let why = flags.0 & (Flags::PSH | Flags::FIN).0 != 0;
        let least = if why { DEFAULT_MSS } else { LEAST_MSS };
        let full = len + self.options >= least;
        let last = std::mem::take(&mut self.last_small);
        if full {
            self.last_small = len;
            if len == last {
                self.mss = len;
                return;
            }
        }
        self.answer_alone();
    }

    /// A segment is small, or full and has PSH: it is acknowledged once it is read.
    fn answer_alone(&mut self) {
        self.acks.small_arrived();
        if self.auto_read && !self.is_subflow && self.acks.answers_small() {
            self.acks.hasten();
        }
    }

    /// ECN: what to echo (RFC 3168, or RFC 8257's state machine). To be asked for connections with ECN only.
    fn note_mark(&mut self, Marks { ce, ect, .. }: Marks) {
        if self.dctcp {
            if ce != self.marked {
                // An ACK that was delayed goes out with the state before the change.
                if self.acks.timer.purpose != Purpose::None {
                    if self.prior_nxt == self.nxt {
                        self.ack_sent();
                    }
                    self.waiting.prior_ack = Some(PriorAck::Marks {
                        ack: self.prior_nxt,
                        ece: self.marked,
                    });
                }
                self.marked = ce;
                self.acks.hasten();
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
    #[inline(always)] // after every segment with payload; one of its two calls is rare
    pub fn schedule(&mut self, clock: &Clock, srtt_us: u32) {
        if self.acks.is_scheduled() && !self.acks.is_due() {
            self.schedule_owed(clock, srtt_us);
        }
    }

    /// The same where an ACK is owed, and not due yet.
    #[inline(always)] // as above
    pub fn schedule_owed(&mut self, clock: &Clock, srtt_us: u32) {
        let unacked = self.nxt.wrapping_sub(self.acked_up_to);
        let full = unacked > self.mss && (self.auto_read || self.window_would_open());
        if full || self.acks.is_quick() {
            self.acks.hasten();
        } else if !self.has_hole() {
            self.acks.delay(clock, srtt_us);
        } else if !(self.sack && self.holds_back(clock, srtt_us)) {
            self.acks.hasten();
        } else {
            self.read_late();
        }
    }

    /// Whether an ACK is owed for what was small, once it is read.
    #[cold]
    pub fn answers_small(&self) -> bool {
        self.acks.is_scheduled() && self.acks.answers_small()
    }

    /// Whether the ACK that is due does not wait until what is small is read.
    #[cold]
    pub fn acks_before_reading(&self) -> bool {
        let full = self.nxt.wrapping_sub(self.acked_up_to) > self.mss;
        self.ack_due() && (full || self.acks.is_quick() || self.has_hole())
    }

    /// There is a hole: the ACK may wait for others.
    #[cold]
    fn holds_back(&mut self, clock: &Clock, srtt_us: u32) -> bool {
        let mut rtt8 = self.autotune.as_ref().map_or(0, Autotune::rtt8);
        let srtt8 = u64::from(srtt_us) << 3;
        if 0 < srtt8 && srtt8 < rtt8 {
            rtt8 = srtt8;
        }
        self.waiting.compression.holds_back(clock, self.nxt, rtt8)
    }
}
