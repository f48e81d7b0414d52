// SPDX-License-Identifier: MIT OR Apache-2.0
//! What arrived beyond the next expected byte, as ranges of sequence numbers, and the SACK and DSACK blocks that report it (RFC 2018,
//! RFC 2883).

use crate::RareOptions;
use crate::memory::Buffer;
use crate::seq::{after, before, earlier, later};

/// A received range.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    end: u32,
}

impl Range {
    /// Grows to have another one too, if they touch.
    fn extend(&mut self, other: Range) -> bool {
        let touch = !after(other.start, self.end) && !after(self.start, other.end);
        if touch {
            self.start = earlier(self.start, other.start);
            self.end = later(self.end, other.end);
        }
        touch
    }
}

/// Ranges that are remembered to be reported.
const MOST_REPORTED: usize = 4;
/// Ranges that the next ACK is sure to report: once another is to come before them, what is to be said of it goes first.
const SURE: usize = 2;

/// What becomes of a segment's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of it was there.
    Not,
    Joined,
    Alone,
}

/// Ranges with holes between them.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    /// What arrived, by where it starts. Some may overlap.
    buffers: Vec<Buffer>,
    /// What is reported of it, the latest arrival first (RFC 2018, section 4).
    reported: Vec<Range>,
    /// What an ACK is to report that should have gone out before the latest arrival.
    earlier: Vec<Range>,
    /// What came twice and is not reported yet.
    dsack: Option<(u32, u32)>,
    /// Memory for the blocks of the next segment that reports any of it, if there was some to spare.
    pub spare: RareOptions,
}

impl Reassembly {
    /// Nothing arrived.
    pub const NOTHING: Reassembly = Reassembly {
        buffers: Vec::new(),
        reported: Vec::new(),
        earlier: Vec::new(),
        dsack: None,
        spare: RareOptions::NONE,
    };

    /// Whether nothing waits beyond a hole.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Where what is held ends.
    pub fn end(&self) -> Option<u32> {
        self.buffers.iter().map(|buffer| buffer.end).reduce(later)
    }

    /// Memory of what is held.
    #[inline]
    pub fn memory(&self) -> u32 {
        self.buffers.iter().map(|b| b.memory).sum()
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

    /// Takes a segment beyond the next expected byte. `held_back`: an ACK is. Returns what becomes of it, and whether that ACK
    /// must go out now, with what [`earlier_blocks`](Reassembly::earlier_blocks) says.
    pub fn insert(&mut self, segment: Buffer, held_back: bool) -> (Kept, bool) {
        if let Some(twice) = self.overlap(segment.start, segment.end) {
            self.dsack = Some(twice);
        }
        let range = Range {
            start: segment.start,
            end: segment.end,
        };
        let kept = self.keep(segment);
        let touched = self.reported.iter_mut().position(|r| r.extend(range));
        let flushes = held_back && touched.unwrap_or(self.reported.len()) >= SURE;
        if flushes {
            self.earlier.clone_from(&self.reported);
        }
        self.report(touched, range);
        (kept, flushes)
    }

    /// Takes a segment that follows what is held, if that is one piece and can be joined: the same as [`insert`](Reassembly::insert), and the
    /// usual case behind a loss.
    #[inline]
    pub fn append(&mut self, segment: &Buffer) -> bool {
        let ([all], [range]) = (&mut self.buffers[..], &mut self.reported[..]) else {
            return false;
        };
        let follows = all.end == segment.start && range.end == segment.start;
        let joins = follows && after(segment.end, segment.start) && all.join(segment);
        if joins {
            range.end = segment.end;
        }
        joins
    }

    /// What the sequence numbers from `start` to `end` have in common with the lowest range that they overlap.
    fn overlap(&self, start: u32, end: u32) -> Option<(u32, u32)> {
        let mut found: Option<(u32, u32)> = None;
        for buffer in &self.buffers {
            let (from, to) = (later(buffer.start, start), earlier(buffer.end, end));
            found = match found {
                _ if !before(from, to) => found,
                None => Some((from, to)),
                Some((first, last)) if !after(buffer.start, last) => Some((first, later(last, to))),
                Some(_) => break,
            };
        }
        found
    }

    /// Keeps a segment's memory, unless one buffer has all of it, and gives up that of buffers of which it has all.
    fn keep(&mut self, segment: Buffer) -> Kept {
        let (start, end) = (segment.start, segment.end);
        let at = self.buffers.partition_point(|b| !after(b.start, start));
        if self.buffers[..at].iter().any(|b| !after(end, b.end)) {
            return Kept::Not;
        }
        let covered = self.buffers[at..].partition_point(|b| !after(b.end, end));
        let last = self.buffers[..at].last_mut();
        let joined = last.is_some_and(|last| last.end == start && last.join(&segment));
        self.buffers
            .splice(at..at + covered, (!joined).then_some(segment));
        if joined { Kept::Joined } else { Kept::Alone }
    }

    /// Puts what arrived first among what is reported, where it touched the one with that index.
    fn report(&mut self, touched: Option<usize>, range: Range) {
        if let Some(at) = touched {
            self.reported[..=at].rotate_right(1);
            let mut first = self.reported[0];
            let mut at = 1;
            while at < self.reported.len() {
                if first.extend(self.reported[at]) {
                    self.reported.remove(at);
                    at = 1;
                } else {
                    at += 1;
                }
            }
            self.reported[0] = first;
        } else {
            self.reported.truncate(MOST_REPORTED - 1);
            self.reported.insert(0, range);
        }
    }

    /// Everything before `next` has arrived: gives up the ranges that it reaches, and has `take` have what they are made of. Returns the
    /// next expected byte.
    pub fn advance(&mut self, mut next: u32, mut take: impl FnMut(Buffer)) -> u32 {
        // What both the segment and a range hold came twice. Of several the lowest is reported.
        let twice = self.buffers.first().map(|first| first.start);
        if let Some(start) = twice.filter(|&start| before(start, next)) {
            self.dsack = self.dsack.or(self.overlap(start, next));
        }
        let mut released = 0;
        for buffer in &self.buffers {
            if after(buffer.start, next) {
                break;
            }
            released += 1;
            if after(buffer.end, next) {
                let mut new = *buffer;
                new.start = next;
                next = new.end;
                take(new);
            }
        }
        self.buffers.drain(..released);
        self.reported.retain(|r| after(r.start, next));
        next
    }

    /// Whether the next segment reports anything.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        self.dsack.is_some() || !self.reported.is_empty()
    }

