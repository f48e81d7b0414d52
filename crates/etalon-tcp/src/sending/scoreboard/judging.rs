// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses that time tells: the records are walked in the order in which they were last sent.

use super::{Lost, Record, Scoreboard, mark};
use crate::sending::paths::Paths;
use crate::seq::after;

/// What a loss detector says of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was sent later than anything that could tell: so were all that follow.
    Untold,
    /// It may yet arrive.
    Wait,
    Lost,
}

impl Scoreboard {
    /// Asks `judge` about each record that may be in flight, in the order in which they were last sent, and marks those lost
    /// that it says are.
    pub fn judge_by_time<C>(
        &mut self,
        paths: &mut Paths<C>,
        mut judge: impl FnMut(&Record) -> Verdict,
    ) -> Lost {
        let (mut lost, fresh) = self.judge_originals(paths, &mut judge);
        lost.add(self.judge_retransmissions(paths, fresh, &mut judge));
        lost
    }

    /// Records sent once were sent in sequence order. Returns also when the first was sent of which nothing is told, and its order.
    fn judge_originals<C>(
        &mut self,
        paths: &mut Paths<C>,
        judge: &mut impl FnMut(&Record) -> Verdict,
    ) -> (Lost, Option<(u64, u32)>) {
        let (mut lost, mut fresh) = (Lost::default(), None);
        let mut index = self.repair.unsettled.max(self.first);
        let mut settled = true;
        while let Some(record) = self.get(index) {
            let settled_by = mark::SACKED | mark::LOST | mark::EVER_RETRANSMITTED | mark::JUDGED;
            if record.marks & settled_by == 0 {
                match judge(record) {
                    Verdict::Untold => {
                        fresh = Some((record.sent(), record.order));
                        break;
                    }
                    Verdict::Lost => lost.add(self.judge_lost(paths, index)),
                    Verdict::Wait => settled = false,
                }
            }
            index += 1;
            if settled {
                self.repair.unsettled = index;
            }
        }
        (lost, fresh)
    }

    /// What was sent at the same instant as a record that is `fresh`, but after it, is as fresh.
    fn judge_retransmissions<C>(
        &mut self,
        paths: &mut Paths<C>,
        fresh: Option<(u64, u32)>,
        judge: &mut impl FnMut(&Record) -> Verdict,
    ) -> Lost {
        let mut lost = Lost::default();
        let (mut position, mut stale_front) = (0, true);
        while let Some(&(index, sent)) = self.repair.retransmissions.get(position) {
            let verdict = match self.get(index) {
                Some(record) if record.sent() == sent && may_arrive(record) => {
                    if fresh.is_some_and(|(at, order)| at == sent && after(record.order, order)) {
                        Verdict::Untold
                    } else {
                        judge(record)
                    }
                }
                _ => Verdict::Lost, // or delivered: not to be asked about again
            };
            match verdict {
                Verdict::Untold => break,
                Verdict::Wait => stale_front = false,
                Verdict::Lost => {
                    if self.get(index).is_some_and(|r| r.sent() == sent) {
                        lost.add(self.judge_lost(paths, index));
                    }
                    if stale_front {
                        self.repair.retransmissions.pop_front();
                        continue;
                    }
                }
            }
            position += 1;
        }
        lost
    }
}

/// Whether the last transmission of a record may still arrive.
fn may_arrive(record: &Record) -> bool {
    !record.has(mark::SACKED)
        && !record.has(mark::JUDGED)
        && (!record.has(mark::LOST) || record.has(mark::RETRANSMITTED))
}
