// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments leave Linux in chunks, also where the NIC takes single ones: it cuts them off the first buffer of what was written
//! (`buffers.rs`), and holds a chunk back that the window would let go but that is expected to grow soon (TSO deferral,
//! `tcp_tso_win_divisor`). On the wire chunks are seen by what is held back, and by how a closing window is filled.
//!
//! RFC 9293 has nothing of it. The settings are documented with the kernel (`tcp_tso_win_divisor`, `tcp_tso_rtt_log`,
//! `tcp_min_tso_segs`); sizes and conditions were seen on the wire (`tests/exchanges.rs`).

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::Fin;
use crate::sending::Sender;
use crate::sending::buffers::{Buffers, LARGEST};
use crate::sending::output::Limits;
use crate::sending::rtt::UNKNOWN;
use crate::timers::Clock;

/// Segments of a chunk at least (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// A chunk is what is paced in so many parts of a second.
const CHUNKS_A_SECOND: u64 = 1024;
/// At short round trips a chunk is larger, the more the shorter: by 64 KiB, halved for each 2^9 us (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// Nothing is held back if nothing was sent for more than so many nanoseconds.
const RECENT: u64 = 1_000_000;
/// Nor if the next ACK is not expected within so many microseconds, or half a round trip if that is less.
const SOON: u64 = 1000;
/// Segments that are worth sending whatever the window, if the divisor is 0.
const WORTH: u32 = 3;

/// What might leave as a chunk.
struct Offer {
    mss: u32,
    /// Bytes that the congestion window lets go, in whole segments, and the peer's.
    by_congestion: u32,
    by_peer: u32,
    /// Bytes of the first buffer, and whether there are more behind it.
    front: u32,
    more_behind: bool,
}

impl Offer {
    fn may_leave(&self) -> u32 {
        self.by_congestion.min(self.by_peer)
    }

