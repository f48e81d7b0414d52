// SPDX-License-Identifier: MIT OR Apache-2.0
//! The window that a receiver offers. As Linux it counts the memory of what it has received and not its payload. The rules are in
//! `offer.rs`; here is what they are asked about.

use super::offer::{Arrival, LEAST_TO_GROW, Room};
use super::{Receiver, Waiting};
use crate::memory::Buffer;
use crate::timers::Clock;

/// Segments that the first round trip is expected to bring (RFC 6928), whatever our own initial window.
const FIRST_SEGMENTS: u32 = 10;

impl Receiver {
    /// The window of a SYN: whole segments of `mss` bytes.
    pub fn first_window(&mut self, mss: u16) -> u16 {
        let whole = self.window_limit - self.window_limit % u32::from(mss.max(1));
        if whole > 0 {
            self.window_limit = whole;
        }
        self.edge = self.nxt.wrapping_add(self.window_limit.min(65_535));
        self.window_limit.min(65_535) as u16
    }

    /// Window that the peer may still use.
    #[inline]
    pub fn window(&self) -> u32 {
        let left = self.edge.wrapping_sub(self.nxt);
        if (left as i32) < 0 { 0 } else { left }
    }

    /// The window field of the next segment; moves the right edge there, never back.
    #[inline]
    pub fn select_window(&mut self) -> u16 {
        let offer = self.offer();
        self.move_edge(offer)
    }

    /// The same of a receiver that holds nothing (`what_is_predicted_does_what_the_general_way_does` holds the two together).
    #[inline]
    pub fn select_whole_window(&mut self) -> u16 {
        self.move_edge(self.window_limit)
    }

    /// The window field of a subflow, where its stream has `offered` so many bytes by whichever of them: what the buffer has room for, rounded up,
    /// or the offer that stands, as seen on Linux rounded down. Moves the right edge there.
    pub fn select_stream_window(&mut self, offered: u32) -> u16 {
        let unit = (1 << self.scale) - 1;
        let window = offered.max((self.offer() + unit) & !unit);
        self.edge = self.nxt.wrapping_add(window.min(65_535 << self.scale));
        self.field()
    }

    #[inline]
    fn move_edge(&mut self, offer: u32) -> u16 {
        let unit = (1 << self.scale) - 1;
        let window = offer.max(self.window());
        let field = ((window + unit) >> self.scale).min(65_535);
        self.edge = self.nxt.wrapping_add(field << self.scale);
        field as u16
    }

    /// The same, if nothing came since it was last asked for, and it [was all](Receiver::offers_all).
    #[inline]
    pub fn field(&self) -> u16 {
        (self.edge.wrapping_sub(self.nxt) >> self.scale) as u16
    }

    /// Whether what was offered last is all that there is: not if something was read since.
    #[inline]
    pub(super) fn offers_all(&self) -> bool {
        self.window() >= self.window_limit
    }

    /// The window that the buffer has room for.
    #[inline]
    pub(super) fn offer(&mut self) -> u32 {
        let takes = |waiting: &Waiting| {
            waiting.unread_memory > 0 || !waiting.held.is_empty() || waiting.stream_memory > 0
        };
        if self.waiting.changed().is_some_and(takes) {
            self.offer_beside_what_is_held()
        } else {
            self.window_limit
        }
    }

    /// Memory that is taken, and that is not.
    fn taken(&self) -> u32 {
        self.waiting.unread_memory + self.waiting.held.memory()
    }

    pub(super) fn free(&self) -> u32 {
        self.buffer.saturating_sub(self.taken())
    }

    #[cold]
    pub(super) fn offer_beside_what_is_held(&mut self) -> u32 {
        let room = Room {
            buffer: self.buffer,
            taken: if self.is_subflow {
                self.waiting.stream_memory
            } else {
                self.taken()
            },
            earned: self.window_limit,
            bound: self.window_bound,
            segment: self.mss,
            scale: self.scale,
        };
        if room.is_scarce() {
            self.acks.end_quick();
        }
        room.offer()
    }

