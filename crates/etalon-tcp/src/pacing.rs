//! How fast segments may leave: the pacing rate, and how much may be queued below TCP.

use crate::cc::CongestionControl;
use crate::connection::Connection;
use crate::linux;

impl<C: CongestionControl> Connection<C> {
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
        if let Some(rate) = path.cc.pacing_rate(&path.window, self.snd.mss) {
            return Some(rate);
        }
        let segments = if self.snd.bytes_acked == 0 {
            linux::FIRST_PACED
        } else {
            u64::from(path.window.cwnd.max(self.snd.board.len() + more))
        };
        let percent = linux::pacing_percent(&path.window);
        Some(segments * u64::from(self.snd.mss) * percent * 10_000 / srtt)
    }

    /// Data waits only for its pacing time.
    #[inline]
    pub(crate) fn pacing_blocks(&self) -> bool {
        self.snd.paced_until > self.clock.now
    }

    /// Whether enough is queued below TCP: two segments or a millisecond at the pacing rate, twice that for retransmissions.
    #[inline]
    pub(crate) fn queue_full(&mut self, retransmission: bool) -> bool {
        let twice = u32::from(retransmission);
        if self.snd.queued <= u64::from(2 * self.snd.mss) << twice
            || !self.config.small_queues
            || self.snd.board.is_empty()
        {
            return false;
        }
        let full = self.snd.queued > self.enough_queued() << twice;
        self.snd.throttled |= full;
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
        millisecond.min(1 << 20).max(u64::from(2 * self.snd.mss))
    }

    /// The same for a burst of `bytes` on top of what is outstanding, if it could ever be too much.
    #[inline]
    pub(crate) fn enough_queued_with(&self, bytes: u32) -> u64 {
        if !self.config.small_queues
            || self.snd.queued + u64::from(bytes) <= u64::from(2 * self.snd.mss)
        {
            return u64::MAX;
        }
        self.enough_queued()
    }
}
