//! The planes of a network, as results tell of them.

use etalon_units::{Rate, Span};

use crate::Pair;

/// What results say of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneFacts {
    /// What it is called: columns and rows of results have their names from it. Empty where a network has no plane of this number.
    pub name: &'static str,
    /// How it leads from rack to rack.
    pub ways: Ways,
    /// When it serves a pair: in the pair's days, or in all other time.
    pub in_days: bool,
}

/// A way between racks: the rate of its narrowest part, and where queues are not watched how long packets are under way behind that.
pub type Way = (Rate, Span);

/// The ways of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// From lower racks to higher ones, and back.
    Directions([Way; 2]),
    /// Within a rack, within a pod of so many racks, and from pod to pod.
    Distances(u16, [Way; 3]),
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

    fn way(&self, Pair { src, dst }: Pair) -> Way {
        match self.ways {
            Ways::Directions(ways) => ways[usize::from(src > dst)],
            Ways::Distances(_, ways) if src == dst => ways[0],
            Ways::Distances(racks, ways) if src / racks == dst / racks => ways[1],
            Ways::Distances(_, ways) => ways[2],
        }
    }

    /// Whether it carries what stays in a rack.
    #[must_use]
    pub fn is_within_racks(&self) -> bool {
        matches!(self.ways, Ways::Distances(..))
    }

    /// The rate at which it can serve this rack pair.
    #[must_use]
    pub fn rate(&self, pair: Pair) -> Rate {
        self.way(pair).0
    }

    /// How long a packet of this pair is under way without being watched.
    #[must_use]
    pub fn behind(&self, pair: Pair) -> Span {
        self.way(pair).1
    }
}
