// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion window validation (RFC 7661, RFC 2861): a window grows only if it limited the sender, and what was not used for
//! long is given up.

use crate::Config;
use crate::cc::{CongestionControl, State};
use crate::linux;
use crate::sending::path::Path;
use crate::seq::before;
use crate::timers::Clock;

/// How much of a window a sender used: so many segments were outstanding, or all that it allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use(u32);

impl Use {
    const FULL: Use = Use(u32::MAX);
}

/// How much of the window was used.
#[derive(Clone, Debug)]
pub(crate) struct Validation {
    pub initial_cwnd: u32,
    /// The most of the round that ends at `round_end`.
    most: Use,
    pub round_end: u32,
    /// When the window was last fully used, in ticks, which wrap, and the most used since, in segments.
    pub used_at: u32,
    used: u32,
}

impl Validation {
    pub fn new(initial_cwnd: u32, seq: u32) -> Validation {
        Validation {
            initial_cwnd,
            most: Use(0),
            round_end: seq,
            used_at: 0,
            used: 0,
        }
    }
}

impl<C: CongestionControl> Path<C> {
    /// Whether growth is justified (RFC 7661, section 4.1: the sender was cwnd-limited).
    #[inline]
    pub(crate) fn cwnd_limited(&self) -> bool {
        let most = self.validation.most;
        most == Use::FULL || linux::half_used_in_slow_start(&self.window, most.0)
    }

    /// After a burst: notes whether the window limited it. The strongest evidence within a round counts.
    #[inline]
    pub(crate) fn validate(&mut self, clock: &Clock, una: u32, nxt: u32, full: bool, decays: bool) {
        let out = self.pipe.outstanding;
        let latest = if full { Use::FULL } else { Use(out) };
        let over = !before(una, self.validation.round_end);
        if over || latest == Use::FULL || latest > self.validation.most {
            self.validation.most = latest;
            self.validation.round_end = nxt;
        }
        if self.cwnd_limited() {
            self.validation.used = 0;
            self.validation.used_at = clock.jiffies as u32;
            return;
        }
        self.validation.used = self.validation.used.max(out);
        let unused_for = (clock.jiffies as u32).wrapping_sub(self.validation.used_at);
        if decays && u64::from(unused_for) >= self.rtt.rto_ticks() {
            self.shrink_to_used(clock);
        }
    }

    /// RFC 2861, section 3.2: not limited by the window for an RTO. The threshold becomes 3/4 of the window if that is more, the
    /// window the mean of itself and what was used.
    fn shrink_to_used(&mut self, clock: &Clock) {
        if self.cc.steers() {
            return;
        }
        if self.recovery.state == State::Open && self.validation.used < self.window.cwnd {
            let used = self.validation.used.max(self.validation.initial_cwnd);
            if used < self.window.cwnd {
                self.window.ssthresh = self.remembered_ssthresh();
                self.window.cwnd = self.window.cwnd.midpoint(used);
            }
            self.validation.used = 0;
        }
        self.validation.used_at = clock.jiffies as u32;
    }

    /// The threshold that remembers what the window was: at least three quarters of it (RFC 2861, section 3.1), unless it has
    /// just been set.
    pub(crate) fn remembered_ssthresh(&self) -> u32 {
        if self.recovery.reduces() {
            return self.window.ssthresh;
        }
        let three_quarters = (self.window.cwnd >> 1) + (self.window.cwnd >> 2);
        self.window.ssthresh.max(three_quarters)
    }

    /// Data flows after a pause: the window may be out of date (RFC 2861).
    pub(crate) fn restart_after_idle(&mut self, clock: &Clock, config: &Config) {
        if !config.slow_start_after_idle {
            return;
        }
        let idle = u64::from((clock.jiffies as u32).wrapping_sub(self.last_sent));
        if idle > self.rtt.rto_ticks() {
            self.halve_for(clock, idle);
        }
    }

    /// Nothing was outstanding for `idle` ticks: the window is halved for each timeout (RFC 2861, section 3.1), not below the
    /// initial one.
    fn halve_for(&mut self, clock: &Clock, idle: u64) {
        if self.cc.steers() {
            return;
        }
        let floor = self.validation.initial_cwnd.min(self.window.cwnd);
        self.window.ssthresh = self.remembered_ssthresh();
        let mut left = idle;
        while left > self.rtt.rto_ticks() && self.window.cwnd > floor {
            left -= self.rtt.rto_ticks();
            self.window.cwnd >>= 1;
        }
        self.window.cwnd = self.window.cwnd.max(floor);
        self.validation.used_at = clock.jiffies as u32;
        self.validation.used = 0;
    }
}
