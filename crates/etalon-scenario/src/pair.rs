//! Rack pairs.

use serde::{Deserialize, Serialize};

/// A rack pair: source and destination. In JSON `[source, destination]`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "(u16, u16)", into = "(u16, u16)")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The sending rack.
    pub src: u16,
    /// The receiving rack.
    pub dst: u16,
}

impl Pair {
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
