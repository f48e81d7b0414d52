// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast segments may leave: the pacing rate, and how much may be queued below TCP.

use crate::Config;
use crate::cc::CongestionControl;
use crate::linux;
use crate::sending::Sender;
use crate::timers::Clock;

/// Segments sent before pacing begins.
const UNPACED: u64 = 10;
/// A "millisecond" here is one of 1,024 parts of a second, as on Linux.
const MILLISECONDS_A_SECOND: u64 = 1024;
/// Bytes of a millisecond, however fast the path is.
const MOST_A_MILLISECOND: u64 = 1 << 20;

/// What may wait below TCP: so many chunks of the size that is to follow, or what leaves in so many milliseconds at the pacing rate, whichever
/// is more.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    chunks: u64,
    milliseconds: u64,
}

impl Share {
    /// For new data.
    pub(crate) const NEW: Share = Share {
        chunks: 2,
        milliseconds: 1,
    };
    /// For retransmissions.
    pub(crate) const AGAIN: Share = Share {
        chunks: 4,
        milliseconds: 2,
    };
}

impl<C: CongestionControl> Sender<C> {
    /// Pacing rate in bytes a second.
    #[inline]
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        let path = &self.paths.active;
        let srtt = u64::from(path.rtt.srtt());
        if srtt == 0 {
            return None;
        }
        if let Some(rate) = path.cc.pacing_rate(&path.window, self.mss) {
            return Some(rate);
        }
        let segments = if self.bytes_acked == 0 {
            linux::FIRST_PACED
        } else {
            u64::from(path.window.cwnd.max(self.board.len()))
        };
        let percent = linux::pacing_percent(&path.window);
        Some(segments * u64::from(self.mss) * percent * 10_000 / srtt)
    }

    /// Data waits only for its pacing time.
    #[inline]
    pub(crate) fn pacing_blocks(&self, clock: &Clock) -> bool {
        self.paced_until > clock.now
    }

    /// Segments of a chunk leave together, whatever the pace.
    pub(crate) fn paces_chunks(&self) -> bool {
        self.paths.active.cc.paces_chunks()
    }

    /// Whether a chunk of `bytes` finds more below TCP than may wait there: neither its share of chunks nor its share of time has room.
    #[inline]
    pub(crate) fn is_full_below(&mut self, config: &Config, bytes: u32, share: Share) -> bool {
        // A chunk that is cut into segments counts a little more than its bytes (as captures show).
        let is_cut = u64::from(bytes > self.mss);
        let has_chunks = self.queued <= share.chunks * u64::from(bytes) - is_cut;
        if has_chunks || !config.small_queues || self.board.is_empty() {
            return false;
        }
        let millisecond = self.pacing_rate().map_or(MOST_A_MILLISECOND, |rate| {
            (rate / MILLISECONDS_A_SECOND).min(MOST_A_MILLISECOND)
        });
        let is_full = self.queued > share.milliseconds * millisecond;
        self.throttled |= is_full;
        is_full
    }

    /// A segment with `len` bytes of payload goes out: what is counted and queued below TCP, and the pace. Returns whether a path's
    /// first round trip, which is paced, is over.
    #[inline]
    pub(crate) fn account(&mut self, clock: &Clock, config: &Config, len: u16) -> bool {
        self.data_segments_sent += 1;
        if config.small_queues {
            self.queued += u64::from(len);
        }
        if !self.paced || self.data_segments_sent <= UNPACED {
            return false;
        }
        let over = self.burst_is_over(clock);
        if over {
            self.end_burst_pacing(config);
        }
        if self.paced {
            if let Some(rate) = self.pacing_rate() {
                let gap = u64::from(len) * 1_000_000_000 / rate.max(1);
                self.paced_until = self.paced_until.max(clock.now) + gap;
            }
        }
        over
    }

    /// Segments are paced if that is asked for, or a congestion control wants it.
    pub(crate) fn choose_pacing(&mut self, config: &Config) {
        self.paced = config.pacing || self.paths.controls().any(CongestionControl::wants_pacing);
    }
}
