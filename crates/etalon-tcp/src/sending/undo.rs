// SPDX-License-Identifier: MIT OR Apache-2.0
//! Was a reduction needless, and what returns if it was? Detection: timestamps (Eifel, RFC 3522) and DSACKs (RFC 3708), of which
//! `recovery.rs` makes evidence; the response is RFC 4015's: window and threshold return to what they were.

use crate::cc::Window;
use crate::seq::{after, before};

/// What a path remembers of its latest reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// Threshold to return to; 0 if it must not be.
    ssthresh: u32,
    /// SND.UNA when the reduction began, while it may still be undone.
    since: Option<u32>,
    resent: Resent,
    /// Another path was active since: timestamps do not tell the episode's retransmissions any more.
    interrupted: bool,
}

/// The retransmissions of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resent {
    /// There was none yet.
    Nothing,
    /// So many have not been reported by a DSACK.
    Unreported(u32),
}

/// What the timestamp that an ACK echoes says, next to `RetransmitTS`, that of the episode's first retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// It is older: the original arrived.
    OfOriginal,
    /// It is not, or there is none.
    OfAnything,
}

impl Undo {
    pub const NONE: Undo = Undo {
        ssthresh: 0,
        since: None,
        resent: Resent::Nothing,
        interrupted: false,
    };

    /// A reduction begins, with so many retransmissions in flight.
    pub fn begin(&mut self, una: u32, retransmitted: u32) {
        self.since = Some(una);
        self.interrupted = false;
        self.resent = match retransmitted {
            0 => Resent::Nothing,
            count => Resent::Unreported(count),
        };
    }

    /// The threshold that an undo returns to.
    pub fn remember(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh;
    }

    /// ECE asks for the reduction, whatever the losses turn out to be: it does not return.
    pub fn forbid(&mut self) {
        self.ssthresh = 0;
    }

    /// The reduction stands.
    pub fn forget(&mut self) {
        self.since = None;
    }

    /// Whether there is a reduction that may be undone.
    pub fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// The path is the active one again.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// A segment was retransmitted.
    #[inline]
    pub fn retransmitted(&mut self) {
        self.resent = match self.resent {
            Resent::Nothing => Resent::Unreported(1),
            Resent::Unreported(count) => Resent::Unreported(count + 1),
        };
    }

    /// A DSACK reports so many segments that end at `end`.
    pub fn reported(&mut self, end: u32, segments: u32) {
        if let (Some(since), Resent::Unreported(count)) = (self.since, &mut self.resent) {
            if after(end, since) {
                *count = count.saturating_sub(segments);
            }
        }
    }

    /// Whether the reduction stands, whatever the losses turn out to be.
    pub fn is_forbidden(&self) -> bool {
        self.ssthresh == 0
    }

    /// RFC 3708, section 3.1: every retransmission of the episode was reported as a duplicate.
    pub fn all_reported(&self) -> bool {
        self.is_open() && self.resent == Resent::Unreported(0)
    }

    /// RFC 3522, section 3.2: whether an ACK with this echo shows that the reduction was needless.
    pub fn original_answered(&self, echo: Echo) -> bool {
        match (self.since, self.interrupted, self.resent, echo) {
            // Nothing is left to undo; or another network carried the echo, with another delay.
            (None, _, _, _) | (_, true, _, _) => false,
            // Nothing was resent: the original is all that can have been acknowledged.
            (Some(_), false, Resent::Nothing, _) => true,
            // Step 4: the echo "is smaller than the value of RetransmitTS".
            (Some(_), false, Resent::Unreported(_), echo) => echo == Echo::OfOriginal,
        }
    }

    /// RFC 4015, step 9: the threshold as it was before the reduction, unless it is higher by now, and the window that the congestion
    /// control returns to.
    pub fn reversed(&self, window: Window, undone: impl FnOnce() -> u32) -> Window {
        match self.ssthresh {
            0 => window,
            before => Window {
                cwnd: undone(),
                ssthresh: window.ssthresh.max(before),
                ..window
            },
        }
    }
}

