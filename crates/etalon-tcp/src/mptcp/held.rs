// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stream holds of what subflows have delivered, and the memory that it takes of the receive buffer: beyond a hole in the stream, and
//! in order until the program reads it.

use std::collections::BTreeMap;

use crate::memory::{Buffer, Memory};

/// What is held of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Beyond a hole, by where it starts.
    beyond: BTreeMap<u64, Buffer>,
    beyond_memory: u32,
    /// In order, and not yet read.
    unread_memory: u32,
}

impl Held {
    /// Bytes of memory.
    pub fn memory(&self) -> u32 {
        self.beyond_memory + self.unread_memory
    }

    /// The program has read all that is in order.
    pub fn read(&mut self) {
        self.unread_memory = 0;
    }

    /// A piece that is beyond a hole. As seen on Linux, it is joined to what it follows.
    pub fn insert(&mut self, data_seq: u64, len: u32, memory: Memory) {
        let end = data_seq + u64::from(len);
        // Of a buffer's own numbers, only the length counts.
        let piece = Buffer::new(data_seq as u32, end as u32, memory);
        if let Some((&start, before)) = self.beyond.range_mut(..=data_seq).next_back() {
            let before_end = start + u64::from(before.len());
            if before_end >= end {
                return;
            }
            let taken = before.memory;
            if before_end == data_seq && before.join(&piece) {
                self.beyond_memory += before.memory - taken;
                return self.forget_within(data_seq, end);
            }
        }
        self.forget_within(data_seq, end);
        self.beyond_memory += piece.memory;
        self.beyond.insert(data_seq, piece);
    }

    /// Pieces from `start` to `end` have come again, in a longer one.
    fn forget_within(&mut self, start: u64, end: u64) {
        while let Some((&at, piece)) = self.beyond.range(start..end).next() {
            if at + u64::from(piece.len()) > end {
                break;
            }
            self.beyond_memory -= piece.memory;
            self.beyond.remove(&at);
        }
    }

    /// A piece that is in order.
    pub fn keep(&mut self, memory: Memory) {
        self.unread_memory += memory.alone;
    }

    /// Everything before `received` is in order. Returns up to where that is so with what was beyond.
    pub fn advance(&mut self, mut received: u64) -> u64 {
        while let Some(first) = self.beyond.first_entry() {
            if *first.key() > received {
                break;
            }
            let (start, buffer) = first.remove_entry();
            self.beyond_memory -= buffer.memory;
            let end = start + u64::from(buffer.len());
            if end > received {
                self.unread_memory += buffer.memory;
                received = end;
            }
        }
        received
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reinjected data need not have the boundaries of what it repeats.
    #[test]
    fn a_piece_that_is_joined_covers_others_as_one_that_is_not() {
        let mut held = Held::default();
        for (data_seq, len) in [(100, 100), (250, 10), (200, 100)] {
            held.insert(data_seq, len, Memory::shared(len));
        }
        assert_eq!(held.memory(), 768 + 200);
    }

    proptest! {
        /// What is held is that of its pieces, of which none lies in another, and nothing is left once the stream is in order and read.
        #[test]
        fn no_piece_lies_in_another(pieces in prop::collection::vec((0..60_u64, 1..20_u32), 1..40)) {
            let mut held = Held::default();
            for (data_seq, len) in pieces {
                held.insert(data_seq, len, Memory::shared(len));
                let sum: u32 = held.beyond.values().map(|piece| piece.memory).sum();
                prop_assert_eq!(held.memory(), sum);
                let ends = held.beyond.iter().map(|(&at, piece)| at + u64::from(piece.len()));
                let ends: Vec<u64> = ends.collect();
                prop_assert!(ends.is_sorted_by(|one, next| one < next), "{:?}", held.beyond);
            }
            held.advance(100);
            held.read();
            prop_assert_eq!(held.memory(), 0);
        }
    }
}
