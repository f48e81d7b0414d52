// SPDX-License-Identifier: MIT OR Apache-2.0
//! The planes of a network, as results tell of them.

use etalon_units::{Rate, Span};

use crate::Pair;

/// What results say of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneFacts {
    /// What it is called: columns and rows of results have their names from it. Empty where a network has no plane of this number.
    pub name: &'static str,
    /// What limits it, from rack to rack.
    pub bottlenecks: Bottlenecks,
    /// When it serves a pair: in the pair's days, or in all other time.
    pub in_days: bool,
}

/// What limits traffic between racks: the rate of its narrowest part, and where queues are not watched how long packets are under way behind that.
pub type Bottleneck = (Rate, Span);

/// The bottlenecks of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottlenecks {
    /// From lower racks to higher ones, and back.
    Directions([Bottleneck; 2]),
    /// Within a rack, within a pod of so many racks, and from pod to pod.
    Distances(u16, [Bottleneck; 3]),
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

    fn bottleneck(&self, Pair { src, dst }: Pair) -> Bottleneck {
        match self.bottlenecks {
            Bottlenecks::Directions(both) => both[usize::from(src > dst)],
            Bottlenecks::Distances(_, all) if src == dst => all[0],
            Bottlenecks::Distances(racks, all) if src / racks == dst / racks => all[1],
            Bottlenecks::Distances(_, all) => all[2],
        }
    }

    /// Whether it carries what stays in a rack.
    #[must_use]
    pub fn is_within_racks(&self) -> bool {
        matches!(self.bottlenecks, Bottlenecks::Distances(..))
    }

    /// The rate at which it can serve this rack pair.
    #[must_use]
    pub fn rate(&self, pair: Pair) -> Rate {
        self.bottleneck(pair).0
    }

    /// How long a packet of this pair is under way without being watched.
    #[must_use]
    pub fn behind(&self, pair: Pair) -> Span {
        self.bottleneck(pair).1
    }
}
