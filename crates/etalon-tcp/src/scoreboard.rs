//! What is in flight: records in sequence order, one for each segment, from SND.UNA to SND.NXT.
//!
//! In-order acknowledgements pop records off the front. Counters in [`Pipe`] stand for scans; the records are searched only where
//! a SACK block is new, and walked only where RACK may have something to mark, from hints that never move backwards except
//! when marks are taken back.

use crate::seq::{after, before};
use std::collections::VecDeque;

/// Marks of a record.
pub(crate) mod mark {
    /// SACKed.
    pub const SACKED: u8 = 1;
    /// Retransmitted, and that retransmission counts as in flight.
    pub const RESENT: u8 = 2;
    /// Deemed lost.
    pub const LOST: u8 = 4;
    /// Retransmitted or probed at any time: no RTT sample (Karn).
    pub const EVER_RESENT: u8 = 8;
    /// Carries FIN.
    pub const FIN: u8 = 16;
}

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// When it was last sent, in microseconds.
    pub sent: u64,
    pub start: u32,
    pub end: u32,
    pub marks: u8,
}

impl Record {
    #[inline]
    pub fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// Segment counters of a path (RFC 6675's pipe, kept incrementally).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pipe {
    /// Sent and not cumulatively acknowledged.
    pub outstanding: u32,
    /// SACKed; without SACK, duplicate ACKs.
    pub sacked: u32,
    /// Deemed lost.
    pub lost: u32,
    /// Retransmitted and in flight.
    pub resent: u32,
}

impl Pipe {
    /// Segments in flight.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        (self.outstanding + self.resent).saturating_sub(self.left())
    }

    /// A lost segment waits to be sent again.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > self.resent
    }

    /// Segments that have left the network.
    #[inline]
    #[must_use]
    pub fn left(&self) -> u32 {
        self.sacked + self.lost
    }
}

/// Places before the front that are worth reclaiming.
const SLACK: usize = 16;

/// The records. A record's index counts from the first one ever sent, so that hints survive pops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// From `head` on, what is in flight. A ring would walk through all of its memory, which is as large as the largest
    /// window so far, and leave the processor's cache.
    records: Vec<Record>,
    head: usize,
    /// Index of the front.
    first: u64,
    /// All records below are SACKed, lost, or were resent: nothing for RACK among them.
    rack_hint: u64,
    /// No record below is lost and not resent.
    lost_hint: u64,
    /// Records in the order in which they were resent, with the time; stale ones are skipped.
    resent: VecDeque<(u64, u64)>,
    /// End of the highest SACKed record.
    highest_sacked: u32,
}

impl Scoreboard {
    #[inline]
    pub fn front(&self) -> Option<&Record> {
        self.records.get(self.head)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.len() == self.head
    }

    #[inline]
    pub fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Takes `count` records off the front.
    #[inline]
    pub fn pop(&mut self, count: usize) {
        self.head += count;
        self.first += count as u64;
        if self.head >= SLACK && 2 * self.head >= self.records.len() {
            self.records.drain(..self.head);
            self.head = 0;
        }
    }

    /// Takes the records up to `una` off the front, as far as they have no marks. Returns the first and the last of them, and
    /// their number.
    #[inline]
    pub fn pop_unmarked(&mut self, una: u32) -> Option<(Record, Record, u32)> {
        let records = &self.records[self.head..];
        let in_order = |r: &&Record| r.marks == 0 && !after(r.end, una);
        let count = records.iter().take_while(in_order).count();
        let (first, last) = (*records.first()?, *records[..count].last()?);
        self.pop(count);
        Some((first, last, count as u32))
    }