    /// Bytes of the option that the next segment reports in, of at most `most` blocks, padded.
    #[inline]
    pub fn option_len(&self, most: usize) -> u32 {
        let blocks = (self.reported.len() + usize::from(self.dsack.is_some())).min(most);
        if blocks == 0 {
            0
        } else {
            4 + 8 * blocks as u32
        }
    }

    /// A DSACK waits to be sent.
    pub fn has_dsack(&self) -> bool {
        self.dsack.is_some()
    }

    /// The blocks of the next segment, at most `most`: a DSACK first, then the ranges, that of the latest arrival first.
    pub fn blocks(&mut self, most: usize, blocks: &mut RareOptions) {
        *blocks = core::mem::take(&mut self.spare);
        fill(blocks, most, self.dsack.take(), &self.reported);
    }

    /// The same, before the latest arrival.
    pub fn earlier_blocks(&mut self, most: usize, blocks: &mut RareOptions) {
        fill(blocks, most, self.dsack.take(), &self.earlier);
    }
}

fn fill(blocks: &mut RareOptions, most: usize, dsack: Option<(u32, u32)>, ranges: &[Range]) {
    let ranges = ranges.iter().map(|r| (r.start, r.end));
    blocks.report(dsack.into_iter().chain(ranges).take(most));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_appended_is_as_if_it_were_inserted(
            segments in prop::collection::vec((0u32..8, 0u32..4, any::<bool>()), 1..80),
        ) {
            let mut held = Reassembly::NOTHING;
            let mut next = u32::MAX - 100;
            for (skipped, len, held_back) in segments {
                // Three of eight follow at once, one begins before what was last.
                let start = next.wrapping_add(skipped.saturating_sub(3)).wrapping_sub(u32::from(skipped == 7) * 6);
                let segment = Buffer::new(start, start.wrapping_add(len), Memory::shared(len));
                next = segment.end;
                let (mut inserted, before) = (held.clone(), format!("{held:?}"));
                let (kept, flushes) = inserted.insert(segment, held_back);
                if held.append(&segment) {
                    prop_assert_eq!((kept, flushes), (Kept::Joined, false));
                    prop_assert_eq!(format!("{held:?}"), format!("{inserted:?}"));
                } else {
                    prop_assert_eq!(format!("{held:?}"), before);
                    held = inserted;
                }
                if held.buffers.len() > 3 {
                    held = Reassembly::NOTHING;
                }
            }
        }
    }
}
