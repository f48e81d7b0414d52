// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is outstanding: one record for each segment, in sequence order, from SND.UNA to SND.NXT, and their sums over all paths.
//!
//! In-order acknowledgements pop records off the front. Counters stand for scans: each [`Path`](crate::Path) has the pipe of
//! what was sent on it, the scoreboard the sums. The records are searched only where a SACK block is new, and walked only
//! where time may have told a loss, from hints that never move backwards except when marks are taken back.

mod judging;

pub(crate) use judging::Verdict;

use crate::rare::{Fresh, Rare};
use crate::sending::path::{Path, Pipe};
use crate::sending::paths::Paths;
use crate::sending::record::{Record, mark};
use crate::seq::{after, before};
use crate::tdn_option::PathId;
use crate::timers::Stamp;
use std::collections::VecDeque;

/// Sums over all paths, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// SACKed; without SACK, duplicate ACKs.
    pub sacked: u32,
    /// Deemed lost.
    pub lost: u32,
    /// Retransmitted and in flight.
    pub retransmitted: u32,
}

/// Fact: what has just been deemed lost, in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    pub segments: u32,
    /// Of these, retransmissions that were lost.
    pub retransmissions: u32,
}

impl Lost {
    fn add(&mut self, other: Lost) {
        self.segments += other.segments;
        self.retransmissions += other.retransmissions;
    }
}

/// Records for which there is room at first.
const FEW: usize = 4;

/// The records. A record's index counts from the first one ever sent, so that hints survive pops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// From `head` on, what is outstanding. A ring would walk through all of its memory, which is as large as the largest
    /// window so far, and leave the processor's cache.
    records: Vec<Record>,
    head: usize,
    /// Index of the front.
    first: u64,
    sums: Sums,
    /// Transmissions so far, of which records remember their last.
    transmissions: u32,
    pub repair: Rare<Repair>,
}

/// Blocks of the previous ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    pub blocks: [(u32, u32); 4],
    pub count: u8,
}

impl Reported {
    pub const NOTHING: Reported = Reported {
        blocks: [(0, 0); 4],
        count: 0,
    };

    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// The next blocks are all new.
    pub fn is_nothing(&self) -> bool {
        self.count == 0
    }

    /// The same from now on.
    #[inline]
    pub fn forget(&mut self) {
        self.count = 0;
    }
}

/// What is known beside the records once something was SACKed, lost or sent again.
#[derive(Clone, Debug)]
pub(crate) struct Repair {
    /// SACK blocks of the previous ACK: only what is new needs work.
    pub reported: Reported,
    /// All records below are SACKed, lost, or were retransmitted: nothing for a walk in sequence order.
    unsettled: u64,
    /// No record below is lost and not retransmitted.
    lost_hint: u64,
    /// Records in the order in which they were retransmitted, with the time; stale ones are skipped.
    retransmissions: VecDeque<(u64, u64)>,
    /// End of the highest SACKed record.
    highest_sacked: u32,
}

