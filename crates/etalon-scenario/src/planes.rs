//! The planes of a network, as results tell of them.

use etalon_units::{Rate, Span};

use crate::Pair;

/// What results say of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneFacts {
    /// What it is called: columns and rows of results have their names from it. Empty where a network has no plane of this number.
    pub name: &'static str,
    /// The rate at which it can serve a rack pair: one from a lower rack to a higher one, and, as in a dumbbell the way back may
    /// differ, one from a higher to a lower.
    pub rates: [Rate; 2],
    /// Where queues are not watched: how long packets are under way behind the slowest link, forth and back.
    pub behind: [Span; 2],
    /// When it serves a pair: in the pair's days, or in all other time.
    pub in_days: bool,
}

impl PlaneFacts {
    /// The network has this plane.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.name.is_empty()
    }

    /// It serves pairs that have no circuit.
    #[must_use]
    pub fn serves_outside_of_days(&self) -> bool {
        self.exists() && !self.in_days
    }

    /// The rate at which it can serve this rack pair.
    #[must_use]
    pub fn rate(&self, pair: Pair) -> Rate {
        self.rates[usize::from(pair.src > pair.dst)]
    }

    /// How long a packet of this pair is under way without being watched.
    #[must_use]
    pub fn behind(&self, pair: Pair) -> Span {
        self.behind[usize::from(pair.src > pair.dst)]
    }
}
