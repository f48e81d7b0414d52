//! Segments leave Linux in chunks, also where the NIC takes single ones: it keeps what is written in buffers of up to 64 KiB, cuts chunks off
//! the first of them, and holds a chunk back that the window would let go but that is expected to grow soon (TSO deferral,
//! `tcp_tso_win_divisor`). On the wire chunks are seen by what is held back, and by how a closing window is filled.
//!
//! RFC 9293 has nothing of it. The settings are documented with the kernel (`tcp_tso_win_divisor`, `tcp_tso_rtt_log`,
//! `tcp_min_tso_segs`); sizes and conditions were seen on the wire (`tests/exchanges.rs`).

use crate::cc::{CongestionControl, State};
use crate::connection::Connection;
use crate::linux;
use crate::rtt::UNKNOWN;
use crate::sender::Fin;

/// Bytes that a buffer has at most.
const LARGEST: u32 = 65_215;
/// So many of them hold what is written at once. A program that writes more does so while they empty.
const BUFFERS: u64 = 64;
/// Segments of a chunk at least (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// A chunk is what is paced in so many parts of a second.
const CHUNKS_A_SECOND: u64 = 1024;
/// At short round trips a chunk is larger, the more the shorter: by 64 KiB, halved for each 2^9 us (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// Nothing is held back if nothing was sent for so many nanoseconds.
const RECENT: u64 = 1_000_000;
/// Nor if the next ACK is not expected within so many microseconds, or half a round trip if that is less.
const SOON: u64 = 1000;
/// Segments that are worth sending whatever the window, if the divisor is 0.
const WORTH: u32 = 3;

/// Buffers and chunks of a sender, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunks {
    /// Bytes that buffers hold, and those of what was written later than the first `older` unsent bytes.
    size: u32,
    older: u64,
    newer_size: u32,
    /// Left of the first buffer that has unsent data; 0 if none was begun.
    buffer: u32,
    /// Left of the chunk that is being sent.
    chunk: u32,
    /// The congestion window lets a chunk go that is held back.
    pub held_back: bool,
    /// The program writes at this instant: its bytes fill one buffer after the other, and each that is full is sent from.
    writing: bool,
    /// Bytes written since all that was full was sent, and whether the buffer at hand is sent until it is empty.
    since: u32,
    all: bool,
}

impl Chunks {
    /// Something is written behind `before` unsent bytes, into buffers of `size` bytes.
    #[inline]
    pub fn written(&mut self, before: u64, size: u32) {
        if self.older == 0 {
            self.older = before;
        }
        self.newer_size = size;
        if before <= u64::from(self.buffer) {
            self.buffer = 0;
            self.writing = true;
            self.since = 0;
            self.all = false;
        }
    }

    /// The buffer is filled. While the program writes, one chunk of a full buffer is sent, but all of it once
    /// more than half of the peer's window has been written since that was done last.
    #[inline]
    fn fill(&mut self, pending: u64, half_window: u32) {
        if self.older <= u64::from(self.size) {
            self.size = self.newer_size;
        }
        let full = u64::from(self.size).min(pending) as u32;
        if self.writing && !(self.all && self.buffer > 0) {
            self.since = self.since.saturating_add(full.saturating_sub(self.buffer));
            self.buffer = full;
            self.all = self.since > half_window || u64::from(full) == pending;
            if self.all {
                self.since = 0;
            }
        } else if self.buffer == 0 {
            self.buffer = full;
        }
    }

    /// `len` bytes are sent.
    #[inline]
    pub fn sent(&mut self, len: u32) {
        self.older = self.older.saturating_sub(u64::from(len));
        self.buffer = self.buffer.saturating_sub(len);
        self.chunk = self.chunk.saturating_sub(len);
    }

    /// Nothing more is sent now.
    #[inline]
    pub fn end(&mut self) {
        self.chunk = 0;
        if self.writing {
            self.buffer = 0;
            self.writing = false;
        }
    }
}

impl<C: CongestionControl> Connection<C> {
    /// The program writes behind `before` unsent bytes, or what it wrote in the handshake is taken as written now.
    pub(crate) fn lay_out(&mut self, before: u64) {
        let size = self.buffer_size();
        self.snd.chunks.written(before, size);
    }

    /// Bytes that a buffer holds: whole segments, up to half of the largest window that the peer has offered.
    fn buffer_size(&self) -> u32 {
        let mss = self.current_mss();
        let most = LARGEST.min((self.snd.max_window / 2).max(mss));
        (most / mss).max(1) * mss
    }

    /// Segments of a chunk at most.
    #[inline]
    fn chunk_segments(&self, mss: u32) -> u32 {
        let min = self.paths.active.rtt.min();
        // The shortest round trips bring the largest chunks, whatever the pace.
        let bytes = if min >> RTT_LOG == 0 {
            LARGEST
        } else {
            self.paced_chunk(min)
        };
        (bytes / mss).max(LEAST)
    }

