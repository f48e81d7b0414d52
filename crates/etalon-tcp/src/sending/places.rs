// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is remembered of the buffers of a program that waits for its send buffer (`program.rs`): where what was pushed ends, and the bytes
//! of the buffers behind the first that has unsent bytes. Every flow whose program waits has this, so buffers of one size take one number, and
//! a few numbers need no memory of their own.

use std::collections::VecDeque;

/// Numbers that share it.
const FEW: usize = 7;

/// One of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Where what was pushed ends.
    Pushed,
    /// Buffers of the same size: their bytes, and how many follow the first of them.
    Runs,
}

/// The queues.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// How many numbers each has, and the numbers, one queue after the other.
    Few([u8; 2], [u32; FEW]),
    Many(Box<[VecDeque<u32>; 2]>),
}

impl Default for Places {
    fn default() -> Places {
        Places::Few([0; 2], [0; FEW])
    }
}

/// Bytes of a buffer, which are fewer than 2^16, and in the upper half how many more follow it that have as many.
const BYTES: u32 = 0xffff;
const ONE_MORE: u32 = BYTES + 1;

impl Places {
    /// Where the first of what was pushed ends.
    pub fn first_pushed(&self) -> Option<u32> {
        self.first(Of::Pushed)
    }

    /// What was pushed ends at `end`, too.
    pub fn add_pushed(&mut self, end: u32) {
        if self.last(Of::Pushed) != Some(end) {
            self.push(Of::Pushed, end);
        }
    }

    pub fn forget_first_pushed(&mut self) {
        self.pop_first(Of::Pushed);
    }

    /// What was pushed last does not end there any more.
    pub fn forget_last_pushed(&mut self) {
        self.pop_last(Of::Pushed);
    }

    /// How many buffers are behind the first, and their bytes.
    pub fn behind(&self) -> (u64, u64) {
        self.iter(Of::Runs).fold((0, 0), |(count, bytes), run| {
            let more = u64::from(run / ONE_MORE) + 1;
            (count + more, bytes + more * u64::from(run & BYTES))
        })
    }

    /// Bytes of the last of them.
    pub fn last_behind(&self) -> Option<u32> {
        self.last(Of::Runs).map(|run| run & BYTES)
    }

    /// One more.
    pub fn add_behind(&mut self, bytes: u32) {
        debug_assert!(bytes <= BYTES);
        match self.last_mut(Of::Runs) {
            Some(run) if *run & BYTES == bytes && *run < !BYTES => *run += ONE_MORE,
            _ => self.push(Of::Runs, bytes),
        }
    }

    /// The last of them has so many bytes now.
    pub fn fill_last_behind(&mut self, bytes: u32) {
        match self.last_mut(Of::Runs) {
            Some(run) if *run >= ONE_MORE => *run -= ONE_MORE,
            _ => _ = self.pop_last(Of::Runs),
        }
        self.add_behind(bytes);
    }

    /// Takes the first of them. Returns its bytes.
    pub fn next_behind(&mut self) -> Option<u32> {
        let run = self.first(Of::Runs)?;
        match self.first_mut(Of::Runs) {
            Some(run) if *run >= ONE_MORE => *run -= ONE_MORE,
            _ => _ = self.pop_first(Of::Runs),
        }
        Some(run & BYTES)
    }

    /// A queue's numbers; in a ring, first those up to its seam.
    fn numbers(&self, of: Of) -> (&[u32], &[u32]) {
        match self {
            Places::Few(counts, numbers) => (&numbers[range(*counts, of)], &[]),
            Places::Many(queues) => queues[of as usize].as_slices(),
        }
    }

    fn iter(&self, of: Of) -> impl Iterator<Item = u32> {
        let (first, others) = self.numbers(of);
        first.iter().chain(others).copied()
    }

    fn first(&self, of: Of) -> Option<u32> {
        self.numbers(of).0.first().copied()
    }

    fn last(&self, of: Of) -> Option<u32> {
        let (first, others) = self.numbers(of);
        others.last().or(first.last()).copied()
    }

    fn first_mut(&mut self, of: Of) -> Option<&mut u32> {
        match self {
            Places::Few(counts, numbers) => numbers[range(*counts, of)].first_mut(),
            Places::Many(queues) => queues[of as usize].front_mut(),
        }
    }

    fn last_mut(&mut self, of: Of) -> Option<&mut u32> {
        match self {
            Places::Few(counts, numbers) => numbers[range(*counts, of)].last_mut(),
            Places::Many(queues) => queues[of as usize].back_mut(),
        }
    }

    /// Adds a last one.
    fn push(&mut self, of: Of, number: u32) {
        match self {
            Places::Few(counts, numbers) => {
                let all = range(*counts, Of::Runs).end;
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
        let all = [Of::Pushed, Of::Runs];
        let queues = all.map(|of| self.iter(of).collect());
        *self = Places::Many(Box::new(queues));
    }

    fn pop_first(&mut self, of: Of) -> Option<u32> {
        match self {
            Places::Few(counts, numbers) => {
                let first = range(*counts, of).start;
                take(counts, numbers, of, first)
            }
            Places::Many(queues) => queues[of as usize].pop_front(),
        }
    }

    fn pop_last(&mut self, of: Of) -> Option<u32> {
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
fn range(counts: [u8; 2], of: Of) -> std::ops::Range<usize> {
    let before = &counts[..of as usize];
    let start = before.iter().map(|&count| usize::from(count)).sum();
    start..start + usize::from(counts[of as usize])
}

/// Takes the number at `index`, which is of this queue, unless that is empty.
fn take(counts: &mut [u8; 2], numbers: &mut [u32; FEW], of: Of, index: usize) -> Option<u32> {
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

    proptest! {
        #[test]
        fn they_are_two_queues_however_many_numbers_they_have(
            steps in prop::collection::vec((0..14_u8, 1..4_u32), 0..80),
        ) {
            let mut places = Places::default();
            let (mut pushed, mut behind) = (VecDeque::new(), VecDeque::new());
            for (step, number) in steps {
                match step {
                    0..=2 => {
                        places.add_pushed(number);
                        if pushed.back() != Some(&number) {
                            pushed.push_back(number);
                        }
                    }
                    3 => {
                        places.forget_first_pushed();
                        pushed.pop_front();
                    }
                    4 => {
                        places.forget_last_pushed();
                        pushed.pop_back();
                    }
                    5..=9 => {
                        places.add_behind(number);
                        behind.push_back(number);
                    }
                    10 | 11 => {
                        if let Some(last) = behind.back_mut() {
                            places.fill_last_behind(number);
                            *last = number;
                        }
                    }
                    _ => prop_assert_eq!(places.next_behind(), behind.pop_front()),
                }
                prop_assert_eq!(places.first_pushed(), pushed.front().copied());
                let bytes = behind.iter().copied().map(u64::from).sum();
                prop_assert_eq!(places.behind(), (behind.len() as u64, bytes));
                prop_assert_eq!(places.last_behind(), behind.back().copied());
            }
        }
    }

    #[test]
    fn a_run_is_as_long_as_its_number_has_room_for() {
        let mut places = Places::default();
        for _ in 0..3 << 16 {
            places.add_behind(BYTES);
        }
        assert_eq!(places.behind(), (3 << 16, (3 << 16) * u64::from(BYTES)));
        assert_eq!(places.iter(Of::Runs).count(), 3);
    }
}