    /// It is a subflow's, of a stream that takes so much memory: that is what counts, and not what waits here.
    pub fn stream_takes(&mut self, memory: u32) {
        if memory > 0 || self.waiting.stream_memory > 0 {
            self.waiting.stream_memory = memory;
        }
    }

    /// Data arrived in order: it takes memory until it is read, and the window may grow.
    #[inline]
    pub(super) fn keep_and_grow(&mut self, start: u32, len: u32) {
        if self.auto_read {
            self.grow_with(len);
        } else {
            self.keep(start, len);
        }
    }

    /// Data arrived and is read at once: the window may grow.
    #[inline]
    pub(super) fn grow_with(&mut self, len: u32) {
        if len < self.too_long_to_grow {
            let memory = (self.memory)(len).alone;
            self.grow_beside(len, self.free().saturating_sub(memory));
        }
    }

    #[cold]
    pub(super) fn keep(&mut self, start: u32, len: u32) {
        let end = start.wrapping_add(len);
        self.keep_unread(Buffer::new(start, end, (self.memory)(len)));
        self.grow_beside(len, self.free());
    }

    #[cold]
    pub(super) fn grow_beside(&mut self, len: u32, free: u32) {
        if len >= LEAST_TO_GROW {
            self.grow_window(len, free);
        }
        let alone = self.waiting.unread.len() <= 1 && self.waiting.held.is_empty();
        if alone && self.window_limit >= self.window_bound.min(free / 2) {
            self.too_long_to_grow = len;
        }
    }

    pub(super) fn keep_unread(&mut self, buffer: Buffer) {
        let memory = buffer.memory;
        let waiting = &mut *self.waiting;
        if let Some(last) = waiting.unread.back_mut() {
            let before = last.memory;
            if last.join(&buffer) {
                waiting.unread_memory += last.memory - before;
                return;
            }
        }
        waiting.unread_memory += memory;
        waiting.unread.push_back(buffer);
    }

    /// The `len` bytes from `start` on came while something is held, perhaps next to them. Who reads at once reads that once it is acknowledged,
    /// as seen on Linux, where an ACK goes out before programs run unless it waits for them.
    #[cold]
    pub(super) fn release(&mut self, clock: &Clock, start: u32, len: u32) {
        if self.auto_read {
            if len > 0 {
                let end = start.wrapping_add(len);
                self.keep_unread(Buffer::new(start, end, (self.memory)(len)));
            }
            self.waiting.reads_late = Some(clock.us);
            self.auto_read = false;
        }
        let mut released = Vec::new();
        let next = |buffer| released.push(buffer);
        self.nxt = self.waiting.held.advance(self.nxt, next);
        for mut buffer in released {
            if self.fin_end == Some(buffer.end) {
                buffer.end = buffer.end.wrapping_sub(1);
            }
            self.keep_unread(buffer);
        }
    }

    /// The application reads whatever arrives.
    #[inline]
    pub(super) fn read_at_once(&mut self, clock: &Clock) {
        let waiting = self.waiting.changed();
        if waiting.is_none_or(|waiting| waiting.unread.is_empty()) {
            self.tune(clock.us, self.bytes);
        } else {
            self.take(clock.us, u64::MAX);
        }
    }

    /// The application reads what came while something was held, if anything did.
    #[inline]
    pub(super) fn read_late(&mut self) {
        let waiting = self.waiting.changed();
        if waiting.is_some_and(|waiting| waiting.reads_late.is_some()) {
            self.read_what_was_released();
        }
    }

    #[cold]
    fn read_what_was_released(&mut self) {
        if let Some(us) = self.waiting.reads_late.take() {
            self.auto_read = true;
            self.read(us, u64::MAX);
        }
    }

    /// Reads up to `max` bytes at this time, in microseconds; returns how many. It is judged after each buffer whether a round trip is over.
    #[cold]
    pub(super) fn take(&mut self, us: u64, max: u64) -> u64 {
        let unread: u32 = self.waiting.unread.iter().map(Buffer::len).sum();
        // A liar's data may lie where a FIN does, or behind it, which are no bytes of the stream.
        let before = self.bytes.saturating_sub(unread.into());
        let mut taken = 0;
        while taken < max {
            let waiting = &mut *self.waiting;
            let Some(first) = waiting.unread.front_mut() else {
                break;
            };
            let some = u64::from(first.len()).min(max - taken) as u32;
            taken += u64::from(some);
            first.start = first.start.wrapping_add(some);
            if first.len() == 0 {
                waiting.unread_memory -= first.memory;
                waiting.unread.pop_front();
            }
            self.tune(us, before + taken);
        }
        taken
    }

