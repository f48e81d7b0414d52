// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host's clocks and timers with the granularity that Linux gives them.
//!
//! Round-trip times are kept in microseconds. Timers are set in ticks (jiffies) and sit on a timer wheel: a timer fires on a
//! tick, never before its time, hence at the earliest on the tick *after* the one asked for; far-off timers are rounded up to
//! coarser ticks (8 beyond 63 ticks, 64 beyond 504, ...). The visible effect is that a 200 ms timeout at HZ 250 takes 200 to
//! 204 ms and a 400 ms one up to 436 ms.

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;

/// Host time in the units in which TCP reads it.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Nanoseconds.
    pub now: u64,
    /// Microseconds.
    pub us: u64,
    /// Ticks.
    pub jiffies: u64,
    /// When the next tick comes, in nanoseconds.
    next_tick: u64,
    /// Length of a tick in nanoseconds, at least 1000.
    tick: u32,
    /// 2^64 / `tick`, rounded up: its error does not show for numbers below it.
    inverse: u64,
    /// Ticks a second.
    pub hz: u32,
}

/// Bits of a [`Stamp`] below microseconds.
const SUBTLE_BITS: u32 = 10;

/// An instant as microseconds, in which Linux's TCP counts, and the nanoseconds beyond them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// Microseconds.
    #[inline]
    pub fn us(self) -> u64 {
        self.0 >> SUBTLE_BITS
    }

    /// Nanoseconds.
    #[inline]
    pub fn ns(self) -> u64 {
        self.us() * 1000 + (self.0 & ((1 << SUBTLE_BITS) - 1))
    }
}

impl Clock {
    pub fn new(hz: u32) -> Clock {
        let hz = hz.clamp(1, 1_000_000);
        let tick = SECOND / u64::from(hz);
        Clock {
            now: 0,
            us: 0,
            jiffies: 0,
            next_tick: tick,
            tick: tick as u32,
            inverse: u64::MAX / tick + 1,
            hz,
        }
    }

    /// Moves the clock to `now`; it never goes back.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        if now <= self.now {
            return;
        }
        self.now = now;
        self.us = now / 1000;
        if now >= self.next_tick {
            let tick = u64::from(self.tick);
            self.jiffies = now / tick;
            self.next_tick = self.jiffies.saturating_add(1).saturating_mul(tick);
        }
    }

    /// This instant, as a record of the scoreboard keeps it.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        Stamp((self.us << SUBTLE_BITS) + (self.now - self.us * 1000))
    }

    /// The timestamp clock (RFC 7323): milliseconds, never 0, which would mean 'no timestamp'.
    #[inline]
    pub fn timestamp(&self) -> u32 {
        Clock::timestamp_of(self.us)
    }

    /// The timestamp that a segment sent at `us` carried.
    #[inline]
    pub fn timestamp_of(us: u64) -> u32 {
        ((us / 1000) as u32).wrapping_add(1)
    }

    /// Ticks that cover `us` microseconds.
    #[inline]
    pub fn ticks_for_us(&self, us: u64) -> u64 {
        self.ticks_for_short(us * 1000)
    }

    /// Ticks that cover `ns` nanoseconds, which are less than 500 years.
    #[inline]
    pub fn ticks_for_short(&self, ns: u64) -> u64 {
        // Nearly always the product below is exact, and several times faster than the division.
        let tick = u64::from(self.tick);
        let ns = ns + tick - 1;
        if ns < self.inverse {
            ((u128::from(ns) * u128::from(self.inverse)) >> 64) as u64
        } else {
            ns / tick
        }
    }

    /// Ticks that cover `ns` nanoseconds.
    pub fn ticks_for_ns(&self, ns: u64) -> u64 {
        ns.div_ceil(self.tick.into())
    }

    /// Microseconds of `ticks`.
    #[inline]
    pub fn us_of_ticks(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.tick.into()) / 1000
    }

    /// Whether `ticks` are at least so many microseconds. Neither is more than a timeout or an age can be.
    #[inline]
    pub fn covers_us(&self, ticks: u64, us: u64) -> bool {
        ticks * u64::from(self.tick) >= us * 1000
    }

    /// When a timer set now for tick `expires` fires, in nanoseconds, and by how many binary digits its wheel is coarser than ticks.
    #[inline(never)] // nearly all timers are nearer than the first coarse tick
    pub fn fires_at(&self, expires: u64) -> (u64, u64) {
        let mut shift = 0;
        let mut reach = 63;
        while expires.saturating_sub(self.jiffies) >= reach && shift < 21 {
            shift += 3;
            reach <<= 3;
        }
        (self.at_tick(((expires >> shift) + 1) << shift), shift)
    }

    /// When a tick comes, in nanoseconds.
    #[inline]
    fn at_tick(&self, tick: u64) -> u64 {
        tick.saturating_mul(self.tick.into())
    }
}

/// What the retransmission timer is set for: one timer serves all, as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Not set.
    #[default]
    None,
    /// Retransmission timeout.
    Rto,
    /// Tail loss probe.
    LossProbe,
    /// RACK's reordering window.
    Reordering,
    /// Zero-window probe.
    Persist,
    /// End of TIME-WAIT.
    TimeWait,
}

