// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which packets of a flow have arrived.

use alloc::collections::VecDeque;

/// The numbers that have come: all below a first one, and some above.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    next: u32,
    count: u32,
    /// A bit for each number, from the largest multiple of 64 up to `next`.
    words: VecDeque<u64>,
}

impl Arrived {
    /// All smaller numbers have come.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// How many have come.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// A number comes. Whether it is the first time.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        if number < self.next {
            return false;
        }
        let word = (number / 64 - self.next / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let bit = 1 << (number % 64);
        if self.words[word] & bit != 0 {
            return false;
        }
        self.words[word] |= bit;
        self.count += 1;
        if number == self.next {
            self.advance();
        }
        true
    }

    fn advance(&mut self) {
        while let Some(first) = self.words.front() {
            let here = self.next % 64;
            let run = (!(first >> here)).trailing_zeros().min(64 - here);
            self.next += run;
            if here + run < 64 {
                break;
            }
            self.words.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set(numbers in prop::collection::vec(0u32..300, 0..600)) {
            let (mut arrived, mut set) = (Arrived::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(arrived.insert(number), set.insert(number));
                let next = (0..).find(|n| !set.contains(n)).unwrap();
                prop_assert_eq!(arrived.next(), next);
                prop_assert_eq!(arrived.count() as usize, set.len());
            }
        }
    }
}
