// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round robin over those of N queues that have something to send.

use alloc::vec::Vec;

/// A set of queues, and whose turn it is. One bit per queue: the next one is found 64 queues at a time.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    /// Queues 0 to 63, which are all that most switches have.
    first: u64,
    /// The queues from 64 on.
    others: Vec<u64>,
    /// Number of others in the set.
    others_in: u32,
    /// The queue that was served last.
    last: u16,
}

impl RoundRobin {
    /// Of `n` queues (at least one), none of which has anything to send. The first turn is queue 0's.
    pub(crate) fn new(n: u16) -> RoundRobin {
        RoundRobin {
            first: 0,
            others: alloc::vec![0; usize::from(n).div_ceil(64) - 1],
            others_in: 0,
            last: n - 1,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, queue: u16) {
        if queue < 64 {
            self.first |= 1 << queue;
        } else {
            let word = &mut self.others[usize::from(queue) / 64 - 1];
            let with = *word | 1 << (queue % 64);
            self.others_in += u32::from(*word != with);
            *word = with;
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, queue: u16) {
        if queue < 64 {
            self.first &= !(1 << queue);
        } else {
            let word = &mut self.others[usize::from(queue) / 64 - 1];
            let without = *word & !(1 << (queue % 64));
            self.others_in -= u32::from(*word != without);
            *word = without;
        }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.first == 0 && self.others_in == 0
    }

    /// A queue has its turn that has no other beside it, and nothing more to send after it.
    #[inline]
    pub(crate) fn serve_only(&mut self, queue: u16) {
        debug_assert!(self.is_empty(), "there are others");
        self.last = queue;
    }

    /// The first queue in the set after the one served last; it counts as served.
    #[inline]
    pub(crate) fn serve(&mut self) -> Option<u16> {
        let after = match self.last {
            last @ 0..64 => self.first & (!1 << last),
            _ => 0,
        };
        self.last = if after != 0 {
            after.trailing_zeros() as u16
        } else if self.others_in > 0 {
            self.after_the_first()?
        } else if self.first != 0 {
            self.first.trailing_zeros() as u16
        } else {
            return None;
        };
        Some(self.last)
    }

    /// As [`RoundRobin::serve`], if it is none of the first 64 after the last, and there are others.
    #[inline(never)]
    fn after_the_first(&self) -> Option<u16> {
        let from = (self.last + 1).max(64);
        let (word, bit) = (usize::from(from) / 64 - 1, from % 64);
        // The bits from `from` on in its word, the other words, the first word, and the others from their start.
        let found = |(w, bits): (usize, u64)| {
            (bits != 0).then(|| w as u16 * 64 + bits.trailing_zeros() as u16)
        };
        let rest = self.others.get(word).map_or(0, |bits| bits & (!0 << bit));
        let others = || {
            self.others
                .iter()
                .copied()
                .zip(1..)
                .map(|(bits, w)| (w, bits))
        };
        [(word + 1, rest)]
            .into_iter()
            .chain(others().skip(word + 1))
            .chain([(0, self.first)])
            .chain(others())
            .find_map(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    #[test]
    fn each_member_has_its_turn() {
        let mut turns = RoundRobin::new(200);
        assert_eq!(turns.serve(), None);
        for queue in [0, 63, 64, 130, 199] {
            turns.insert(queue);
        }
        let order: Vec<_> = (0..7).map(|_| turns.serve().unwrap()).collect();
        assert_eq!(order, [0, 63, 64, 130, 199, 0, 63]);
        turns.remove(64);
        turns.insert(2);
        let order: Vec<_> = (0..5).map(|_| turns.serve().unwrap()).collect();
        assert_eq!(order, [130, 199, 0, 2, 63]);
    }

    proptest! {
        /// Who is served next is the first member after the last one, around the circle.
        #[test]
        fn turns_come_as_from_a_list(
            n in prop_oneof![1u16..9, 60u16..200],
            steps in prop::collection::vec((0u8..4, any::<u16>()), 1..200),
        ) {
            let mut turns = RoundRobin::new(n);
            let mut members = BTreeSet::new();
            let mut last = n - 1;
            for (what, queue) in steps {
                let queue = queue % n;
                match what {
                    0 => {
                        turns.insert(queue);
                        members.insert(queue);
                    }
                    1 => {
                        turns.remove(queue);
                        members.remove(&queue);
                    }
                    _ => {
                        let after = members.range(last + 1..).next();
                        let expected = after.or(members.first()).copied();
                        prop_assert_eq!(turns.serve(), expected);
                        last = expected.unwrap_or(last);
                    }
                }
                prop_assert_eq!(turns.is_empty(), members.is_empty());
            }
        }
    }

    #[test]
    fn a_lone_member_is_served_again() {
        let mut turns = RoundRobin::new(3);
        turns.insert(1);
        assert_eq!(turns.serve(), Some(1));
        assert_eq!(turns.serve(), Some(1));
        turns.remove(1);
        assert_eq!(turns.serve(), None);
    }
}
