// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stream: what has yet to be sent, and the order of what arrives.

use std::collections::VecDeque;

use crate::Memory;
use crate::mptcp::held::Held;
use crate::receiving::autotune::Autotune;
use crate::sending::send_buffer::room;

/// Bytes that Linux keeps together of what is written (32 KiB with a head of 40 bytes): a subflow is given those of one such buffer
/// at a time, and all of the first that is not acknowledged is what goes once more.
pub const BUFFER: u64 = 32_728;

/// Most that Linux's send buffer has (`tcp_wmem`).
const MOST_BUFFERED: u64 = 6_291_456;

/// Bytes of a send buffer whose connection has segments of `mss` bytes, and had a window of up to `cwnd` of them: as a socket's of TCP.
#[must_use]
pub fn send_buffer(mss: u32, cwnd: u32) -> u64 {
    room(mss, cwnd).min(MOST_BUFFERED)
}

/// Bytes of the stream, from `data_seq` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Sequence number of the first.
    pub data_seq: u64,
    /// How many.
    pub len: u32,
}

/// What one end has to send.
#[derive(Clone, Debug, Default)]
pub struct DataSender {
    /// Bytes that the application has yet to write into the send buffer, the size of that, and the end of what is in it.
    pending: u64,
    size: u64,
    written: u64,
    /// The application is filling the send buffer.
    filling: bool,
    /// The next byte that is given for the first time.
    next: u64,
    /// What is acknowledged, and up to where the other end has room.
    acked: u64,
    room_end: u64,
    /// What is given once more.
    again: VecDeque<Piece>,
}

impl DataSender {
    /// The application has more to write into the send buffer ([`refill`](DataSender::refill)).
    pub fn write(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
    }

    /// The send buffer has at least `size` bytes.
    pub fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// The application writes the rest of a buffer if a third of the send buffer is free, and goes on until that is full. Returns whether
    /// something was written: as seen on Linux, that leaves, as far as it may, before the next is written.
    pub fn refill(&mut self) -> bool {
        let queued = self.written - self.acked;
        self.filling |= 3 * queued <= 2 * self.size;
        self.filling &= self.pending > 0 && queued < self.size;
        if self.filling {
            let block = (BUFFER - self.written % BUFFER).min(self.pending);
            self.pending -= block;
            self.written += block;
        }
        self.filling
    }

    /// The other end has everything before `acked`, as one of the subflows heard.
    pub fn acknowledged(&mut self, acked: u64) {
        // DATA_FIN counts as a byte.
        self.acked = self.acked.max(acked.min(self.written));
    }

    /// The other end has room for what is before `room_end`, as one of the subflows heard.
    pub fn opened(&mut self, room_end: u64) {
        self.room_end = self.room_end.max(room_end);
    }

    /// Whether the application has written some of its data.
    #[must_use]
    pub fn has_written(&self) -> bool {
        self.written > 0
    }

    /// Whether the application has yet to write some of its data.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        self.pending > 0
    }

    /// Where the stream ends, if the application writes no more.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.written
    }

    /// Whether subflows were given all that was written.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.pending == 0 && self.again.is_empty() && self.next == self.written
    }

    /// How many bytes of what the application has were never sent, if subflows have yet to send `waiting` of what they were given.
    #[must_use]
    pub fn unsent(&self, waiting: u64) -> u64 {
        let given = waiting.min(self.next.saturating_sub(self.acked));
        self.pending + self.written - self.next + given
    }

    /// Whether all that was written is acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.pending == 0 && self.acked == self.written
    }

    /// Whether there is something to give.
    #[must_use]
    pub fn has_data(&self) -> bool {
        !self.again.is_empty() || self.next < self.room_end.min(self.written)
    }

    /// Whether something is to be given once more.
    #[must_use]
    pub fn repeats(&self) -> bool {
        !self.again.is_empty()
    }

    /// The next piece for a subflow that `takes` so many bytes from a place in the stream: first what goes once more.
    pub fn give(&mut self, takes: impl Fn(u64) -> u64) -> Option<Piece> {
        self.give_again(&takes).or_else(|| self.give_new(&takes))
    }

    fn give_again(&mut self, takes: impl Fn(u64) -> u64) -> Option<Piece> {
        loop {
            let first = self.again.front_mut()?;
            let known = self
                .acked
                .saturating_sub(first.data_seq)
                .min(first.len.into());
            first.data_seq += known;
            first.len -= known as u32;
            let most = takes(first.data_seq);
            let piece = Piece {
                data_seq: first.data_seq,
                len: u64::from(first.len).min(most) as u32,
            };
            first.data_seq += u64::from(piece.len);
            first.len -= piece.len;
            if first.len == 0 {
                self.again.pop_front();
            }
            if piece.len > 0 {
                return Some(piece);
            }
            if most == 0 {
                return None;
            }
        }
    }

    fn give_new(&mut self, takes: impl Fn(u64) -> u64) -> Option<Piece> {
        let data_seq = self.next;
        let room = self.room_end.min(self.written).saturating_sub(data_seq);
        let buffer = BUFFER - data_seq % BUFFER;
        let len = takes(data_seq).min(room).min(buffer);
        self.next += len;
        (len > 0).then_some(Piece {
            data_seq,
            len: len as u32,
        })
    }

    /// What is not acknowledged of the first buffer, if there is one.
    #[must_use]
    pub fn first_missing(&self) -> Option<Piece> {
        let end = self.next.min((self.acked / BUFFER + 1) * BUFFER);
        let missing = end.saturating_sub(self.acked) as u32;
        (missing > 0).then_some(Piece {
            data_seq: self.acked,
            len: missing,
        })
    }

    /// All that is not acknowledged goes once more. Only where the other end speaks MPTCP ([`Connection::may_be_joined`]): in plain TCP the
    /// bytes would arrive as new ones.
    ///
    /// [`Connection::may_be_joined`]: crate::Connection::may_be_joined
    pub fn send_all_again(&mut self) {
        self.again.clear();
        let mut end = self.acked;
        while end < self.next {
            let data_seq = end;
            end = self.next.min((end / BUFFER + 1) * BUFFER);
            self.again.push_back(Piece {
                data_seq,
                len: (end - data_seq) as u32,
            });
        }
    }
}

/// What one end has received.
#[derive(Clone, Debug, Default)]
pub struct DataReceiver {
    /// Bytes in order, and what takes memory.
    received: u64,
    held: Held,
    /// Where the other end says that it ends.
    end: Option<u64>,
    /// Grows the subflows' buffers with what is read of the stream.
    pub(crate) autotune: Option<Autotune>,
}

impl DataReceiver {
    /// A subflow has delivered a piece, which takes memory until [`read`](DataReceiver::read).
    pub fn take(&mut self, (data_seq, len): (u64, u32), memory: Memory) {
        let end = data_seq + u64::from(len);
        if data_seq > self.received {
            self.held.insert(data_seq, len, memory);
        } else if end > self.received {
            self.held.keep(memory);
            self.received = self.held.advance(end);
        }
    }

    /// The program reads all that is in order.
    pub fn read(&mut self) {
        self.held.read();
    }

    /// Memory of what has come and is not read, in bytes.
    #[must_use]
    pub fn memory(&self) -> u32 {
        self.held.memory()
    }

    /// Bytes in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// A subflow has heard where the stream ends.
    pub fn ends_at(&mut self, end: u64) {
        self.end.get_or_insert(end);
    }

    /// Whether all of it has arrived, up to its end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.end == Some(self.received)
    }
}
