//! The receiving half: reassembly as ranges of sequence numbers, SACK and DSACK blocks, the advertised window, and when to
//! acknowledge.
//!
//! Linux acknowledges every second full segment, at once in quick-ACK mode (after the start, losses, duplicates and marks),
//! and otherwise by a timer that adapts between 40 and 200 ms to the gaps between segments. A segment smaller than full that
//! the application reads promptly is acknowledged at once as well.

use crate::autotune::Autotune;
use crate::seq::{after, before, earlier, later};
use crate::timers::{Clock, Purpose, Timer};
use crate::{Config, SackBlocks};

/// ACKs that quick-ACK mode sends at most.
const MAX_QUICK_ACKS: u32 = 16;
/// Segment size assumed before the first data (RFC 9293's default).
const DEFAULT_MSS: u32 = 536;
/// A received range beyond the next expected byte.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    end: u32,
    /// Order of the last arrival in it, for 'most recent first'.
    stamp: u64,
}

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
    /// Grows the buffer with the flow.
    autotune: Option<Autotune>,
    buffer: u32,
    /// In order and not yet read.
    unread: u32,
    auto_read: bool,
    advertised_mss: u32,
    /// Estimate of the peer's full segment, and the length of the last small one.
    mss: u32,
    last_small: u32,
    ranges: Vec<Range>,
    arrivals: u64,
    dsack: Option<(u32, u32)>,
    /// Bytes delivered in order.
    pub bytes: u64,
    /// An ACK is due some time; at once; because of a small segment.
    scheduled: bool,
    now: bool,
    quick: u32,
    /// Data went out soon after data came in: ACKs had better ride on data.
    interactive: bool,
    /// Delayed-ACK time in ticks, 0 before the first data.
    ato: u64,
    min_ato: u64,
    max_ato: u64,
    half_second: u64,
    last_data: u64,
    pub timer: Timer,
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
        let mut scale = 0;
        while scale < 14 && config.receive_buffer.max(config.max_receive_buffer) >> scale > 65_535 {
            scale += 1;
        }
        Receiver {
            nxt: 0,
            acked_up_to: 0,
            edge: 0,
            scale,
            window_limit: config.initial_receive_window.min(config.receive_buffer),
            buffer: config.receive_buffer,
            autotune: (config.timestamps && config.max_receive_buffer > config.receive_buffer)
                .then(|| {
                    let first = config
                        .initial_receive_window
                        .min(config.initial_cwnd * u32::from(config.mss));
                    Autotune::new(first, config.max_receive_buffer)
                }),
            unread: 0,
            auto_read: config.auto_read,
            advertised_mss: u32::from(config.mss),
            mss: DEFAULT_MSS.min(u32::from(config.mss)),
            last_small: 0,
            ranges: Vec::new(),
            arrivals: 0,
            dsack: None,
            bytes: 0,
            scheduled: false,
            now: false,
            quick: 0,
            interactive: false,
            ato: 0,
            min_ato: clock.ticks_for_ns(config.min_delayed_ack).max(1),
            max_ato: clock.ticks_for_ns(config.max_delayed_ack).max(1),
            half_second: u64::from(clock.hz / 2).max(1),
            last_data: 0,
            timer: Timer::OFF,
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

    /// Whether anything waits beyond a hole.
    #[inline]
    pub fn has_holes(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// An ACK must go out now.
    #[inline]
    pub fn ack_due(&self) -> bool {
        self.now
    }

    pub fn force_ack(&mut self) {
        self.scheduled = true;
        self.now = true;
    }

    /// Whether ACKs carry ECE.
    #[inline]
    pub fn echoes(&self) -> bool {
        self.echo
    }

    /// The window field of the next segment; moves the right edge there, never back.
    #[inline]
    pub fn select_window(&mut self) -> u16 {
        let held: u32 = self
            .ranges
            .iter()
            .map(|r| r.end.wrapping_sub(r.start))
            .sum();
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

    /// Fills in the SACK blocks of the next segment: a DSACK first (RFC 2883), then the ranges, most recent first.
    pub fn sack_blocks(&mut self, most: usize, blocks: &mut SackBlocks) {
        let mut room = most;
        if let Some((start, end)) = self.dsack.take() {
            blocks.push(start, end);
            room -= 1;
        }
        let mut newer_than_all = u64::MAX;
        for _ in 0..room.min(self.ranges.len()) {
            let next = self
                .ranges
                .iter()
                .filter(|r| r.stamp < newer_than_all)
                .max_by_key(|r| r.stamp);
            let Some(range) = next else { break };
            blocks.push(range.start, range.end);
            newer_than_all = range.stamp;
        }
    }

    #[inline]
    pub fn has_sack_blocks(&self) -> bool {
        self.dsack.is_some() || !self.ranges.is_empty()
    }

    /// A DSACK waits to be sent.
    pub fn has_dsack(&self) -> bool {
        self.dsack.is_some()
    }

    /// A segment with an ACK went out: it serves for what was pending.
    #[inline]
    pub fn ack_sent(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.min_ato;
            }
        }
        self.acked_up_to = self.nxt;
        self.scheduled = false;
        self.now = false;
        self.timer.clear();
    }

    /// Data went out: a reply soon after data makes the session interactive.
    #[inline]
    pub fn data_sent(&mut self, clock: &Clock) {
        self.interactive |= clock.jiffies.saturating_sub(self.last_data) < self.ato;
    }

    fn more_quick_acks(&mut self, most: u32) {
        let quick = (self.edge.wrapping_sub(self.acked_up_to) / (2 * self.mss.max(1)))
            .max(2)
            .min(most);
        self.quick = self.quick.max(quick);
    }

    fn enter_quick_ack(&mut self, most: u32) {
        self.more_quick_acks(most);
        self.interactive = false;
        self.ato = self.min_ato;
    }

    fn quick_acks(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// The segment is outside the window or a duplicate: acknowledge at once, and say so.
    pub fn out_of_window(&mut self, seq: u32, end: u32) {
        if end != seq && before(seq, self.nxt) {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.dsack = Some((seq, earlier(end, self.nxt)));
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
        let end = seq.wrapping_add(len + u32::from(fin));
        if fin {
            self.fin_end = Some(end);
        }
        if marks.cwr && self.ecn {
            self.echo = false;
            self.now = true;
        }
        if seq != self.nxt {
            if !after(end, self.nxt) {
                self.enter_quick_ack(MAX_QUICK_ACKS);
                self.dsack = Some((seq, end));
                self.scheduled = true;
                return false;
            }
            if !before(seq, self.nxt.wrapping_add(self.window())) {
                self.enter_quick_ack(MAX_QUICK_ACKS);
                self.scheduled = true;
                return false;
            }
            if after(seq, self.nxt) {
                if self.ecn {
                    self.note_mark(marks);
                }
                self.scheduled = true;
                self.insert(seq, end);
                return false;
            }
            self.dsack = Some((seq, self.nxt));
        }
        if self.window() == 0 {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.scheduled = true;
            return false;
        }
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
        if !self.ranges.is_empty() {
            self.fill();
        }
        let fin_byte = u32::from(self.fin_reached() && self.nxt != before_nxt);
        let advance = self.nxt.wrapping_sub(before_nxt) - fin_byte;
        self.bytes += u64::from(advance);
        if !self.auto_read {
            self.unread += advance;
        }
        self.window_limit = self
            .window_limit
            .saturating_add(2 * self.advertised_mss)
            .min(self.buffer);
        if self.auto_read {
            self.tune(clock);
        }
        true
    }

    /// The handshake is complete.
    pub fn established(&mut self, clock: &Clock) {
        if let Some(tune) = &mut self.autotune {
            tune.begin(clock);
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
            }
        }
    }

    /// Moves the next expected byte over ranges that it has reached.
    fn fill(&mut self) {
        let mut reached = 0;
        for range in &self.ranges {
            if after(range.start, self.nxt) {
                break;
            }
            if after(range.end, self.nxt) {
                // The segment overlapped a range: what both hold came twice.
                if range.start != self.nxt {
                    self.dsack = Some((range.start, self.nxt));
                }
                self.nxt = range.end;
            } else {
                self.dsack = Some((range.start, range.end));
            }
            reached += 1;
        }
        self.ranges.drain(..reached);
        if self.ranges.is_empty() {
            self.now = true;
        }
    }

    fn insert(&mut self, seq: u32, end: u32) {
        self.arrivals += 1;
        let from = self.ranges.partition_point(|r| before(r.end, seq));
        let to = from + self.ranges[from..].partition_point(|r| !after(r.start, end));
        let mut merged = Range {
            start: seq,
            end,
            stamp: self.arrivals,
        };
        if from < to {
            let overlap = (
                later(self.ranges[from].start, seq),
                earlier(self.ranges[to - 1].end, end),
            );
            if before(overlap.0, overlap.1) && (to - from == 1) {
                self.dsack = Some(overlap);
            }
            merged.start = earlier(self.ranges[from].start, seq);
            merged.end = later(self.ranges[to - 1].end, end);
        }
        self.ranges.splice(from..to, [merged]);
    }

    /// Segment size, gaps between segments, quick-ACK phase.
    #[inline]
    fn note_data(&mut self, clock: &Clock, len: u32, rto_ticks: u64) {
        self.scheduled = true;
        if len >= self.mss {
            self.mss = len.min(self.advertised_mss);
        } else {
            if len == self.last_small && len >= DEFAULT_MSS {
                self.mss = len;
            }
            self.last_small = len;
            if self.auto_read && !self.interactive {
                self.now = true;
            }
        }
        if self.ato == 0 {
            self.more_quick_acks(MAX_QUICK_ACKS);
            self.ato = self.min_ato;
        } else {
            let gap = clock.jiffies - self.last_data;
            if gap <= self.min_ato / 2 {
                self.ato = self.ato / 2 + self.min_ato / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(rto_ticks);
            } else if gap > rto_ticks {
                self.more_quick_acks(MAX_QUICK_ACKS);
            }
        }
        self.last_data = clock.jiffies;
    }

    /// ECN: what to echo (RFC 3168, or RFC 8257's state machine). To be asked for connections with ECN only.
    fn note_mark(&mut self, Marks { ce, ect, .. }: Marks) {
        if self.dctcp {
            if ce != self.marked {
                // An ACK that was delayed goes out with the state before the change.
                if self.timer.purpose != Purpose::None {
                    self.prior_ack = Some(PriorAck {
                        ack: self.prior_nxt,
                        ece: self.marked,
                    });
                }
                self.marked = ce;
                self.force_ack();
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

    /// FIN was reached. As long as our side is open its ACK waits for data or a FIN to ride on.
    pub fn take_fin(&mut self, open: bool) {
        self.scheduled = true;
        if open {
            self.interactive = true;
        } else {
            self.now = true;
        }
    }

    /// After a segment: decides between an ACK now and a delayed one.
    #[inline]
    pub fn schedule(&mut self, clock: &Clock, srtt_us: u32) {
        if !self.scheduled || self.now {
            return;
        }
        let unacked = self.nxt.wrapping_sub(self.acked_up_to);
        if (unacked > self.mss && (self.auto_read || self.window_would_open()))
            || self.quick_acks()
            || self.has_holes()
        {
            self.now = true;
            return;
        }
        let mut ato = self.ato.max(1);
        if ato > self.min_ato {
            let mut most = if self.interactive {
                self.max_ato
            } else {
                self.half_second
            };
            if srtt_us > 0 {
                most = most.min(clock.ticks_for_us(u64::from(srtt_us)).max(self.min_ato));
            }
            ato = ato.min(most);
        }
        ato = ato.min(self.max_ato);
        let expires = clock.jiffies + ato;
        if self.timer.purpose == Purpose::None {
            self.timer.set(clock, Purpose::Rto, ato);
        } else if self.timer.expires <= clock.jiffies + ato / 4 {
            self.now = true;
        } else if expires < self.timer.expires {
            self.timer.set(clock, Purpose::Rto, ato);
        }
    }

    fn window_would_open(&self) -> bool {
        self.buffer.saturating_sub(self.unread) >= self.window()
    }

    /// The delayed-ACK timer fired. Returns whether an ACK is due.
    pub fn timer_fired(&mut self, rto_ticks: u64) -> bool {
        self.timer.clear();
        if !self.scheduled {
            return false;
        }
        if !self.interactive {
            self.ato = (self.ato * 2).min(rto_ticks);
        } else {
            self.interactive = false;
            self.ato = self.min_ato;
        }
        self.now = true;
        true
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
                self.scheduled && self.nxt.wrapping_sub(self.acked_up_to) > self.mss;
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
