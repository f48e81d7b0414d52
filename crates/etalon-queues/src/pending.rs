// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of hosts: at most one of each host is pending.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use etalon_units::Time;

/// Pending events, in order of (time, host). A host has one at most, so that there are few, and each is a single number: time
/// and, in the lowest bits, host.
#[derive(Debug)]
pub struct Pending {
    /// The first, [`NONE`] if there is none. Often it is the only one, or the next one after itself.
    first: u64,
    others: BinaryHeap<Reverse<u64>>,
    /// Bits of the host.
    shift: u32,
    /// The host's, all set.
    mask: u64,
    /// When the first is due, [`Time::MAX`] if there is none: asked more often than it changes.
    next: Time,
}

/// No event: later than all.
const NONE: u64 = u64::MAX;

impl Pending {
    /// For hosts of numbers below `hosts`.
    pub fn new(hosts: usize) -> Pending {
        let places = hosts.next_power_of_two();
        Pending {
            first: NONE,
            others: BinaryHeap::new(),
            shift: places.trailing_zeros(),
            mask: places as u64 - 1,
            next: Time::MAX,
        }
    }

    /// The last instant at which hosts can have events.
    pub fn latest(&self) -> Time {
        Time(u64::MAX >> self.shift)
    }

    #[inline]
    fn key(&self, time: Time, host: u32) -> u64 {
        debug_assert!(time <= self.latest());
        time.0 << self.shift | u64::from(host)
    }

    /// Adds the event of a host that has none.
    #[inline]
    pub fn push(&mut self, time: Time, host: u32) {
        let mut key = self.key(time, host);
        if key < self.first {
            core::mem::swap(&mut key, &mut self.first);
            self.next = time;
        }
        if key != NONE {
            self.others.push(Reverse(key));
        }
    }

    /// When the first event is due, [`Time::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The host of the first event.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first_if_any())
    }

    /// The host of the first event; of none, any number, for who knows that there is one.
    #[inline]
    pub fn first_if_any(&self) -> u32 {
        (self.first & self.mask) as u32
    }

    /// Moves the event of `host`, which must be the first, to its next time; takes it off if there is none. Moving is cheaper
    /// than a pop and a push.
    #[inline(always)] // with every packet
    pub fn move_first(&mut self, host: u32, next: Option<Time>) {
        if let Some(time) = next {
            let key = self.key(time, host);
            match self.others.peek_mut() {
                Some(mut other) if other.0 < key => {
                    self.first = other.0;
                    *other = Reverse(key);
                }
                _ => {
                    (self.first, self.next) = (key, time);
                    return;
                }
            }
        } else if let Some(Reverse(other)) = self.others.pop() {
            self.first = other;
        } else {
            (self.first, self.next) = (NONE, Time::MAX);
            return;
        }
        self.next = Time(self.first >> self.shift);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_then_host(
            hosts in 1usize..70,
            events in prop::collection::vec((0u64..20, any::<u32>()), 1..200),
        ) {
            let mut pending = Pending::new(hosts);
            let mut expected: Vec<(Time, u32)> = Vec::new();
            for (time, host) in events {
                let host = host % hosts as u32;
                if expected.iter().all(|&(_, other)| other != host) {
                    pending.push(Time(time), host);
                    expected.push((Time(time), host));
                }
            }
            expected.sort_unstable();
            while let Some(&(time, host)) = expected.first() {
                prop_assert_eq!((pending.next(), pending.first()), (time, Some(host)));
                expected.remove(0);
                // A second event after the first, for every other host.
                let next = (host % 2 == 0 && time.0 < 20).then_some(Time(time.0 + 20));
                pending.move_first(host, next);
                expected.extend(next.map(|time| (time, host)));
                expected.sort_unstable();
            }
            prop_assert_eq!((pending.next(), pending.first()), (Time::MAX, None));
        }
    }
}