/// Where a timer's rank has how coarse its wheel is: above nine years of nanoseconds.
const COARSENESS: u32 = 58;

/// A timer on the wheel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub purpose: Purpose,
    /// Tick asked for.
    pub expires: u64,
    /// When it fires, in nanoseconds; `u64::MAX` if not set.
    pub deadline: u64,
    /// Of timers that fire at one tick the greatest comes first, as seen on Linux: that of the coarsest wheel ([`COARSENESS`]), then the last
    /// that was armed, in nanoseconds.
    pub rank: u64,
}

impl Timer {
    pub const OFF: Timer = Timer {
        purpose: Purpose::None,
        expires: u64::MAX,
        deadline: u64::MAX,
        rank: 0,
    };

    /// Sets the timer to `ticks` from now.
    #[inline(always)] // for every packet; its other calls are rarer
    pub fn set(&mut self, clock: &Clock, purpose: Purpose, ticks: u64) {
        let expires = clock.jiffies + ticks;
        self.purpose = purpose;
        if expires != self.expires || ticks >= 63 {
            self.expires = expires;
            let (deadline, coarseness) = if ticks < 63 {
                (clock.at_tick(expires + 1), 0)
            } else {
                clock.fires_at(expires)
            };
            if deadline != self.deadline {
                self.deadline = deadline;
                self.rank = coarseness << COARSENESS | clock.now;
            }
        }
    }

    #[inline]
    pub fn clear(&mut self) {
        *self = Timer::OFF;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_on_ticks_and_never_early() {
        let mut clock = Clock::new(250);
        for now in [0, 1, 3_999_999, 4_000_000, 123_456_789] {
            clock.advance(now);
            for ticks in [1_u64, 2, 50, 62, 63, 100, 503, 504, 5_000] {
                let at = clock.fires_at(clock.jiffies + ticks).0;
                assert_eq!(at % 4_000_000, 0);
                assert!(
                    at >= now + ticks * 4_000_000,
                    "{ticks} ticks at {now} fired at {at}"
                );
                let slack = if ticks < 63 { 1 } else { ticks / 4 + 1 };
                assert!(
                    at <= now + (ticks + slack) * 4_000_000,
                    "{ticks} ticks at {now} fired at {at}"
                );
            }
        }
    }

    #[test]
    fn of_one_tick_the_coarser_timer_is_first_and_then_the_last_armed() {
        let mut clock = Clock::new(250);
        let mut timers = [Timer::OFF; 4];
        // All fire at tick 512.
        for (timer, (tick, ticks)) in
            timers
                .iter_mut()
                .zip([(1, 504), (391, 120), (392, 119), (491, 20)])
        {
            clock.advance(tick * 4_000_000);
            timer.set(&clock, Purpose::Rto, ticks);
            assert_eq!(timer.deadline, 512 * 4_000_000);
        }
        timers.sort_by_key(|timer| std::cmp::Reverse(timer.rank));
        assert_eq!(timers.map(|timer| timer.expires), [505, 511, 511, 511]);
        let armed = timers.map(|timer| timer.rank % (1 << COARSENESS) / 4_000_000);
        assert_eq!(armed, [1, 392, 391, 491]);
        let before = timers[3];
        clock.advance(491 * 4_000_000 + 1);
        timers[3].set(&clock, Purpose::LossProbe, 20);
        assert_eq!(timers[3].rank, before.rank, "it stays where it is");
        timers[3].clear();
        timers[3].set(&clock, Purpose::LossProbe, 20);
        assert!(timers[3].rank > before.rank);
    }

    #[test]
    fn a_stamp_keeps_both_units() {
        let mut clock = Clock::new(250);
        for now in [0, 999, 1_000, 9_007_199_254_740_993, 12_345_678_901_234_567] {
            clock.advance(now);
            let stamp = clock.stamp();
            assert_eq!((stamp.us(), stamp.ns()), (now / 1_000, now));
        }
    }

    #[test]
    fn microseconds_round_up_to_ticks() {
        let clock = Clock::new(250);
        assert_eq!(clock.ticks_for_us(0), 0);
        assert_eq!(clock.ticks_for_us(1), 1);
        assert_eq!(clock.ticks_for_us(4000), 1);
        assert_eq!(clock.ticks_for_us(4001), 2);
        assert_eq!(clock.ticks_for_us(120_000_000), 30_000);
        for hz in [1, 100, 300, 999, 1024, 1_000_000] {
            let clock = Clock::new(hz);
            for us in [0, 1, 3333, 3334, 10_000_000, 1 << 32, 1 << 50] {
                assert_eq!(
                    clock.ticks_for_us(us),
                    (us * 1000).div_ceil(clock.tick.into())
                );
                let ns = us * 1000 + 1;
                assert_eq!(clock.ticks_for_short(ns), clock.ticks_for_ns(ns));
            }
        }
    }
}
