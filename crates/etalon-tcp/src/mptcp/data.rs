//! The stream: what has yet to be sent, and the order of what arrives.

use std::collections::{BTreeMap, VecDeque};

/// Bytes that Linux keeps together of what is written (32 KiB with a head of 40 bytes): a subflow is given those of one such buffer
/// at a time, and all of the first that is not acknowledged is what goes once more.
const BUFFER: u64 = 32_728;

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
    /// Bytes that were written and not yet given to a subflow.
    pending: u64,
    /// The next byte that is given for the first time.
    next: u64,
    /// What is acknowledged, and up to where the other end has room.
    acked: u64,
    room_end: u64,
    /// What is given once more.
    again: VecDeque<Piece>,
}

impl DataSender {
    /// The application writes.
    pub fn write(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
    }

    /// The other end has everything before `acked`, and room for what is before `room_end`, as one of the subflows heard.
    pub fn acknowledged(&mut self, (acked, room_end): (u64, u64)) {
        self.acked = self.acked.max(acked);
        self.room_end = self.room_end.max(room_end);
    }

    /// Whether all that was written is acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.pending == 0 && self.acked == self.next
    }

    /// Whether there is something to give.
    #[must_use]
    pub fn has_data(&self) -> bool {
        !self.again.is_empty() || self.pending > 0 && self.next < self.room_end
    }

    /// The next piece for a subflow that takes up to `most` bytes: first what goes once more.
    pub fn give(&mut self, most: u64) -> Option<Piece> {
        self.give_again(most).or_else(|| self.give_new(most))
    }

    fn give_again(&mut self, most: u64) -> Option<Piece> {
        loop {
            let first = self.again.front_mut()?;
            let known = self
                .acked
                .saturating_sub(first.data_seq)
                .min(first.len.into());
            first.data_seq += known;
            first.len -= known as u32;
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

    fn give_new(&mut self, most: u64) -> Option<Piece> {
        let room = self.room_end.saturating_sub(self.next);
        let buffer = BUFFER - self.next % BUFFER;
        let len = most.min(self.pending).min(room).min(buffer);
        let data_seq = self.next;
        self.next += len;
        self.pending -= len;
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

    /// All that is not acknowledged goes once more.
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
    /// Bytes in order, and runs beyond: end by start.
    received: u64,
    beyond: BTreeMap<u64, u64>,
}

impl DataReceiver {
    /// A subflow has delivered a piece.
    pub fn take(&mut self, (data_seq, len): (u64, u32)) {
        let end = data_seq + u64::from(len);
        if data_seq > self.received {
            let known = self.beyond.entry(data_seq).or_insert(end);
            *known = end.max(*known);
            return;
        }
        self.received = self.received.max(end);
        while let Some(first) = self.beyond.first_entry() {
            if *first.key() > self.received {
                break;
            }
            self.received = self.received.max(first.remove());
        }
    }

    /// Bytes in order, which is what to acknowledge.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }
}
