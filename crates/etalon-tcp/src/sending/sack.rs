// SPDX-License-Identifier: MIT OR Apache-2.0
//! SACK and DSACK blocks of an incoming ACK (RFC 2018, RFC 2883).
//!
//! Receivers repeat blocks; what the previous ACK already told is skipped without a look at the scoreboard.

use crate::cc::{CongestionControl, State};
use crate::segment::Segment;
use crate::sending::Sender;
use crate::sending::facts::Facts;
use crate::sending::record::{Record, mark};
use crate::sending::scoreboard::Reported;
use crate::seq::{after, before, earlier, later};
use crate::timers::Clock;

/// Whether the first block reports a duplicate (RFC 2883, section 4): below the acknowledgement number, or within the second.
fn dsack(blocks: &[(u32, u32)], ack: u32) -> Option<(u32, u32)> {
    match *blocks {
        [(start, end), ..] if before(start, ack) => Some((start, end)),
        [(start, end), (outer_start, outer_end), ..]
            if !before(start, outer_start) && !after(end, outer_end) =>
        {
            Some((start, end))
        }
        _ => None,
    }
}

/// How many segments a block spans.
fn segments_of((start, end): (u32, u32), mss: u32) -> u32 {
    end.wrapping_sub(start).div_ceil(mss)
}

impl<C: CongestionControl> Sender<C> {
    /// Marks what the blocks of `segment` report.
    pub(crate) fn take_sacks(&mut self, clock: &Clock, segment: &Segment, facts: &mut Facts) {
        let mut blocks = segment.rare.blocks();
        if blocks.is_empty() {
            return;
        }
        if let Some(block) = dsack(blocks, segment.ack) {
            self.take_dsack(block, facts);
            blocks = &blocks[1..];
        }
        if self.board.is_empty() {
            self.board.forget_reported();
            return;
        }
        let mut valid = [(0, 0); 4];
        let mut count = 0;
        let una = self.una;
        for &(start, end) in blocks {
            if before(start, end) && !after(end, self.nxt) && after(end, una) {
                valid[count] = (later(start, una), end);
                count += 1;
            }
        }
        valid[..count].sort_unstable_by_key(|b| b.0.wrapping_sub(una));
        for &(start, end) in &valid[..count] {
            self.take_block(clock, start, end, facts);
        }
        self.board.repair.reported = Reported {
            blocks: valid,
            count: count as u8,
        };
        let recovery = &self.paths.active.recovery;
        if (facts.sacked || facts.reported)
            && (recovery.state != State::Timeout || recovery.reduction.undo.is_open())
        {
            self.note_reordering(facts.reordered_from);
        }
    }

    /// Walks the parts of a block that the previous ACK did not report.
    fn take_block(&mut self, clock: &Clock, start: u32, end: u32, facts: &mut Facts) {
        let reported = self.board.repair.reported;
        let seen = reported.blocks();
        let mut at = start;
        while before(at, end) {
            if let Some(&(_, seen_end)) = seen.iter().find(|b| !before(at, b.0) && before(at, b.1))
            {
                at = seen_end;
                continue;
            }
            let next_seen = seen
                .iter()
                .filter(|b| after(b.0, at))
                .fold(end, |e, b| earlier(e, b.0));
            let mut index = self.board.find(at);
            while let Some(&record) = self.board.get(index) {
                if !before(record.start, next_seen) {
                    break;
                }
                let inside = !before(record.start, start) && !after(record.end, end);
                if inside && !record.has(mark::SACKED) {
                    self.take_sacked(clock, index, &record, facts);
                }
                index += 1;
            }
            at = next_seen;
        }
    }

    /// Fact: a segment was delivered out of order.
    fn take_sacked(&mut self, clock: &Clock, index: u64, record: &Record, facts: &mut Facts) {
        let highest = self.board.highest_sacked(self.una);
        let path = self.paths.of(record.path);
        path.delivered += 1;
        if let Some(rate) = &mut path.rate {
            rate.on_sacked(index);
        }
        let min_rtt = self.paths.active.rtt.min();
        self.rack.delivered(clock.us, min_rtt, record);
        facts.sacked = true;
        if !record.has(mark::EVER_RETRANSMITTED) {
            if before(record.start, highest) && before(record.start, facts.reordered_from) {
                facts.reordered_from = record.start;
            }
            let point = self.paths.active.recovery.point;
            facts.original_delivered |= !after(record.end, point);
            if self.paths.times(record.sent(), record.path) {
                let first = facts.sacked_sent.map_or(record.sent(), |sent| sent.0);
                facts.sacked_sent = Some((first, record.stamp));
            }
        }
        self.board.mark_sacked(&mut self.paths, index);
    }

    /// A front that is SACKed is one of which the receiver has let go. RFC 2018, section 8: after a timeout "the data sender SHOULD turn off
    /// all of the SACKed bits". Returns whether that was so.
    pub(crate) fn distrust_sacks(&mut self) -> bool {
        let reneged = self.board.front().is_some_and(|r| r.has(mark::SACKED));
        if reneged {
            self.stats.reneged += 1;
            self.board.unmark_sacked(&mut self.paths);
            self.board.forget_reported();
        }
        reneged
    }

    /// The receiver got something twice.
    fn take_dsack(&mut self, block: (u32, u32), facts: &mut Facts) {
        let end = block.1;
        let segments = segments_of(block, self.mss);
        if self.is_credible(block) {
            self.hear_duplicate_report(block, segments, facts);
        }
        let covered = !after(end, facts.prior_una);
        if covered && facts.reported {
            let undo = &mut self.paths.active.recovery.reduction.undo;
            undo.reported(end, segments);
        } else if !covered && !after(end, self.nxt) {
            self.take_dsack_in_flight(block, facts);
        }
    }

    /// A block that is empty, or longer than any window was, reports nothing.
    fn is_credible(&self, (start, end): (u32, u32)) -> bool {
        before(start, end) && end.wrapping_sub(start) <= self.max_window.max(self.mss)
    }

    /// A duplicate is a delivery. As long as there are no more of them than segments sent again, each says that a retransmission was
    /// needless, which concerns RACK, or the loss probe if it was that; beyond that the network duplicates, which concerns nobody.
    fn hear_duplicate_report(&mut self, block: (u32, u32), segments: u32, facts: &mut Facts) {
        self.stats.dsacks += 1;
        self.dsacked = self.dsacked.saturating_add(segments);
        facts.probe_reported = segments == 1 && self.probe.ends_at(block.1);
        facts.reported = u64::from(self.dsacked) <= self.stats.retransmits;
        if facts.reported {
            self.paths.active.delivered += u64::from(segments);
            if !facts.probe_reported {
                self.rack.note_dsack();
            }
        }
    }

    /// A DSACK for segments not yet cumulatively acknowledged.
    fn take_dsack_in_flight(&mut self, (start, end): (u32, u32), facts: &mut Facts) {
        let mut index = self.board.find(start);
        while let Some(&record) = self.board.get(index) {
            if !before(record.start, end) {
                break;
            }
            let inside = !before(record.start, start) && !after(record.end, end);
            if inside && record.has(mark::EVER_RETRANSMITTED) {
                let path = self.paths.of(record.path);
                path.recovery.reduction.undo.reported(record.end, 1);
                if record.has(mark::SACKED) {
                    facts.reordered_from = earlier(facts.reordered_from, record.start);
                    if record.has(mark::RETRANSMITTED) {
                        self.board.retransmission_arrived(&mut self.paths, index);
                    }
                }
            }
            index += 1;
        }
    }
}
