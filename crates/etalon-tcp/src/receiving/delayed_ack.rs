// SPDX-License-Identifier: MIT OR Apache-2.0
//! When to acknowledge. RFC 1122, section 4.2.3.2: "in a stream of full-sized segments there SHOULD be an ACK for at least every second
//! segment". RFC 5681, section 4.2: out of order at once. An ACK that neither calls for waits (`ack_delay.rs`), unless quick ACKs are left:
//! after the start, losses, duplicates and marks each segment with data is acknowledged, as recorded exchanges show it.

use super::ack_delay::{Timing, Wait, timing};
use crate::Config;
use crate::timers::{Clock, Purpose, Timer};

/// Quick ACKs at most.
pub(crate) const MAX_QUICK_ACKS: u32 = 16;

/// Whether an ACK is due, and the delayed-ACK timer.
#[derive(Clone, Debug)]
pub(crate) struct DelayedAck {
    /// An ACK is due some time; at once.
    scheduled: bool,
    now: bool,
    /// Data went out soon after data came in: ACKs had better ride on data.
    interactive: bool,
    /// Small segments since the last ACK, counted up to two.
    small: u8,
    /// Quick ACKs left.
    quick: u32,
    wait: Wait,
    /// The tick at which data arrived last.
    last_data: u64,
    pub timer: Timer,
}

impl DelayedAck {
    pub fn new(config: &Config, clock: &Clock) -> DelayedAck {
        let ticks = |ns| clock.ticks_for_ns(ns);
        DelayedAck {
            scheduled: false,
            now: false,
            interactive: false,
            small: 0,
            quick: 0,
            wait: Wait::between(
                ticks(config.min_delayed_ack),
                ticks(config.max_delayed_ack),
                clock.hz,
            ),
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
        if self.scheduled {
            self.spend_quick();
        }
        self.scheduled = false;
        self.now = false;
        self.small = 0;
        self.timer.clear();
    }

    /// After the last quick ACK waits begin with the shortest.
    #[inline]
    fn spend_quick(&mut self) {
        match self.quick {
            0 => {}
            1 => {
                self.quick = 0;
                self.wait.restart();
            }
            more => self.quick = more - 1,
        }
    }

    /// Data went out: a reply soon after data makes the session interactive.
    #[inline]
    pub fn data_sent(&mut self, clock: &Clock) {
        let gap = clock.jiffies.saturating_sub(self.last_data);
        self.interactive |= self.wait.outlasts(gap);
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
        self.restart();
    }

    /// ACKs are delayed as at the start.
    fn restart(&mut self) {
        self.interactive = false;
        self.wait.restart();
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

    /// Data arrived. Returns whether quick ACKs are called for.
    #[inline]
    pub fn data_arrived(&mut self, clock: &Clock, rto_ticks: u64) -> bool {
        self.scheduled = true;
        let last = std::mem::replace(&mut self.last_data, clock.jiffies);
        self.wait.follow(clock.jiffies - last, rto_ticks)
    }

    /// Whether what is owed goes out at once because of quick-ACK mode.
    #[inline]
    pub fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// What is owed waits for the timer.
    #[inline(always)] // of `Receiver::schedule`
    pub fn delay(&mut self, clock: &Clock, srtt_us: u32) {
        let srtt = || (srtt_us > 0).then(|| clock.ticks_for_us(srtt_us.into()));
        let runs = self.timer.purpose != Purpose::None;
        let left = runs.then(|| self.timer.expires.saturating_sub(clock.jiffies));
        match timing(left, self.wait.bounded(srtt)) {
            Timing::In(ticks) => self.timer.set(clock, Purpose::Rto, ticks),
            Timing::AsSet => {}
            Timing::Due => self.now = true,
        }
    }

    /// The timer fired. Returns whether an ACK is due.
    pub fn timer_fired(&mut self, rto_ticks: u64) -> bool {
        self.timer.clear();
        if self.scheduled {
            if self.interactive {
                // No data came for it to ride on.
                self.restart();
            } else {
                self.wait.double(rto_ticks);
            }
            self.now = true;
        }
        self.scheduled
    }
}
