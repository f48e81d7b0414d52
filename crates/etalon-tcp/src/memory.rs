// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of received segments. Linux counts it, not their payload, against the receive buffer, and joins segments that follow each
//! other where it can.

/// Memory that a host takes for a received segment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// By itself.
    pub alone: u32,
    /// Once it is joined to the one that it follows.
    pub joined: u32,
    /// Pieces that its payload lies in, of which joined segments have 17 at most; 0: it cannot be joined.
    pub pieces: u32,
    /// Bytes of it that are free for segments that follow.
    pub room: u32,
}

impl Memory {
    /// Of a segment with `len` bytes that keeps the pages which its sender had for them, as between hosts of the Linux engine.
    #[must_use]
    pub const fn shared(len: u32) -> Memory {
        Memory {
            alone: 768 + len,
            joined: len,
            pieces: 1,
            room: 0,
        }
    }
}

/// Pieces of joined segments.
const MOST_PIECES: u32 = 17;

/// Payload with the sequence numbers from `start` to `end`, of one segment or of some that were joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub start: u32,
    pub end: u32,
    pub memory: u32,
    /// How much less that is once it is joined to another.
    saved: u32,
    pieces: u32,
    room: u32,
}

impl Buffer {
    pub fn new(start: u32, end: u32, memory: Memory) -> Buffer {
        Buffer {
            start,
            end,
            memory: memory.alone,
            saved: memory.alone - memory.joined,
            pieces: memory.pieces,
            room: memory.room,
        }
    }

    /// Bytes of payload.
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    /// Joins what follows it, if that can be.
    pub fn join(&mut self, next: &Buffer) -> bool {
        let len = next.end.wrapping_sub(self.end);
        if len <= self.room {
            self.room -= len;
        } else if next.pieces > 0 && self.pieces + next.pieces <= MOST_PIECES {
            self.pieces += next.pieces;
            self.memory += next.memory - next.saved;
        } else {
            return false;
        }
        self.end = next.end;
        true
    }
}
