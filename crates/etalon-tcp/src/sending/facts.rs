// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one ACK says. `digest.rs` finds it; what the sender decides rests on it.

use crate::segment::{Flags, Segment};
use crate::seq::after;
use crate::timers::Stamp;

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// SND.UNA before, and whether it advanced.
    pub prior_una: u32,
    pub progress: bool,
    /// Delivered: segments acknowledged cumulatively, and whether one was newly SACKed.
    pub acked: u32,
    pub sacked: bool,
    /// Delivered: a segment that was never retransmitted and was sent before the recovery point.
    pub original_delivered: bool,
    /// Reordered: the lowest segment never retransmitted that was delivered after later ones; SND.NXT if there is none.
    pub reordered_from: u32,
    /// RTT: when the first of the newly SACKed originals was sent on the active path, in microseconds, and the last; `None` without any.
    pub sacked_sent: Option<(u64, Stamp)>,
    /// ECE, and ECN is on.
    pub ece: bool,
    /// A DSACK for something retransmitted; for the loss probe.
    pub reported: bool,
    pub probe_reported: bool,
    /// Counts as a duplicate ACK (RFC 5681, section 2).
    pub duplicate: bool,
    /// The segment has payload or FIN; it changes the window.
    pub carries_data: bool,
    pub window_update: bool,
    /// The front is SACKed although SND.UNA stands before it: the receiver has taken back SACKs.
    pub reneged: bool,
    /// The retransmission timer must be set again.
    pub restart_timer: bool,
}

impl Facts {
    /// Nothing, yet: SND.UNA was `una`, SND.NXT is `nxt`.
    pub fn none(una: u32, nxt: u32) -> Facts {
        Facts {
            prior_una: una,
            progress: false,
            acked: 0,
            sacked: false,
            original_delivered: false,
            reordered_from: nxt,
            sacked_sent: None,
            ece: false,
            reported: false,
            probe_reported: false,
            duplicate: false,
            carries_data: false,
            window_update: false,
            reneged: false,
            restart_timer: false,
        }
    }

    pub fn of(segment: &Segment, una: u32, nxt: u32, ecn: bool) -> Facts {
        Facts {
            progress: after(segment.ack, una),
            ece: ecn && segment.flags.contains(Flags::ECE),
            carries_data: segment.len > 0,
            ..Facts::none(una, nxt)
        }
    }

    /// Whether it is no more than an acknowledgement number that is known already.
    #[inline]
    pub fn is_bare(&self) -> bool {
        !(self.carries_data || self.window_update || self.acked > 0)
    }
}