/// Eifel detection (RFC 3522, section 3.2): `RetransmitTS`, the timestamp of the episode's first retransmission; 0 if none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eifel {
    retransmit_ts: u32,
}

impl Eifel {
    /// A segment is retransmitted with this timestamp. Only the first counts.
    #[inline]
    pub fn retransmitted(&mut self, timestamp: u32) {
        if self.retransmit_ts == 0 {
            self.retransmit_ts = timestamp;
        }
    }

    pub fn forget(&mut self) {
        self.retransmit_ts = 0;
    }

    pub fn of(self, echoed: u32) -> Echo {
        if self.retransmit_ts != 0 && echo_before(echoed, self.retransmit_ts) {
            Echo::OfOriginal
        } else {
            Echo::OfAnything
        }
    }
}

/// Whether an echoed timestamp is older than `stamp`; 0 stands for none.
pub(crate) fn echo_before(echoed: u32, stamp: u32) -> bool {
    echoed != 0 && before(echoed, stamp)
}

/// What an undo concerns beside the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reversal {
    /// Nothing: all that was outstanding has arrived.
    WindowOnly,
    /// What was marked lost, which is judged again.
    AndLosses,
    /// RACK's reordering window: a DSACK has told it (RFC 8985, section 6.2, step 4).
    AndReordering,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_timestamps_show() {
        use Echo::{OfAnything, OfOriginal};
        use Resent::{Nothing, Unreported};
        let cases = [
            (None, false, Nothing, OfAnything, false),
            (None, false, Unreported(1), OfOriginal, false),
            (Some(7), true, Nothing, OfAnything, false),
            (Some(7), true, Unreported(1), OfOriginal, false),
            (Some(7), false, Nothing, OfAnything, true),
            (Some(7), false, Unreported(1), OfAnything, false),
            (Some(7), false, Unreported(1), OfOriginal, true),
            (Some(7), false, Unreported(0), OfOriginal, true),
        ];
        for (since, interrupted, resent, echo, answered) in cases {
            let undo = Undo {
                ssthresh: 10,
                since,
                resent,
                interrupted,
            };
            assert_eq!(undo.original_answered(echo), answered, "{undo:?} {echo:?}");
        }
    }

    #[test]
    fn which_echoes_are_of_the_original() {
        let mut eifel = Eifel::default();
        assert_eq!(eifel.of(99), Echo::OfAnything, "nothing was resent");
        eifel.retransmitted(100);
        eifel.retransmitted(200);
        for (echoed, echo) in [
            (0, Echo::OfAnything),
            (99, Echo::OfOriginal),
            (100, Echo::OfAnything),
            (150, Echo::OfAnything),
        ] {
            assert_eq!(eifel.of(echoed), echo, "{echoed}");
        }
    }

    #[test]
    fn duplicates_of_the_episode_are_counted() {
        let mut undo = Undo::NONE;
        undo.begin(1_000, 2);
        undo.retransmitted();
        undo.reported(1_000, 1); // of what was acknowledged before
        undo.reported(2_000, 2);
        assert!(!undo.all_reported());
        undo.reported(2_000, 5); // more than there were
        assert!(undo.all_reported());
        undo.forget();
        assert!(!undo.all_reported(), "nothing is left to undo");
        undo.begin(1_000, 0);
        assert!(!undo.all_reported(), "nothing was resent");
    }

    #[test]
    fn windows_return() {
        let window = |cwnd, ssthresh| Window {
            cwnd,
            ssthresh,
            cwnd_count: 3,
        };
        // The threshold before, the window now, that of the congestion control; the window after.
        for (before, now, undone, then) in [
            (30, window(10, 10), 20, window(20, 30)),
            (8, window(10, 10), 20, window(20, 10)), // a threshold does not fall
            (0, window(10, 10), 20, window(10, 10)), // ECE forbids it
        ] {
            let undo = Undo {
                ssthresh: before,
                ..Undo::NONE
            };
            assert_eq!(undo.reversed(now, || undone), then);
        }
    }
}
