//! What arrived beyond the next expected byte, as ranges of sequence numbers, and the SACK and DSACK blocks that report it (RFC 2018,
//! RFC 2883).

use crate::SackBlocks;
use crate::seq::{after, before, earlier, later};

/// A received range.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    end: u32,
    /// Order of the last arrival in it, for 'most recent first'.
    stamp: u64,
}

/// Ranges in sequence order with holes between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    ranges: Vec<Range>,
    arrivals: u64,
    /// What came twice and is not reported yet.
    dsack: Option<(u32, u32)>,
}

impl Reassembly {
    /// Whether nothing waits beyond a hole.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes held.
    #[inline]
    pub fn held(&self) -> u32 {
        let lengths = self.ranges.iter().map(|r| r.end.wrapping_sub(r.start));
        lengths.sum()
    }

    /// The sequence numbers from `start` to `end` came twice.
    #[inline]
    pub fn duplicate(&mut self, start: u32, end: u32) {
        self.dsack = Some((start, end));
    }

    /// What came twice before a segment that is taken now is not reported any more, if it was not yet.
    #[inline]
    pub fn forget_duplicate(&mut self) {
        self.dsack = None;
    }

    /// Takes a segment beyond the next expected byte.
    pub fn insert(&mut self, start: u32, end: u32) {
        self.arrivals += 1;
        let from = self.ranges.partition_point(|r| before(r.end, start));
        let to = from + self.ranges[from..].partition_point(|r| !after(r.start, end));
        let mut merged = Range {
            start,
            end,
            stamp: self.arrivals,
        };
        if from < to {
            let overlap = |r: &Range| (later(r.start, start), earlier(r.end, end));
            let twice = self.ranges[from..to].iter().map(overlap);
            // Of several the lowest is reported.
            self.dsack = twice
                .into_iter()
                .find(|&(start, end)| before(start, end))
                .or(self.dsack);
            merged.start = earlier(self.ranges[from].start, start);
            merged.end = later(self.ranges[to - 1].end, end);
        }
        self.ranges.splice(from..to, [merged]);
    }

    /// Everything before `next` has arrived: gives up the ranges that it reaches. Returns the next expected byte.
    pub fn advance(&mut self, mut next: u32) -> u32 {
        let mut reached = 0;
        for range in &self.ranges {
            if after(range.start, next) {
                break;
            }
            // The segment overlapped a range: what both hold came twice. Of several the lowest is reported.
            let twice = (range.start, earlier(range.end, next));
            if before(twice.0, twice.1) {
                self.dsack = self.dsack.or(Some(twice));
            }
            next = later(range.end, next);
            reached += 1;
        }
        self.ranges.drain(..reached);
        next
    }

    /// Whether the next segment reports anything.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        self.dsack.is_some() || !self.ranges.is_empty()
    }

    /// Bytes of the option that the next segment reports in, of at most `most` blocks, padded.
    #[inline]
    pub fn option_len(&self, most: usize) -> u32 {
        let blocks = self.ranges.len() + usize::from(self.dsack.is_some());
        4 + 8 * blocks.min(most) as u32
    }

    /// A DSACK waits to be sent.
    pub fn has_dsack(&self) -> bool {
        self.dsack.is_some()
    }

    /// The blocks of the next segment, at most `most`: a DSACK first, then the ranges, that of the latest arrival first (RFC 2018,
    /// section 4).
    pub fn blocks(&mut self, most: usize, blocks: &mut SackBlocks) {
        let mut room = most;
        if let Some((start, end)) = self.dsack.take() {
            blocks.push(start, end);
            room -= 1;
        }
        let mut newer_than_all = u64::MAX;
        for _ in 0..room.min(self.ranges.len()) {
            let older = self.ranges.iter().filter(|r| r.stamp < newer_than_all);
            let Some(range) = older.max_by_key(|r| r.stamp) else {
                break;
            };
            blocks.push(range.start, range.end);
            newer_than_all = range.stamp;
        }
    }
}
