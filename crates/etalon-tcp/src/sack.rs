//! SACK and DSACK blocks of an incoming ACK (RFC 2018, RFC 2883).
//!
//! Receivers repeat blocks; what the previous ACK already told is skipped without a look at the scoreboard.

use crate::ack::News;
use crate::cc::{CongestionControl, State};
use crate::connection::Connection;
use crate::scoreboard::mark;
use crate::segment::Segment;
use crate::seq::{after, before, earlier};

impl<C: CongestionControl> Connection<C> {
    /// Marks what the blocks of `segment` report.
    pub(crate) fn take_sacks(&mut self, segment: &Segment, news: &mut News) {
        let blocks = segment.sack.as_slice();
        let is_dsack = match *blocks {
            [] => return,
            [(start, end), ..] if before(start, segment.ack) => {
                self.take_dsack(start, end, news);
                true
            }
            [(start, end), (outer_start, outer_end), ..]
                if !before(start, outer_start) && !after(end, outer_end) =>
            {
                self.take_dsack(start, end, news);
                true
            }
            _ => false,
        };
        if is_dsack && !after(blocks[0].1, news.prior_una) {
            if let Some(marker) = self.path.reduced_at {
                if self.path.unproven_resends > 0 && after(blocks[0].1, marker) && news.dsack {
                    let segments = blocks[0].1.wrapping_sub(blocks[0].0).div_ceil(self.snd.mss);
                    self.path.unproven_resends =
                        (self.path.unproven_resends - segments as i32).max(0);
                }
            }
        }
        if self.snd.board.is_empty() {
            return;
        }
        if is_dsack {
            self.take_dsack_in_flight(blocks[0].0, blocks[0].1, news);
        }
        let mut valid = [(0, 0); 4];
        let mut count = 0;
        for &(start, end) in &blocks[usize::from(is_dsack)..] {
            if before(start, end) && !after(end, self.snd.nxt) && after(end, self.snd.una) {
                valid[count] = (
                    if before(start, self.snd.una) {
                        self.snd.una
                    } else {
                        start
                    },
                    end,
                );
                count += 1;
            }
        }
        let una = self.snd.una;
        valid[..count].sort_unstable_by_key(|b| b.0.wrapping_sub(una));
        for &(start, end) in &valid[..count] {
            self.take_block(start, end, news);
        }
        self.snd.seen_sacks = (valid, count as u8);
        if news.sacked && (self.path.state != State::Loss || self.path.reduced_at.is_some()) {
            self.note_reordering(news.reordered_from);
        }
    }

    /// Walks the parts of a block that the previous ACK did not report.
    fn take_block(&mut self, start: u32, end: u32, news: &mut News) {
        let (seen, seen_count) = self.snd.seen_sacks;
        let seen = &seen[..usize::from(seen_count)];
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
            let mut index = self.snd.board.find(at);
            while let Some(record) = self.snd.board.get(index) {
                if !before(record.start, next_seen) {
                    break;
                }
                if !before(record.start, start) && !after(record.end, end) {
                    self.mark_sacked(index, news);
                }
                index += 1;
            }
            at = next_seen;
        }
    }

    fn mark_sacked(&mut self, index: u64, news: &mut News) {
        let highest = self.snd.board.highest_sacked(&self.path.pipe, self.snd.una);
        let Some(record) = self.snd.board.get_mut(index) else {
            return;
        };
        if record.has(mark::SACKED) {
            return;
        }
        let path = &mut self.path;
        path.rack.delivered(self.clock.us, path.rtt.min(), record);
        if record.has(mark::RESENT) {
            // Without LOST the retransmission is believed to be still in flight.
            if record.has(mark::LOST) {
                record.marks &= !(mark::LOST | mark::RESENT);
                path.pipe.lost -= 1;
                path.pipe.resent -= 1;
            }
        } else {
            if !record.has(mark::EVER_RESENT) {
                if before(record.start, highest) && before(record.start, news.reordered_from) {
                    news.reordered_from = record.start;
                }
                news.original_delivered |= !after(record.end, path.recovery_point);
                if news.sack_first_sent == 0 {
                    news.sack_first_sent = record.sent.max(1);
                }
                news.sack_last_sent = record.sent.max(1);
            }
            if record.has(mark::LOST) {
                record.marks &= !mark::LOST;
                path.pipe.lost -= 1;
            }
        }
        record.marks |= mark::SACKED;
        let end = record.end;
        path.pipe.sacked += 1;
        path.delivered += 1;
        news.sacked = true;
        self.snd.board.note_sacked(&self.path.pipe, end);
    }

    /// The receiver got something twice.
    fn take_dsack(&mut self, start: u32, end: u32, news: &mut News) {
        let len = end.wrapping_sub(start);
        if !before(start, end) || len > self.snd.max_window.max(self.snd.mss) {
            return;
        }
        self.stats.dsacks += 1;
        self.snd.dsacked += u64::from(len.div_ceil(self.snd.mss));
        if len <= self.snd.mss && self.snd.probe_end == Some(end) {
            news.dsack_of_probe = true;
        }
        if self.snd.dsacked > self.stats.retransmits {
            // More than was ever retransmitted: the network duplicates.
            return;
        }
        news.dsack = true;
        if !news.dsack_of_probe {
            let flight = self.snd.nxt.wrapping_sub(self.snd.una);
            self.path.rack.note_dsack(self.snd.bytes_acked, flight);
        }
    }

    /// A DSACK for segments not yet cumulatively acknowledged.
    fn take_dsack_in_flight(&mut self, start: u32, end: u32, news: &mut News) {
        if !after(end, self.snd.una) || after(end, self.snd.nxt) {
            return;
        }
        let mut index = self.snd.board.find(start);
        while let Some(record) = self.snd.board.get_mut(index) {
            if !before(record.start, end) {
                break;
            }
            if !before(record.start, start)
                && !after(record.end, end)
                && record.has(mark::EVER_RESENT)
            {
                if let Some(marker) = self.path.reduced_at {
                    if self.path.unproven_resends > 0 && after(record.end, marker) {
                        self.path.unproven_resends -= 1;
                    }
                }
                if record.has(mark::SACKED) && before(record.start, news.reordered_from) {
                    news.reordered_from = record.start;
                }
                if record.has(mark::RESENT) && record.has(mark::SACKED) {
                    record.marks &= !mark::RESENT;
                    self.path.pipe.resent -= 1;
                }
            }
            index += 1;
        }
    }
}
