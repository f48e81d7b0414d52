//! Events of hosts: at most one of each host is pending.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use etalon_units::Time;

/// Pending events, in order of (time, host). A host has one at most, so that the heap is small, and its elements are single
/// numbers.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Time and, in the lowest bits, host.
    heap: BinaryHeap<Reverse<u64>>,
    /// Bits of the host.
    shift: u32,
    /// The host's, all set.
    mask: u64,
    /// When the first is due, [`Time::MAX`] if there is none: asked more often than it changes.
    next: Time,
}

impl Pending {
    /// For hosts of numbers below `hosts`.
    pub(crate) fn new(hosts: usize) -> Pending {
        let places = hosts.next_power_of_two();
        Pending {
            heap: BinaryHeap::new(),
            shift: places.trailing_zeros(),
            mask: places as u64 - 1,
            next: Time::MAX,
        }
    }

    /// The last instant at which hosts can have events.
    pub(crate) fn latest(&self) -> Time {
        Time(u64::MAX >> self.shift)
    }

    #[inline]
    fn key(&self, time: Time, host: u32) -> Reverse<u64> {
        debug_assert!(time <= self.latest());
        Reverse(time.0 << self.shift | u64::from(host))
    }

    /// Adds the event of a host that has none.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, host: u32) {
        self.next = self.next.min(time);
        self.heap.push(self.key(time, host));
    }

    /// When the first event is due, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The host of the first event.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        let first = self.heap.peek()?;
        Some((first.0 & self.mask) as u32)
    }

    /// Moves the event of `host`, which must be the first, to its next time; takes it off if there is none. Moving is cheaper
    /// than a pop and a push.
    #[inline]
    pub(crate) fn move_first(&mut self, host: u32, next: Option<Time>) {
        match next {
            Some(time) => {
                let key = self.key(time, host);
                if let Some(mut first) = self.heap.peek_mut() {
                    *first = key;
                }
            }
            None => {
                self.heap.pop();
            }
        }
        let first = self.heap.peek();
        self.next = first.map_or(Time::MAX, |key| Time(key.0 >> self.shift));
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
