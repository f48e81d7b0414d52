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
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate_beyond(0)
    }

    /// The same once so many more segments are outstanding.
    #[inline]
    fn pacing_rate_beyond(&self, more: u32) -> Option<u64> {
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
            u64::from(path.window.cwnd.max(self.board.len() + more))
        };
        let percent = linux::pacing_percent(&path.window);
        Some(segments * u64::from(self.mss) * percent * 10_000 / srtt)
    }

    /// Data waits only for its pacing time.
    #[inline]
    pub(crate) fn pacing_blocks(&self, clock: &Clock) -> bool {
        self.paced_until > clock.now
    }

    /// Whether enough is queued below TCP: two segments or a millisecond at the pacing rate, twice that for retransmissions.
    #[inline]
    pub(crate) fn queue_full(&mut self, config: &Config, retransmission: bool) -> bool {
        let twice = u32::from(retransmission);
        if self.queued <= u64::from(2 * self.mss) << twice
            || !config.small_queues
            || self.board.is_empty()
        {
            return false;
        }
        let full = self.queued > self.enough_queued() << twice;
        self.throttled |= full;
        full
    }

    /// How much is enough, in bytes, for new data.
    pub(crate) fn enough_queued(&self) -> u64 {
        self.enough_queued_beyond(0)
    }

    /// The same once so many more segments are outstanding.
    #[inline]
    pub(crate) fn enough_queued_beyond(&self, more: u32) -> u64 {
        let millisecond = self.pacing_rate_beyond(more).unwrap_or(u64::MAX) / 1024;
        millisecond.min(1 << 20).max(u64::from(2 * self.mss))
    }

    /// The same for a burst of `bytes` on top of what is outstanding, if it could ever be too much.
    #[inline]
    pub(crate) fn enough_queued_with(&self, config: &Config, bytes: u32) -> u64 {
        if !config.small_queues || self.queued + u64::from(bytes) <= u64::from(2 * self.mss) {
            return u64::MAX;
        }
        self.enough_queued()
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
