//! Was a reduction needless? What tells it (Eifel detection by timestamps, RFC 3522; DSACK, RFC 3708), and the response: window
//! and threshold return to what they were (RFC 4015).

use crate::cc::CongestionControl;
use crate::sending::Sender;
use crate::sending::episode::Reduction;
use crate::sending::path::Path;
use crate::seq::{after, before};
use crate::timers::Clock;

/// What a path remembers of its latest reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// Threshold to return to; 0 if it must not be.
    ssthresh: u32,
    /// SND.UNA when the reduction began, while it may still be undone.
    since: Option<u32>,
    /// Retransmissions of the episode that no DSACK has reported yet; none before the first retransmission.
    unreported: Option<u32>,
    /// Another path was active since: timestamps do not tell the episode's retransmissions any more.
    interrupted: bool,
}

impl Undo {
    pub const NONE: Undo = Undo {
        ssthresh: 0,
        since: None,
        unreported: None,
        interrupted: false,
    };

    /// A reduction begins, with so many retransmissions in flight.
    pub fn begin(&mut self, una: u32, retransmitted: u32) {
        self.since = Some(una);
        self.interrupted = false;
        self.unreported = Some(retransmitted).filter(|&n| n > 0);
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
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// A DSACK reports so many segments that end at `end`.
    pub fn reported(&mut self, end: u32, segments: u32) {
        if let (Some(since), Some(unreported)) = (self.since, &mut self.unreported) {
            if after(end, since) {
                *unreported = unreported.saturating_sub(segments);
            }
        }
    }

    /// RFC 3708, section 3.1: every retransmission of the episode was reported as a duplicate.
    pub fn all_reported(&self) -> bool {
        self.since.is_some() && self.unreported == Some(0)
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

    /// Whether the ACK answers the original, by the timestamp it echoes: the retransmission was needless.
    fn original_answered(self, echoed: u32) -> bool {
        self.retransmit_ts != 0 && echo_before(echoed, self.retransmit_ts)
    }
}

/// Whether an echoed timestamp is older than `stamp`; 0 stands for none.
pub(crate) fn echo_before(echoed: u32, stamp: u32) -> bool {
    echoed != 0 && before(echoed, stamp)
}

impl<C: CongestionControl> Path<C> {
    /// RFC 4015, section 3.2, steps 9 and 10: the window and the threshold as before the reduction. Returns whether the
    /// threshold rose.
    fn restore(&mut self, jiffies: u64) -> bool {
        let Reduction { prr, undo } = &mut *self.recovery.reduction;
        let mut rose = false;
        if undo.ssthresh != 0 {
            self.window.cwnd = self.cc.undo(&self.window, prr.prior_cwnd);
            rose = undo.ssthresh > self.window.ssthresh;
            self.window.ssthresh = self.window.ssthresh.max(undo.ssthresh);
        }
        undo.forget();
        self.validation.used_at = jiffies as u32;
        rose
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Whether timestamps say that the active path's reduction was needless.
    pub(crate) fn original_answered(&self) -> bool {
        let undo = &self.paths.active.recovery.reduction.undo;
        undo.is_open()
            && !undo.interrupted
            && (undo.unreported.is_none() || self.eifel.original_answered(self.echoed))
    }

    /// Undoes the active path's reduction.
    pub(crate) fn undo(&mut self, clock: &Clock) {
        if self.paths.active.restore(clock.jiffies) {
            self.cwr_queued = false;
        }
        self.rack.judge_again();
        self.stats.undos += 1;
    }

    /// Undoes it and takes back what was marked lost, which is judged again.
    pub(crate) fn undo_and_unmark(&mut self, clock: &Clock) {
        self.board.unmark_lost(&mut self.paths);
        self.undo(clock);
    }

    /// Undoes it because DSACKs account for every retransmission.
    pub(crate) fn undo_as_reported(&mut self, clock: &Clock) {
        self.rack.recovery_over(true);
        self.undo(clock);
    }

    /// With no retransmission outstanding the next episode has a timestamp of its own.
    pub(crate) fn forget_repaired(&mut self) {
        if !self.board.repairs() {
            self.eifel.forget();
        }
    }
}