    /// Data arrived, and `free` bytes of memory are left beside it: the window grows by two segments, up to the bound.
    pub(super) fn grow_window(&mut self, len: u32, free: u32) {
        let room = self
            .window_bound
            .min(free / 2)
            .saturating_sub(self.window_limit);
        if room == 0 {
            return;
        }
        let more = self.growth(len).min(room);
        if more > 0 {
            self.window_limit += more;
            self.acks.window_grew();
        }
    }

    /// By how much a segment lets the window grow.
    pub(super) fn growth(&self, len: u32) -> u32 {
        Arrival {
            len,
            memory: (self.memory)(len).alone,
            earned: self.window_limit,
            max_buffer: self.max_buffer,
            segment: self.mss,
            advertised: self.advertised_mss,
        }
        .growth()
    }

    /// The handshake is complete, with a segment that echoed `echo`. Until the buffer grows, one segment of it is not offered.
    pub fn established(&mut self, clock: &Clock, echo: u32) {
        let mss = self.advertised_mss;
        let whole = self.buffer / 2;
        self.window_bound = whole.saturating_sub(mss).max(2 * mss).min(whole);
        self.window_limit = self.window_limit.min(self.window_bound);
        let first = self.first_round_trip();
        if let Some(tune) = &mut self.autotune {
            tune.begin(clock, first, echo);
        }
    }

    /// What the first round trip is expected to bring.
    fn first_round_trip(&self) -> u32 {
        self.window_limit.min(FIRST_SEGMENTS * self.advertised_mss)
    }

    /// The same where the handshake offered whole segments of up to `offered` bytes.
    pub fn first_round_trip_of(&self, offered: u32) -> u32 {
        let mss = self.advertised_mss.max(1);
        (offered / mss).clamp(1, FIRST_SEGMENTS) * mss
    }

    /// The segment echoed our timestamp `echo`, the one before it `last`.
    #[inline]
    pub fn note_echo(&mut self, clock: &Clock, len: u32, echo: u32, last: u32) {
        if let Some(tune) = &mut self.autotune {
            tune.echo(clock, echo, last, len >= self.mss);
        }
    }

    /// The application has read: is the buffer still large enough?
    #[inline]
    pub(super) fn tune(&mut self, us: u64, read: u64) {
        if let Some(tune) = &mut self.autotune {
            if let Some(buffer) = tune.read(us, read, self.advertised_mss) {
                self.enlarge(buffer);
            }
        }
    }

    /// The buffer has so many bytes, unless it has more.
    pub fn enlarge(&mut self, buffer: u32) {
        if buffer > self.buffer {
            self.buffer = buffer;
            self.window_bound = buffer / 2;
            self.too_long_to_grow = u32::MAX;
        }
    }

    pub(super) fn window_would_open(&mut self) -> bool {
        let unit = (1 << self.scale) - 1;
        self.offer() + unit >= self.edge.wrapping_sub(self.acked_up_to)
    }

    /// The application reads up to `max` bytes at this time, in microseconds. A window that doubles thereby is announced, and what was small is acknowledged.
    pub fn read(&mut self, us: u64, max: u64) -> u64 {
        let taken = self.take(us, max);
        if taken == 0 {
            return 0;
        }
        let unacked = self.nxt.wrapping_sub(self.acked_up_to);
        let calls =
            unacked > self.mss || (self.waiting.unread.is_empty() && self.acks.answers_small());
        if self.acks.is_scheduled() && calls || self.window_doubles() {
            self.force_ack();
        }
        taken
    }

    pub(super) fn window_doubles(&mut self) -> bool {
        let twice = 2 * self.window();
        twice <= self.window_bound && {
            let offer = self.offer();
            offer > 0 && offer >= twice
        }
    }
}