    /// Whether it is the congestion window, and not the peer's, that lets only a part of the first buffer leave.
    fn waits_for_congestion_window(&self) -> bool {
        self.by_congestion < self.by_peer && self.by_congestion <= self.front
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The program writes behind `before` unsent bytes, or what it wrote in the handshake is taken as written now. `mss`: of a
    /// full segment now.
    pub(crate) fn lay_out(&mut self, before: u64, mss: u32) {
        let size = Buffers::size_for(mss, self.max_window);
        self.buffers.written(before, size);
    }

    /// Payload of the next new segment, if it may go now.
    #[inline]
    pub(crate) fn next_of_chunk(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
    ) -> Option<u32> {
        if self.chunk.left > 0 {
            return Some(limits.mss.min(self.chunk.left));
        }
        let path = &self.paths.active;
        let free = path.window.cwnd.saturating_sub(path.pipe.in_flight());
        if free == 0 && self.fin != Fin::Queued {
            return None;
        }
        self.begin_chunk_generally(clock, config, limits, free)
    }

    #[inline(never)] // there is a copy of it where nearly all chunks begin
    fn begin_chunk_generally(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
        free: u32,
    ) -> Option<u32> {
        self.begin_chunk(clock, config, limits, free, self.fin)
    }

    /// Begins a chunk where `free` segments fit into the congestion window. Returns the payload of its first segment. `fin`: the sender's,
    /// which may be known.
    #[inline(always)] // see above
    pub(crate) fn begin_chunk(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
        free: u32,
        fin: Fin,
    ) -> Option<u32> {
        let mss = limits.mss;
        let first = self.next_len_of(config, mss, fin)?;
        let mut free = free;
        if self.board.is_empty() {
            self.paths.active.restart_after_idle(clock, config);
            let path = &self.paths.active;
            free = path.window.cwnd.saturating_sub(path.pipe.in_flight());
        }
        let in_window = free > 0;
        if !in_window && !linux::last_ignores_the_window(self.ends_with(first, fin)) {
            return None;
        }
        self.fill_buffer(limits);
        if self.buffers.is_writing() && config.autocorking && self.is_corked(limits, fin) {
            self.throttled = true;
            return None;
        }
        let front = self.buffers.front;
        let chunk = if !in_window {
            Some(first)
        } else if front <= mss {
            Some(first.min(front))
        } else {
            let offer = self.offer(free, mss);
            let chunk = self.cut(clock, config, &offer, fin);
            if chunk.is_none() {
                self.chunk.held_back |= offer.waits_for_congestion_window();
            }
            chunk
        };
        self.chunk.left = chunk?;
        self.chunk.several = self.chunk.left > mss;
        Some(first.min(self.chunk.left))
    }

    /// Automatic corking: the end of what a program wrote waits for more as long as a segment of the connection waits in queues below TCP
    /// ("if at least one prior packet for the flow is waiting in Qdisc queues or device transmit queue": `tcp_autocorking` in Linux's
    /// documentation of sysctls). FIN ends the wait; MPTCP sends by mappings.
    #[cold]
    fn is_corked(&self, limits: Limits, fin: Fin) -> bool {
        let more_may_come = fin != Fin::Queued && limits.mapping.is_none();
        let prior_waits = self.queued > 0 && !self.board.is_empty();
        more_may_come && prior_waits && self.buffers.ends_write(self.pending)
    }

    /// Payload of the next new segment, whatever the congestion window and Nagle's algorithm. The chunk that it begins has no other, unless it was
    /// only held back (TSO deferral): there is no ACK to wait for.
    pub(crate) fn next_of_probe(&mut self, config: &Config, limits: Limits) -> Option<u32> {
        let len = self.pending.min(u64::from(limits.mss)) as u32;
        if !self.fits(len, self.ends_with(len, self.fin)) {
            return None;
        }
        self.fill_buffer(limits);
        let path = &self.paths.active;
        let free = path.window.cwnd.saturating_sub(path.pipe.in_flight());
        if free > 0 && self.buffers.front > limits.mss {
            let offer = self.offer(free, limits.mss);
            self.chunk.left = self.cut_at_once(config, &offer);
            self.chunk.several = self.chunk.left > limits.mss;
        }
        Some(limits.within_mapping(len))
    }

    /// Fills the first buffer that is sent from.
    #[inline]
    pub(crate) fn fill_buffer(&mut self, limits: Limits) {
        if let Some(left) = limits.mapping {
            self.buffers.front_is(left);
            return;
        }
        if !self.buffers.holds_until_sent(self.pending) {
            self.begin_buffer(limits.mss);
        }
    }

    #[inline(never)] // a buffer holds many segments
    fn begin_buffer(&mut self, mss: u32) {
        if Buffers::overflow(self.pending) {
            let size = Buffers::size_for(mss, self.max_window);
            self.buffers.lay_out_anew(size);
        }
        if self.program.is_some() {
            return self.fill_as_written();
        }
        let half = self.max_window / 2;
        self.buffers.fill(self.pending, half);
    }

    #[inline]
    fn offer(&self, free: u32, mss: u32) -> Offer {
        let front = self.buffers.front;
        Offer {
            mss,
            by_congestion: free.saturating_mul(mss),
            by_peer: self.window_end().wrapping_sub(self.nxt),
            front,
            more_behind: u64::from(front) < self.pending,
        }
    }

    /// Bytes that are cut off the first buffer as a chunk; none if they wait.
    #[inline(always)] // of `begin_chunk`
    fn cut(&self, clock: &Clock, config: &Config, offer: &Offer, fin: Fin) -> Option<u32> {
        if !self.buffers.is_being_filled() && self.waits(clock, config, offer, fin) {
            return None;
        }
        Some(self.cut_at_once(config, offer))
    }

    /// The same where nothing is held back.
    #[inline(always)] // as above
    fn cut_at_once(&self, config: &Config, offer: &Offer) -> u32 {
        let chunk = self.largest_of(offer).min(offer.front).min(offer.by_peer);
        let rest = chunk % offer.mss;
        let rest_waits = rest > 0 && config.nagle && self.small_out();
        if rest_waits { chunk - rest } else { chunk }
    }

    /// Bytes of a chunk by the congestion window, of which one takes half at most, and by the pace.
    #[inline]
    fn largest_of(&self, offer: &Offer) -> u32 {
        let half = (self.paths.active.window.cwnd / 2).max(1);
        let window = offer.by_congestion.min(half.saturating_mul(offer.mss));
        if window <= LEAST * offer.mss {
            return window;
        }
        window.min(self.most_at_once(offer.mss))
    }

    /// Bytes of a chunk at most, whatever the window.
    #[inline]
    fn most_at_once(&self, mss: u32) -> u32 {
        let min = self.paths.active.rtt.min();
        // The shortest round trips bring the largest chunks, whatever the pace.
        let bytes = if min >> RTT_LOG == 0 {
            LARGEST
        } else {
            self.paced_chunk(min)
        };
        (bytes / mss).max(LEAST) * mss
    }

    /// What the pace allows at a shortest round trip of `min` microseconds, in bytes.
    #[inline(never)]
    fn paced_chunk(&self, min: u32) -> u32 {
        let paced = self.pacing_rate().unwrap_or(u64::MAX) / CHUNKS_A_SECOND;
        let more = match min {
            UNKNOWN => 0,
            min => (1_u64 << 16) >> (min >> RTT_LOG).min(63),
        };
        paced.saturating_add(more).min(u64::from(LARGEST)) as u32
    }

    /// TSO deferral: what may leave now is not worth it, and an ACK that lets more leave is near.
    #[inline(always)] // of `begin_chunk`
    fn waits(&self, clock: &Clock, config: &Config, offer: &Offer, fin: Fin) -> bool {
        offer.may_leave() < self.fair_share(config, offer.mss)
            && self.ack_is_near(clock)
            && !self.is_complete(offer, fin)
    }

    /// Whether nothing is gained by waiting: a chunk of the largest size may leave, or all of a buffer that ends the stream or has another
    /// behind it.
    #[inline(always)] // of `waits`
    fn is_complete(&self, offer: &Offer, fin: Fin) -> bool {
        let with_fin = fin != Fin::None && offer.may_leave() > offer.front;
        let whole_buffer = offer.more_behind && offer.may_leave() >= offer.front;
        with_fin || whole_buffer || offer.may_leave() >= self.most_at_once(offer.mss)
    }

    /// Bytes that are worth sending though a chunk could hold more: a share of the window in use, `tcp_tso_win_divisor`.
    #[inline]
    fn fair_share(&self, config: &Config, mss: u32) -> u32 {
        match config.tso_win_divisor {
            0 => WORTH * mss + 1,
            divisor => {
                let cwnd = self.paths.active.window.cwnd.saturating_mul(mss);
                cwnd.min(self.window) / divisor
            }
        }
    }

    /// Whether ACKs come in a steady stream, the next of them soon: a round trip after the oldest segment in flight was sent. They do
    /// not, as far as a sender can tell, in recovery or after a pause.
    fn ack_is_near(&self, clock: &Clock) -> bool {
        let path = &self.paths.active;
        let steady =
            path.recovery.state < State::FastRecovery && clock.now - path.last_sent_ns <= RECENT;
        // Before the first sample both sides of the comparison are 0, which counts as near.
        let srtt = u64::from(path.rtt.srtt());
        let due_soon = |sent: u64| (sent + srtt).saturating_sub(clock.us) <= SOON.min(srtt / 2);
        steady && (self.board.front()).is_some_and(|oldest| due_soon(oldest.sent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sending::alone::{Alone, MSS};

    /// A sender whose buffers hold three segments, and that has something in a queue below it.
    fn with_a_queue_below() -> Alone {
        let mut alone = Alone::new("reno");
        alone.snd.max_window = 6 * MSS + 500;
        alone.snd.queued = 1;
        alone.config.autocorking = true;
        alone
    }

    #[test]
    fn the_last_buffer_waits_until_something_has_left_the_host() {
        let mut alone = with_a_queue_below();
        alone.write(4_500);
        assert_eq!(alone.send_segments(), [0, 1, 2]);
        assert!(alone.snd.throttled);
        assert_eq!(
            alone.send_segments(),
            [3, 4],
            "it is no longer being written"
        );
    }

    #[test]
    fn what_fills_its_buffer_or_is_the_first_does_not_wait() {
        for (bytes, segments) in [(6_000, 6), (2_500, 3), (1, 1)] {
            let mut alone = with_a_queue_below();
            alone.write(bytes);
            assert_eq!(alone.send_segments(), (0..segments).collect::<Vec<_>>());
        }
        let mut alone = with_a_queue_below();
        alone.snd.queued = 0;
        alone.write(4_500);
        assert_eq!(alone.send_segments(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn fin_goes_with_the_buffer_that_waits_and_else_alone() {
        for (bytes, with_data) in [(4_500, true), (2_500, false), (6_000, false)] {
            let mut alone = with_a_queue_below();
            alone.write(bytes);
            alone.snd.fin = Fin::Asked;
            let sent = alone.send();
            let (last, others) = sent.split_last().expect("some");
            assert!(last.fin && others.iter().all(|sent| !sent.fin));
            let alone_in_its_segment = last.end.wrapping_sub(last.start) == 1;
            assert_eq!(alone_in_its_segment, !with_data, "{bytes} bytes");
        }
    }
}
