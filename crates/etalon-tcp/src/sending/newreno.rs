// SPDX-License-Identifier: MIT OR Apache-2.0
//! Without SACK (RFC 6582): duplicate ACKs stand for segments that have left the network, and are what losses are told by.

use crate::cc::{CongestionControl, State};
use crate::sending::Sender;
use crate::sending::facts::Facts;
use crate::sending::scoreboard::Lost;

impl<C: CongestionControl> Sender<C> {
    /// Counts a duplicate ACK, or forgets those before SND.UNA advanced.
    pub(crate) fn hear_duplicate(&mut self, facts: &Facts) {
        let (forgets, counts) = match self.paths.active.recovery.state {
            State::Open | State::LimitedTransmit | State::Cwr => (true, true),
            // RFC 5681, section 3.2, step 4: "For each additional duplicate ACK received"; a partial one leaves the others.
            State::FastRecovery => (false, true),
            // RFC 5682, section 3.1, step 3a: only new data draws duplicates that say something.
            State::Timeout => (true, self.sent_beyond_point()),
        };
        if forgets && facts.progress {
            self.count_duplicates(0);
        }
        if counts && facts.duplicate {
            let before = self.board.sums().sacked;
            self.count_duplicates(before + 1);
            self.limit_duplicates();
            let counted = self.board.sums().sacked.saturating_sub(before);
            self.paths.active.delivered += u64::from(counted);
        }
    }

    pub(crate) fn count_duplicates(&mut self, count: u32) {
        self.board.count_duplicates(&mut self.paths, count);
    }

    /// No more duplicate ACKs than segments beside the holes; more of them mean reordering.
    fn limit_duplicates(&mut self) {
        let out = self.board.len();
        let sums = self.board.sums();
        let most = out - sums.lost.max(1).min(out);
        if sums.sacked > most {
            self.count_duplicates(most);
            self.rack.reordering.widen(out);
        }
    }

    /// Of `acked` segments one filled the hole, the others had sent duplicate ACKs.
    pub(crate) fn take_duplicates(&mut self, acked: u32) {
        let duplicates = self.board.sums().sacked;
        let delivered = acked.saturating_sub(duplicates).max(1);
        self.paths.active.delivered += u64::from(delivered);
        self.count_duplicates(duplicates.saturating_sub(acked - 1));
        self.limit_duplicates();
    }

    /// The third duplicate ACK means that the front is lost (RFC 5681, section 3.2, step 2), and so does a partial one in fast
    /// recovery: "the first unacknowledged segment" (RFC 6582, section 3.2, step 3).
    pub(crate) fn newreno_detect(&mut self, progress: bool) -> Lost {
        let lost = match self.paths.active.recovery.state {
            State::FastRecovery => progress,
            State::Timeout => false,
            _ => self.board.sums().sacked >= self.rack.reordering.degree,
        };
        if !lost {
            return Lost::default();
        }
        let front = self.board.first();
        let lost = self.board.mark_lost(&mut self.paths, front);
        self.count_lost(lost);
        lost
    }
}
