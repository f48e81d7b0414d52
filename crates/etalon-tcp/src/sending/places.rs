// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is remembered of the buffers of a program that waits for its send buffer (`program.rs`): three queues of numbers. Every flow whose
//! program waits has them, and most have a few numbers in all, which share one place.

use std::collections::VecDeque;

/// Numbers that share it.
const FEW: usize = 7;

/// One of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Where the chunks end that were sent: each is a buffer of its own until it is acknowledged.
    Chunks,
    /// Where what was pushed ends.
    Pushed,
    /// Bytes of the buffers behind the first that has unsent bytes.
    Behind,
}

/// The queues.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// How many numbers each has, and the numbers, one queue after the other.
    Few([u8; 3], [u32; FEW]),
    Many(Box<[VecDeque<u32>; 3]>),
}

impl Default for Places {
    fn default() -> Places {
        Places::Few([0; 3], [0; FEW])
    }
}

impl Places {
    /// A queue's numbers; in a ring, first those up to its seam.
    fn numbers(&self, of: Of) -> (&[u32], &[u32]) {
        match self {
            Places::Few(counts, numbers) => (&numbers[range(*counts, of)], &[]),
            Places::Many(queues) => queues[of as usize].as_slices(),
        }
    }

    pub fn iter(&self, of: Of) -> impl Iterator<Item = u32> {
        let (first, others) = self.numbers(of);
        first.iter().chain(others).copied()
    }

    pub fn len(&self, of: Of) -> usize {
        let (first, others) = self.numbers(of);
        first.len() + others.len()
    }

    pub fn first(&self, of: Of) -> Option<u32> {
        self.numbers(of).0.first().copied()
    }

    pub fn last(&self, of: Of) -> Option<u32> {
        let (first, others) = self.numbers(of);
        others.last().or(first.last()).copied()
    }

    pub fn last_mut(&mut self, of: Of) -> Option<&mut u32> {
        match self {
            Places::Few(counts, numbers) => numbers[range(*counts, of)].last_mut(),
            Places::Many(queues) => queues[of as usize].back_mut(),
        }
    }

    /// Adds a last one.
    pub fn push(&mut self, of: Of, number: u32) {
        match self {
            Places::Few(counts, numbers) => {
                let all = range(*counts, Of::Behind).end;
                if all == FEW {
                    self.make_room();
                    return self.push(of, number);
                }
                let end = range(*counts, of).end;
                numbers.copy_within(end..all, end + 1);
                numbers[end] = number;
                counts[of as usize] += 1;
            }
            Places::Many(queues) => queues[of as usize].push_back(number),
        }
    }

    #[cold]
    fn make_room(&mut self) {
        let all = [Of::Chunks, Of::Pushed, Of::Behind];
        let queues = all.map(|of| self.iter(of).collect());
        *self = Places::Many(Box::new(queues));
    }

    pub fn pop_first(&mut self, of: Of) -> Option<u32> {
        match self {
            Places::Few(counts, numbers) => {
                let first = range(*counts, of).start;
                take(counts, numbers, of, first)
            }
            Places::Many(queues) => queues[of as usize].pop_front(),
        }
    }

    pub fn pop_last(&mut self, of: Of) -> Option<u32> {
        match self {
            Places::Few(counts, numbers) => {
                let last = range(*counts, of).end.wrapping_sub(1);
                take(counts, numbers, of, last)
            }
            Places::Many(queues) => queues[of as usize].pop_back(),
        }
    }
}

/// Where a queue is among the few.
fn range(counts: [u8; 3], of: Of) -> std::ops::Range<usize> {
    let before = &counts[..of as usize];
    let start = before.iter().map(|&count| usize::from(count)).sum();
    start..start + usize::from(counts[of as usize])
}

/// Takes the number at `index`, which is of this queue, unless that is empty.
fn take(counts: &mut [u8; 3], numbers: &mut [u32; FEW], of: Of, index: usize) -> Option<u32> {
    let count = counts[of as usize].checked_sub(1)?;
    let number = numbers[index];
    numbers.copy_within(index + 1.., index);
    counts[of as usize] = count;
    Some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Of; 3] = [Of::Chunks, Of::Pushed, Of::Behind];

    proptest! {
        #[test]
        fn they_are_three_queues_however_many_numbers_they_have(
            steps in prop::collection::vec((0..3_usize, 0..7_u8), 0..60),
        ) {
            let mut places = Places::default();
            let mut queues = [const { VecDeque::new() }; 3];
            for (number, (of, step)) in (0..).zip(steps) {
                let (queue, of) = (&mut queues[of], ALL[of]);
                match step {
                    0..=3 => {
                        places.push(of, number);
                        queue.push_back(number);
                    }
                    4 => prop_assert_eq!(places.pop_first(of), queue.pop_front()),
                    5 => prop_assert_eq!(places.pop_last(of), queue.pop_back()),
                    _ => {
                        let last = places.last_mut(of).map(|last| *last += 100);
                        prop_assert_eq!(last, queue.back_mut().map(|last| *last += 100));
                    }
                }
                for (of, queue) in ALL.into_iter().zip(&queues) {
                    prop_assert!(places.iter(of).eq(queue.iter().copied()));
                    prop_assert_eq!(places.len(of), queue.len());
                    prop_assert_eq!(places.first(of), queue.front().copied());
                    prop_assert_eq!(places.last(of), queue.back().copied());
                }
            }
        }
    }
}