    #[inline]
    pub fn end(&self) -> u64 {
        self.first + (self.records.len() - self.head) as u64
    }

    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    pub fn get(&self, index: u64) -> Option<&Record> {
        self.records
            .get(self.head + index.checked_sub(self.first)? as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut Record> {
        self.records
            .get_mut(self.head + index.checked_sub(self.first)? as usize)
    }

    /// Index of the record that holds `seq` or, if none does, of the first one after it.
    pub fn find(&self, seq: u32) -> u64 {
        let records = &self.records[self.head..];
        self.first + records.partition_point(|r| !after(r.end, seq)) as u64
    }

    /// End of the highest SACKed record, or `una` if there is none.
    #[inline]
    pub fn highest_sacked(&self, pipe: &Pipe, una: u32) -> u32 {
        if pipe.sacked == 0 || before(self.highest_sacked, una) {
            una
        } else {
            self.highest_sacked
        }
    }

    /// Notes that the record that ends at `end` is SACKed.
    pub fn note_sacked(&mut self, pipe: &Pipe, end: u32) {
        if pipe.sacked <= 1 || after(end, self.highest_sacked) {
            self.highest_sacked = end;
        }
    }

    /// Marks a record lost. Returns the segments newly lost and whether a retransmission was.
    pub fn mark_lost(&mut self, pipe: &mut Pipe, index: u64) -> (u32, bool) {
        let Some(record) = self.get_mut(index) else {
            return (0, false);
        };
        if record.has(mark::SACKED) {
            return (0, false);
        }
        let result = if record.has(mark::LOST) {
            if !record.has(mark::RESENT) {
                return (0, false);
            }
            record.marks &= !mark::RESENT;
            pipe.resent -= 1;
            (1, true)
        } else {
            record.marks |= mark::LOST;
            pipe.lost += 1;
            (1, false)
        };
        self.lost_hint = self.lost_hint.min(index);
        result
    }

    /// The first record that is lost and not yet resent.
    pub fn next_lost(&mut self) -> Option<u64> {
        let mut index = self.lost_hint.max(self.first);
        while let Some(record) = self.get(index) {
            if record.marks & (mark::LOST | mark::RESENT | mark::SACKED) == mark::LOST {
                self.lost_hint = index;
                return Some(index);
            }
            index += 1;
        }
        self.lost_hint = index;
        None
    }

    /// Notes that a record was sent again at `us`.
    pub fn note_resent(&mut self, index: u64, us: u64) {
        if let Some(record) = self.get_mut(index) {
            record.sent = us;
            record.marks |= mark::EVER_RESENT;
            self.resent.push_back((index, us));
        }
    }

    /// Takes back all LOST marks (an undone reduction).
    pub fn unmark_lost(&mut self, pipe: &mut Pipe) {
        if pipe.lost == 0 {
            return;
        }
        for record in &mut self.records[self.head..] {
            record.marks &= !mark::LOST;
        }
        pipe.lost = 0;
        self.rack_hint = self.first;
        self.lost_hint = self.first;
    }

    /// Takes back all SACK marks (a receiver that reneges).
    pub fn unmark_sacked(&mut self, pipe: &mut Pipe) {
        for record in &mut self.records[self.head..] {
            record.marks &= !mark::SACKED;
        }
        pipe.sacked = 0;
        self.rack_hint = self.first;
        self.lost_hint = self.first;
    }

    /// Calls `lost` for each record that may be in flight, in the order in which they were last sent, until it answers
    /// `None`; those for which it answers `true` are marked lost. Returns the segments and the retransmissions newly lost.
    pub fn walk_by_time(
        &mut self,
        pipe: &mut Pipe,
        mut lost: impl FnMut(&Record) -> Option<bool>,
    ) -> (u32, u32) {
        let (mut count, mut again) = (0, 0);
        let mut index = self.rack_hint.max(self.first);
        let mut settled = true;
        while let Some(record) = self.get(index) {
            if record.marks & (mark::SACKED | mark::LOST | mark::EVER_RESENT) == 0 {
                match lost(record) {
                    None => break,
                    Some(true) => count += self.mark_lost(pipe, index).0,
                    Some(false) => settled = false,
                }
            }
            index += 1;
            if settled {
                self.rack_hint = index;
            }
        }
        let mut position = 0;
        let mut stale_front = true;
        while let Some(&(index, sent)) = self.resent.get(position) {
            let verdict = match self.get(index) {
                Some(r)
                    if r.sent == sent
                        && !r.has(mark::SACKED)
                        && (!r.has(mark::LOST) || r.has(mark::RESENT)) =>
                {
                    match lost(r) {
                        None => break,
                        verdict => verdict,
                    }
                }
                _ => Some(true),
            };
            if verdict == Some(true) {
                let (n, retransmission) = self.mark_lost_if_current(pipe, index, sent);
                count += n;
                again += u32::from(retransmission);
                if stale_front {
                    self.resent.pop_front();
                    continue;
                }
            } else {
                stale_front = false;
            }
            position += 1;
        }
        (count, again)
    }

    fn mark_lost_if_current(&mut self, pipe: &mut Pipe, index: u64, sent: u64) -> (u32, bool) {
        match self.get(index) {
            Some(record) if record.sent == sent => self.mark_lost(pipe, index),
            _ => (0, false),
        }
    }

    /// Forgets what only matters while something is in flight.
    #[inline]
    pub fn clear_hints_if_empty(&mut self) {
        if self.is_empty() && !self.resent.is_empty() {
            self.resent.clear();
        }
    }

    /// Recomputes the counters from the records.
    pub fn recount(&self) -> Pipe {
        let records = &self.records[self.head..];
        let count = |mark| records.iter().filter(|r| r.has(mark)).count() as u32;
        Pipe {
            outstanding: records.len() as u32,
            sacked: count(mark::SACKED),
            lost: count(mark::LOST),
            resent: count(mark::RESENT),
        }
    }
}
