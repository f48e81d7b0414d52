//! When to acknowledge (RFC 9293, 3.8.6.3; RFC 5681, section 4.2): every second full segment, at once in quick-ACK mode (after the
//! start, losses, duplicates and marks), and otherwise by a timer that adapts between 40 and 200 ms to the gaps between segments.

use crate::Config;
use crate::timers::{Clock, Purpose, Timer};

/// ACKs that quick-ACK mode sends at most.
pub(crate) const MAX_QUICK_ACKS: u32 = 16;

/// Whether an ACK is due, and the delayed-ACK timer. Times in ticks.
#[derive(Clone, Debug)]
pub(crate) struct DelayedAck {
    /// An ACK is due some time; at once.
    scheduled: bool,
    now: bool,
    /// Quick ACKs left.
    quick: u32,
    /// Data went out soon after data came in: ACKs had better ride on data.
    interactive: bool,
    /// Small segments since the last ACK, counted up to two.
    small: u8,
    /// How long an ACK is delayed, 0 before the first data.
    delay: u32,
    min_delay: u32,
    max_delay: u32,
    half_second: u32,
    /// When data arrived last.
    last_data: u64,
    pub timer: Timer,
}

/// Ticks of a delay, which is nowhere near 2^32 of them.
fn ticks(number: u64) -> u32 {
    number.min(u32::MAX.into()) as u32
}

impl DelayedAck {
    pub fn new(config: &Config, clock: &Clock) -> DelayedAck {
        DelayedAck {
            scheduled: false,
            now: false,
            quick: 0,
            interactive: false,
            small: 0,
            delay: 0,
            min_delay: ticks(clock.ticks_for_ns(config.min_delayed_ack)).max(1),
            max_delay: ticks(clock.ticks_for_ns(config.max_delayed_ack)).max(1),
            half_second: (clock.hz / 2).max(1),
            last_data: 0,
            timer: Timer::OFF,
        }
    }

    /// An ACK must go out now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.now
    }

    /// Nothing came since the last ACK.
    pub fn are_idle(&self) -> bool {
        !self.scheduled && !self.now && self.small == 0 && self.timer.purpose == Purpose::None
    }

    /// An ACK is owed, but not before the timer says so.
    #[inline]
    pub fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// An ACK is owed.
    #[inline]
    pub fn owe(&mut self) {
        self.scheduled = true;
    }

    /// An ACK goes out at once, owed or not.
    #[inline]
    pub fn hasten(&mut self) {
        self.now = true;
    }

    /// A segment with an ACK went out: it serves for what was pending. It counts as a quick ACK if data called for it, be it new or
    /// out of order.
    #[inline]
    pub fn sent(&mut self) {
        if self.quick > 0 && self.scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.min_delay;
            }
        }
        self.scheduled = false;
        self.now = false;
        self.small = 0;
        self.timer.clear();
    }

    /// Data went out: a reply soon after data makes the session interactive.
    #[inline]
    pub fn data_sent(&mut self, clock: &Clock) {
        self.interactive |= clock.jiffies.saturating_sub(self.last_data) < self.delay.into();
    }

    /// The peer's FIN arrived. As long as our side is open its ACK waits for data or a FIN to ride on.
    pub fn fin_arrived(&mut self, open: bool) {
        self.scheduled = true;
        if open {
            self.interactive = true;
        } else {
            self.now = true;
        }
    }

    /// At least `count` quick ACKs.
    pub fn more_quick(&mut self, count: u32) {
        self.quick = self.quick.max(count);
    }

    /// The same, and the session starts anew.
    pub fn enter_quick(&mut self, count: u32) {
        self.more_quick(count);
        self.interactive = false;
        self.delay = self.min_delay;
    }

    /// The offered window grew: one quick ACK more if their number is even, so that every segment by which it grows is acknowledged.
    #[inline]
    pub fn window_grew(&mut self) {
        self.quick |= 1;
    }

    /// A segment arrived that is smaller than those before.
    #[inline]
    pub fn small_arrived(&mut self) {
        self.small = (self.small + 1).min(2);
    }

    /// Whether what was small is acknowledged once it is read: one segment, or in an interactive session two.
    #[inline]
    pub fn answers_small(&self) -> bool {
        self.small > u8::from(self.interactive)
    }

    /// The buffer is half full.
    pub fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Data arrived. The delay becomes the mean of itself and the gap since the last data, counted as half the smallest delay at
    /// least, unless the gap was longer than the delay. Returns whether quick ACKs are called for: by the first data, or after
    /// a gap longer than the retransmission timeout.
    #[inline]
    pub fn data_arrived(&mut self, clock: &Clock, rto_ticks: u64) -> bool {
        let gap = clock.jiffies - self.last_data;
        self.last_data = clock.jiffies;
        self.scheduled = true;
        if self.delay == 0 {
            self.delay = self.min_delay;
            return true;
        }
        let (least, delay) = (u64::from(self.min_delay / 2), u64::from(self.delay));
        if gap > least && gap >= delay {
            return gap > rto_ticks;
        }
        let mean = delay / 2 + gap.max(least);
        self.delay = if gap > least {
            mean.min(rto_ticks) as u32
        } else {
            mean as u32
        };
        false
    }

    /// Whether what is owed goes out at once because of quick-ACK mode.
    #[inline]
    pub fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// What is owed waits for the timer.
    #[inline(always)] // of `Receiver::schedule`
    pub fn delay(&mut self, clock: &Clock, srtt_us: u32) {
        let delay = self.bounded_delay(clock, srtt_us);
        let expires = clock.jiffies + delay;
        if self.timer.purpose == Purpose::None {
            self.timer.set(clock, Purpose::Rto, delay);
        } else if self.timer.expires <= clock.jiffies + delay / 4 {
            self.now = true;
        } else if expires < self.timer.expires {
            self.timer.set(clock, Purpose::Rto, delay);
        }
    }

    /// The delay, not longer than a round trip if that is known, nor than the longest.
    #[inline]
    fn bounded_delay(&self, clock: &Clock, srtt_us: u32) -> u64 {
        let mut delay = self.delay.max(1);
        if delay > self.min_delay {
            let mut most = if self.interactive {
                self.max_delay
            } else {
                self.half_second
            };
            if srtt_us > 0 {
                let rtt = clock.ticks_for_us(u64::from(srtt_us));
                most = most.min(ticks(rtt).max(self.min_delay));
            }
            delay = delay.min(most);
        }
        delay.min(self.max_delay).into()
    }

    /// The timer fired. Returns whether an ACK is due.
    pub fn timer_fired(&mut self, rto_ticks: u64) -> bool {
        self.timer.clear();
        if !self.scheduled {
            return false;
        }
        if !self.interactive {
            self.delay = self.delay.saturating_mul(2).min(ticks(rto_ticks));
        } else {
            self.interactive = false;
            self.delay = self.min_delay;
        }
        self.now = true;
        true
    }
}
