//! Round robin over those of N queues that have something to send.

use alloc::vec::Vec;

/// A set of queues, and whose turn it is. One bit per queue: the next one is found 64 queues at a time.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    words: Vec<u64>,
    /// Number of queues in the set.
    len: usize,
    /// The queue that was served last.
    last: usize,
}

impl RoundRobin {
    /// Of `n` queues (at least one), none of which has anything to send. The first turn is queue 0's.
    pub(crate) fn new(n: u16) -> RoundRobin {
        RoundRobin {
            words: alloc::vec![0; usize::from(n).div_ceil(64)],
            len: 0,
            last: usize::from(n) - 1,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, queue: u16) {
        let word = &mut self.words[usize::from(queue) / 64];
        let with = *word | 1 << (queue % 64);
        self.len += usize::from(*word != with);
        *word = with;
    }

    #[inline]
    pub(crate) fn remove(&mut self, queue: u16) {
        let word = &mut self.words[usize::from(queue) / 64];
        let without = *word & !(1 << (queue % 64));
        self.len -= usize::from(*word != without);
        *word = without;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A queue has its turn that has no other beside it, and nothing more to send after it.
    #[inline]
    pub(crate) fn serve_only(&mut self, queue: u16) {
        debug_assert!(self.is_empty(), "there are others");
        self.last = usize::from(queue);
    }

    /// The first queue in the set after the one served last; it counts as served.
    #[inline]
    pub(crate) fn serve(&mut self) -> Option<u16> {
        let (word, bit) = (self.last / 64, self.last % 64);
        // The bits after `last` in its word, then the other words, then its word from the start.
        let after = self.words[word] & (!1 << bit);
        let found = if after != 0 {
            Some((word, after))
        } else {
            (word + 1..self.words.len())
                .chain(0..=word)
                .map(|w| (w, self.words[w]))
                .find(|&(_, bits)| bits != 0)
        };
        let (word, bits) = found?;
        self.last = word * 64 + bits.trailing_zeros() as usize;
        Some(self.last as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