impl Fresh for Repair {
    fn fresh() -> &'static Repair {
        static NOTHING: Repair = Repair {
            reported: Reported::NOTHING,
            unsettled: 0,
            lost_hint: 0,
            retransmissions: VecDeque::new(),
            highest_sacked: 0,
        };
        &NOTHING
    }
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

    /// Segments outstanding.
    #[inline]
    pub fn len(&self) -> u32 {
        (self.records.len() - self.head) as u32
    }

    /// Whether a record's last transmission was on this path.
    pub fn names(&self, path: PathId) -> bool {
        self.records[self.head..].iter().any(|r| r.path == path)
    }

    #[inline]
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    /// A lost segment waits to be sent again, on whatever path.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.sums.lost > self.sums.retransmitted
    }

    /// A retransmission is outstanding: nothing else could have been acknowledged before the front.
    pub fn repairs(&self) -> bool {
        self.sums.retransmitted > 0
            || self
                .front()
                .is_some_and(|r| r.has(mark::EVER_RETRANSMITTED))
    }

    /// A new segment was sent on the active path. Returns its index.
    #[inline]
    pub fn push<C>(&mut self, paths: &mut Paths<C>, record: Record) -> u64 {
        self.append(record);
        paths.active.pipe.sent(1);
        self.end() - 1
    }

    /// The same, which the path's pipe does not know yet.
    #[inline]
    pub fn append(&mut self, mut record: Record) {
        self.transmissions = self.transmissions.wrapping_add(1);
        record.order = self.transmissions;
        if self.records.len() == self.records.capacity() {
            self.make_room();
        }
        self.records.push(record);
    }

    /// Makes room for a record: before the front, which moves at most three times as many as were taken since, or in more memory.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let room = self.records.len();
        if self.head == 0 || 4 * self.head < room {
            self.records.reserve_exact((room / 2).max(FEW));
            return;
        }
        self.records.drain(..self.head);
        self.head = 0;
    }

    /// Takes `count` records off the front.
    #[inline]
    fn pop(&mut self, count: usize) {
        self.head += count;
        self.first += count as u64;
    }

    /// Takes the records up to `una` off the front, as far as they have no marks and were sent on the active path. Returns the
    /// first and the last of them, and their number.
    #[inline]
    pub fn pop_unmarked<C>(
        &mut self,
        paths: &mut Paths<C>,
        una: u32,
    ) -> Option<(Record, Record, u32)> {
        let records = &self.records[self.head..];
        let path = paths.active.id;
        let in_order = |r: &&Record| r.is_unmarked() && r.path == path && !after(r.end, una);
        let count = records.iter().take_while(in_order).count();
        let (first, last) = (*records.first()?, *records[..count].last()?);
        self.pop(count);
        paths.active.pipe.acked(count as u32);
        Some((first, last, count as u32))
    }

    /// Chunks that end at `una` or before it.
    #[cold]
    pub fn chunks_up_to(&self, una: u32) -> u32 {
        let acked = |r: &&Record| !after(r.end, una);
        let covered = self.records[self.head..].iter().take_while(acked);
        covered.filter(|r| r.has(mark::ENDS_CHUNK)).count() as u32
    }

    /// Nothing is SACKed, lost, or retransmitted and in flight, and the next SACK blocks would all be new.
    pub fn is_intact(&self) -> bool {
        let repair = self.repair.changed();
        self.sums == Sums::default() && repair.is_none_or(|r| r.reported.is_nothing())
    }

    /// Takes off the front what `una` acknowledges beyond `prior`, if the records have no marks and end there; there is one path. Returns
    /// when the first was sent, the last, and their number. What the general way does is `take_cumulative`: the test
    /// `what_is_predicted_does_what_the_general_way_does` holds the two together.
    #[inline]
    pub fn pop_unmarked_up_to(&mut self, prior: u32, una: u32) -> Option<(u64, Record, u32)> {
        let records = &self.records[self.head..];
        let first = records.first()?;
        if first.start != prior {
            return None;
        }
        let mut count = 0;
        for record in records {
            count += 1;
            if record.marks != 0 {
                return None;
            }
            if !before(record.end, una) {
                if record.end != una {
                    return None;
                }
                let found = (first.sent(), *record, count);
                self.pop(count as usize);
                return Some(found);
            }
        }
        None
    }

    /// Takes the front off if `una` acknowledges it.
    #[inline]
    pub fn pop_acked<C>(&mut self, paths: &mut Paths<C>, una: u32) -> Option<Record> {
        let record = *self.front()?;
        if after(record.end, una) {
            return None;
        }
        self.pop(1);
        if record.has(mark::RETRANSMITTED) {
            self.sums.retransmitted -= 1;
            paths.of(record.path).pipe.shrink(1);
        }
        self.sums.sacked -= u32::from(record.has(mark::SACKED));
        self.sums.lost -= u32::from(record.has(mark::LOST));
        let pipe = &mut paths.of(record.charged).pipe;
        pipe.outstanding -= 1;
        pipe.lost -= u32::from(record.has(mark::LOST));
        pipe.shrink(record.in_pipe());
        Some(record)
    }

    #[inline]
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.len())
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

    /// Where the record with this index is.
    #[inline]
    fn place(&self, index: u64) -> Option<usize> {
        let place = self.head + index.checked_sub(self.first)? as usize;
        (place < self.records.len()).then_some(place)
    }

    /// Index of the record that holds `seq` or, if none does, of the first one after it.
    pub fn find(&self, seq: u32) -> u64 {
        let records = &self.records[self.head..];
        self.first + records.partition_point(|r| !after(r.end, seq)) as u64
    }

    /// End of the highest SACKed record, or `una` if there is none.
    #[inline]
    pub fn highest_sacked(&self, una: u32) -> u32 {
        if self.sums.sacked == 0 || before(self.repair.highest_sacked, una) {
            una
        } else {
            self.repair.highest_sacked
        }
    }

    /// Without SACK, `count` duplicate ACKs stand for segments that have left the network (RFC 5681, section 3.2).
    pub fn count_duplicates<C>(&mut self, paths: &mut Paths<C>, count: u32) {
        let more = count as i32 - self.sums.sacked as i32;
        paths.active.pipe.shrink(more);
        self.sums.sacked = count;
    }

    /// Marks a record SACKed, which it was not before.
    pub fn mark_sacked<C>(&mut self, paths: &mut Paths<C>, index: u64) {
        let Some(place) = self.place(index) else {
            return;
        };
        let record = &mut self.records[place];
        if record.has(mark::LOST) {
            if record.has(mark::RETRANSMITTED) {
                record.marks &= !mark::RETRANSMITTED;
                self.sums.retransmitted -= 1;
                paths.of(record.path).pipe.shrink(1);
            }
            record.marks &= !mark::LOST;
            self.sums.lost -= 1;
            paths.of(record.charged).pipe.lost -= 1;
        } else {
            // A retransmission of what is not lost is believed to be still in flight.
            paths.of(record.charged).pipe.shrink(1);
        }
        record.marks |= mark::SACKED;
        self.sums.sacked += 1;
        if self.sums.sacked == 1 || after(record.end, self.repair.highest_sacked) {
            self.repair.highest_sacked = record.end;
        }
    }

    /// The retransmission of a SACKed record has left the network, too.
    pub fn retransmission_arrived<C>(&mut self, paths: &mut Paths<C>, index: u64) {
        if let Some(place) = self.place(index) {
            let record = &mut self.records[place];
            record.marks &= !mark::RETRANSMITTED;
            self.sums.retransmitted -= 1;
            paths.of(record.path).pipe.shrink(1);
        }
    }

    /// Marks a record lost, or its retransmission if it is marked already. The path on which it was last sent is charged.
    pub fn mark_lost<C>(&mut self, paths: &mut Paths<C>, index: u64) -> Lost {
        let Some(place) = self.place(index) else {
            return Lost::default();
        };
        let record = &mut self.records[place];
        let told = record.marks & (mark::LOST | mark::RETRANSMITTED) == mark::LOST;
        if record.has(mark::SACKED) || told {
            return Lost::default();
        }
        self.repair.lost_hint = self.repair.lost_hint.min(index);
        let again = record.has(mark::LOST);
        if again {
            record.marks &= !mark::RETRANSMITTED;
            self.sums.retransmitted -= 1;
            paths.of(record.path).pipe.shrink(1);
            let before = &mut paths.of(record.charged).pipe;
            before.outstanding -= 1;
            before.lost -= 1;
            record.charged = record.path;
            paths.of(record.charged).pipe.outstanding += 1;
        } else {
            record.marks |= mark::LOST;
            self.sums.lost += 1;
            paths.of(record.charged).pipe.shrink(1);
        }
        let path = paths.of(record.charged);
        path.pipe.lost += 1;
        path.lost += 1;
        Lost {
            segments: 1,
            retransmissions: u32::from(again),
        }
    }

    /// Marks a record lost as time tells.
    fn judge_lost<C>(&mut self, paths: &mut Paths<C>, index: u64) -> Lost {
        let lost = self.mark_lost(paths, index);
        if let Some(place) = self.place(index).filter(|_| lost.segments > 0) {
            self.records[place].marks |= mark::JUDGED;
        }
        lost
    }

    /// The first record that is lost and not yet sent again.
    pub fn next_lost(&mut self) -> Option<u64> {
        let mut index = self.repair.lost_hint.max(self.first);
        while let Some(record) = self.get(index) {
            if record.marks & (mark::LOST | mark::RETRANSMITTED | mark::SACKED) == mark::LOST {
                self.repair.lost_hint = index;
                return Some(index);
            }
            index += 1;
        }
        self.repair.lost_hint = index;
        None
    }

    /// A record is sent again at `stamp` on the active path. `counts`: in the pipe, which a loss probe is not. Returns it as it
    /// was before.
    pub fn retransmit<C>(
        &mut self,
        paths: &mut Paths<C>,
        index: u64,
        stamp: Stamp,
        counts: bool,
    ) -> Option<Record> {
        let place = self.place(index)?;
        let record = &mut self.records[place];
        let before = *record;
        if counts {
            if record.has(mark::RETRANSMITTED) {
                paths.of(record.path).pipe.shrink(1);
            } else {
                self.sums.retransmitted += 1;
            }
            record.marks |= mark::RETRANSMITTED;
            paths.active.pipe.shrink(-1);
        } else if record.has(mark::RETRANSMITTED) {
            paths.of(record.path).pipe.shrink(1);
            paths.active.pipe.shrink(-1);
        }
        self.transmissions = self.transmissions.wrapping_add(1);
        record.stamp = stamp;
        record.order = self.transmissions;
        record.marks = record.marks & !mark::JUDGED | mark::EVER_RETRANSMITTED;
        record.path = paths.active.id;
        self.repair.retransmissions.push_back((index, stamp.us()));
        Some(before)
    }

    /// Takes back the LOST marks of the active path (an undone reduction).
    pub fn unmark_lost<C>(&mut self, paths: &mut Paths<C>) {
        if self.sums.lost == 0 {
            return;
        }
        let active = &mut paths.active;
        for record in &mut self.records[self.head..] {
            if record.has(mark::LOST) && record.charged == active.id {
                record.marks &= !mark::LOST;
                active.pipe.lost -= 1;
                active.pipe.shrink(-1);
                self.sums.lost -= 1;
            }
        }
        self.walk_anew();
    }

    /// Takes back all SACK marks (a receiver that reneges).
    pub fn unmark_sacked<C>(&mut self, paths: &mut Paths<C>) {
        for record in &mut self.records[self.head..] {
            if record.has(mark::SACKED) {
                record.marks &= !mark::SACKED;
                paths.of(record.charged).pipe.shrink(-1);
            }
        }
        self.sums.sacked = 0;
        self.walk_anew();
    }

    /// Marks were taken back: every record is looked at again.
    fn walk_anew(&mut self) {
        self.repair.unsettled = self.first;
        self.repair.lost_hint = self.first;
    }

    /// The next SACK blocks are all new.
    #[inline]
    pub fn forget_reported(&mut self) {
        if let Some(repair) = self.repair.changed_mut() {
            repair.reported.forget();
        }
    }

    /// All is in the active path's pipe, and charged to it; `others`: the paths that are no more.
    pub fn merge<C>(&mut self, paths: &mut Paths<C>, others: &[Path<C>]) {
        let active = &mut paths.active;
        for record in &mut self.records[self.head..] {
            record.path = active.id;
            record.charged = active.id;
        }
        for other in others {
            active.pipe.add(&other.pipe);
            active.delivered += other.delivered;
            active.lost += other.lost;
        }
    }

    /// Forgets what only matters while something is outstanding.
    #[inline]
    pub fn clear_if_empty(&mut self) {
        if self.is_empty() && !self.repair.retransmissions.is_empty() {
            self.repair.retransmissions.clear();
        }
    }

    /// Recomputes the sums and every path's pipe from the records, and compares. Duplicate ACKs leave no marks (`sack` off).
    pub fn check<C>(&self, paths: &Paths<C>, sack: bool) {
        let records = &self.records[self.head..];
        let count = |mark| records.iter().filter(|r| r.has(mark)).count() as u32;
        let found = Sums {
            sacked: if sack {
                count(mark::SACKED)
            } else {
                self.sums.sacked
            },
            lost: count(mark::LOST),
            retransmitted: count(mark::RETRANSMITTED),
        };
        assert_eq!(self.sums, found, "sums differ from the records");
        for path in paths.iter() {
            let mut pipe = Pipe::default();
            for record in records {
                let charged = record.charged == path.id;
                let sent = record.path == path.id && record.has(mark::RETRANSMITTED);
                pipe.outstanding += u32::from(charged);
                pipe.lost += u32::from(charged && record.has(mark::LOST));
                pipe.shrink(-i32::from(sent));
                pipe.shrink(if charged { -record.in_pipe() } else { 0 });
            }
            if !sack && path.id == paths.active.id {
                pipe.shrink(self.sums.sacked as i32);
            }
            assert_eq!(path.pipe, pipe, "pipe of path {}", path.id);
        }
    }
}
