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
                return;
            }
        }
        while let Some((&start, other)) = self.beyond.range(data_seq..end).next() {
            if start + u64::from(other.len()) > end {
                break;
            }
            self.beyond_memory -= other.memory;
            self.beyond.remove(&start);
        }
        self.beyond_memory += piece.memory;
        self.beyond.insert(data_seq, piece);
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