    /// Bytes of a chunk at most, at a shortest round trip of `min` microseconds.
    #[inline(never)]
    fn paced_chunk(&self, min: u32) -> u32 {
        let paced = self.pacing_rate().unwrap_or(u64::MAX) / CHUNKS_A_SECOND;
        let more = match min {
            UNKNOWN => 0,
            min => (1_u64 << 16) >> (min >> RTT_LOG).min(63),
        };
        paced.saturating_add(more).min(u64::from(LARGEST)) as u32
    }

    /// Payload of the next new segment, if it may go now.
    #[inline]
    pub(crate) fn next_of_chunk(&mut self) -> Option<u32> {
        if self.snd.chunks.chunk == 0 {
            let path = &self.paths.active;
            let free = path.window.cwnd.saturating_sub(path.pipe.in_flight());
            if free == 0 && self.snd.fin != Fin::Queued {
                return None;
            }
            return self.begin_chunk(free);
        }
        Some(self.current_mss().min(self.snd.chunks.chunk))
    }

    /// Begins a chunk where `free` segments fit into the congestion window. Returns the payload of its first segment.
    fn begin_chunk(&mut self, free: u32) -> Option<u32> {
        let mss = self.current_mss();
        let first = self.next_len_of(mss)?;
        if free == 0 && !linux::last_ignores_the_window(self.ends_with(first)) {
            return None;
        }
        let half = self.snd.max_window / 2;
        if self.snd.pending > BUFFERS * u64::from(LARGEST) {
            self.snd.chunks.newer_size = self.buffer_size();
            self.snd.chunks.older = 0;
        }
        self.snd.chunks.fill(self.snd.pending, half);
        let buffer = self.snd.chunks.buffer;
        if free == 0 {
            self.snd.chunks.chunk = first;
            return Some(first);
        }
        if buffer <= mss {
            self.snd.chunks.chunk = first.min(buffer);
            return Some(self.snd.chunks.chunk);
        }
        let one = self.snd.chunks.writing && !self.snd.chunks.all;
        if !one && self.defers(free, buffer, mss) {
            self.snd.chunks.held_back = true;
            return None;
        }
        // Half of the window at once at most.
        let mut quota = free.min((self.paths.active.window.cwnd / 2).max(1));
        if quota > LEAST {
            quota = quota.min(self.chunk_segments(mss));
        }
        let room = self.snd.window_end().wrapping_sub(self.snd.nxt);
        let limit = quota.saturating_mul(mss);
        let mut chunk = buffer.min(limit).min(room);
        let whole = chunk == buffer && u64::from(buffer) < self.snd.pending;
        if !whole && self.config.nagle && self.small_out() {
            chunk -= chunk % mss;
        }
        self.snd.chunks.chunk = chunk;
        Some(first)
    }

    /// TSO deferral: whether a chunk off a buffer with `buffer` bytes waits, though `free` segments fit into the congestion window. It
    /// does if what may leave now is not worth it, and an ACK that lets more leave is near.
    #[inline]
    fn defers(&self, free: u32, buffer: u32, mss: u32) -> bool {
        let by_congestion = free.saturating_mul(mss);
        let may_leave = by_congestion.min(self.snd.window_end().wrapping_sub(self.snd.nxt));
        may_leave < self.fair_share(mss)
            && self.ack_is_near()
            && !self.is_complete(may_leave, buffer, mss)
    }

    /// Whether nothing is gained by waiting: `may_leave` bytes are a chunk of the largest size, or all of a buffer that ends the
    /// stream or has another behind it.
    fn is_complete(&self, may_leave: u32, buffer: u32, mss: u32) -> bool {
        let more_behind = u64::from(buffer) < self.snd.pending;
        let with_fin = self.snd.fin != Fin::None && may_leave > buffer;
        let whole_buffer = with_fin || (more_behind && may_leave >= buffer);
        whole_buffer || may_leave >= self.chunk_segments(mss).saturating_mul(mss)
    }

    /// Bytes that are worth sending though a chunk could hold more: a share of the window in use, `tcp_tso_win_divisor`.
    #[inline]
    fn fair_share(&self, mss: u32) -> u32 {
        match self.config.tso_win_divisor {
            0 => WORTH * mss + 1,
            divisor => {
                let cwnd = self.paths.active.window.cwnd.saturating_mul(mss);
                cwnd.min(self.snd.window) / divisor
            }
        }
    }

    /// Whether ACKs come in a steady stream, the next of them soon: a round trip after the oldest segment in flight was sent. They do
    /// not, as far as a sender can tell, in recovery or after a pause.
    fn ack_is_near(&self) -> bool {
        let path = &self.paths.active;
        let steady = path.recovery.state < State::FastRecovery
            && self.clock.now - path.last_sent_ns < RECENT;
        let srtt = u64::from(path.rtt.srtt());
        let due_soon = |sent: u64| {
            srtt > 0 && (sent + srtt).saturating_sub(self.clock.us) <= SOON.min(srtt / 2)
        };
        steady && (self.snd.board.front()).is_some_and(|oldest| due_soon(oldest.sent))
    }
}
