// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast segments may leave: the pacing rate, and how much may be queued below TCP.

use crate::Config;
use crate::cc::CongestionControl;
use crate::linux;
use crate::sending::Sender;
use crate::timers::Clock;

/// Segments sent before pacing begins.
const UNPACED: u64 = 10;

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

    /// Whether enough is queued below TCP, so that a chunk of `bytes` waits: as much as two of its size, or what leaves within a millisecond at
    /// the pacing rate; twice that for retransmissions. The memory of chunks counts, which grows a little when one is cut into segments.
    #[inline]
    pub(crate) fn queue_full(&mut self, config: &Config, bytes: u32, retransmission: bool) -> bool {
        let twice = u32::from(retransmission);
        let is_cut = bytes > self.mss;
        let two_chunks = 2 * u64::from(bytes) - u64::from(is_cut);
        if self.queued <= two_chunks << twice || !config.small_queues || self.board.is_empty() {
            return false;
        }
        let millisecond = self.pacing_rate().unwrap_or(u64::MAX) / 1024;
        let enough = millisecond.min(1 << 20).max(two_chunks);
        let full = self.queued > enough << twice;
        self.throttled |= full;
        full
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
