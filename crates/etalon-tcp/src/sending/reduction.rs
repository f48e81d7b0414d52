// SPDX-License-Identifier: MIT OR Apache-2.0
//! A path's recovery: its state, and what is remembered of its latest reduction.

use crate::cc::State;
use crate::rare::{Fresh, Rare};
use crate::sending::prr::Prr;
use crate::sending::recovery::Reach;
use crate::sending::undo::Undo;
use crate::seq::after;

/// A path's recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    pub state: State,
    /// SND.NXT when the state began.
    pub point: u32,
    /// The latest reduction; most paths have none yet.
    pub reduction: Rare<Reduction>,
}

/// What is remembered of a reduction.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    pub prr: Prr,
    pub undo: Undo,
}

impl Fresh for Reduction {
    fn fresh() -> &'static Reduction {
        static NONE: Reduction = Reduction {
            prr: Prr::NONE,
            undo: Undo::NONE,
        };
        &NONE
    }
}

impl Recovery {
    /// Whether proportional rate reduction sets the window.
    #[inline]
    pub fn reduces(&self) -> bool {
        matches!(self.state, State::Cwr | State::FastRecovery)
    }

    /// No reduction is to be undone, if there was one: see [`Undo::forbid`].
    pub fn forbid_undo(&mut self) {
        if let Some(reduction) = self.reduction.changed_mut() {
            reduction.undo.forbid();
        }
    }

    /// How far an ACK has come that left SND.UNA at `una`. `advanced`: from where it stood before.
    pub fn reach(&self, una: u32, advanced: bool) -> Reach {
        if after(una, self.point) {
            Reach::PastPoint
        } else if una == self.point {
            Reach::FullAck
        } else if advanced {
            Reach::PartialAck
        } else {
            Reach::DuplicateAck
        }
    }
}
