// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scoreboard remembers of one outstanding segment.

use crate::tdn_option::PathId;
use crate::timers::Stamp;

/// Marks of a record.
pub(crate) mod mark {
    /// SACKed.
    pub const SACKED: u8 = 1;
    /// Retransmitted, and that retransmission counts as in flight.
    pub const RETRANSMITTED: u8 = 2;
    /// Deemed lost.
    pub const LOST: u8 = 4;
    /// Retransmitted or probed at any time: no RTT sample (Karn).
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// Carries FIN.
    pub const FIN: u8 = 16;
    /// Its last transmission was deemed lost by time, which is not asked again, also if an undo takes that back.
    pub const JUDGED: u8 = 32;
    /// It ends a chunk of a program that waits for its send buffer: that is a buffer of its own until it is acknowledged.
    pub const ENDS_CHUNK: u8 = 64;
}

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// When it was last sent.
    pub stamp: Stamp,
    pub start: u32,
    pub end: u32,
    /// Its last transmission among all of the connection.
    pub order: u32,
    pub marks: u8,
    /// The path on which it was last sent: its retransmission is in that path's pipe.
    pub path: PathId,
    /// The path on which it was first sent or, once lost, that which is charged with the loss.
    pub charged: PathId,
}

const _: () = assert!(
    size_of::<Record>() == 24,
    "a record is a third of a cache line"
);

impl Record {
    /// When it was last sent, in microseconds.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.stamp.us()
    }

    #[inline]
    pub fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Nothing was done with it since it was sent.
    #[inline]
    pub fn is_unmarked(&self) -> bool {
        self.marks & !mark::ENDS_CHUNK == 0
    }

    /// Segments in the pipe of `charged`: one, unless it is SACKed or lost (RFC 6675, section 4, SetPipe).
    pub fn in_pipe(&self) -> i32 {
        1 - i32::from(self.has(mark::SACKED)) - i32::from(self.has(mark::LOST))
    }
}
