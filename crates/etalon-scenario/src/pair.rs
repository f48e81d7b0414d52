// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rack pairs.

use serde::{Deserialize, Serialize};

/// A rack pair: source and destination. In JSON `[source, destination]`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "(u16, u16)", into = "(u16, u16)")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// Aligned as a `u32`, so that events that contain a pair copy it in one piece.
#[repr(align(4))]
pub struct Pair {
    /// The sending rack.
    pub src: u16,
    /// The receiving rack.
    pub dst: u16,
}

impl Pair {
    /// The pair's place in a table of all pairs of so many racks. Those at the same distance around the circle of racks lie side by
    /// side, by source: what a day of the strobe, or a ring of flows, has to do with is in one piece of memory.
    #[must_use]
    #[inline]
    pub fn index(self, racks: usize) -> usize {
        let (src, dst) = (usize::from(self.src), usize::from(self.dst));
        let distance = if dst < src {
            dst + racks - src
        } else {
            dst - src
        };
        distance * racks + src
    }

    /// The pair whose [place](Pair::index) this is.
    #[must_use]
    pub const fn at(index: usize, racks: usize) -> Pair {
        let (distance, src) = (index / racks, index % racks);
        Pair {
            src: src as u16,
            dst: ((src + distance) % racks) as u16,
        }
    }

    /// The pair of the opposite direction.
    #[must_use]
    #[inline]
    pub const fn opposite(self) -> Pair {
        Pair {
            src: self.dst,
            dst: self.src,
        }
    }
}

impl From<(u16, u16)> for Pair {
    fn from((src, dst): (u16, u16)) -> Pair {
        Pair { src, dst }
    }
}

impl From<Pair> for (u16, u16) {
    fn from(pair: Pair) -> (u16, u16) {
        (pair.src, pair.dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_a_place_of_its_own() {
        for racks in [1usize, 2, 3, 8, 25] {
            for index in 0..racks * racks {
                let pair = Pair::at(index, racks);
                assert_eq!(pair.index(racks), index);
                assert!(usize::from(pair.src.max(pair.dst)) < racks);
            }
        }
        // Neighbours in a ring are neighbours in memory.
        let index = |src, dst| Pair { src, dst }.index(8);
        assert_eq!(index(4, 5), index(3, 4) + 1);
    }
}
