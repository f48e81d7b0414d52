// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a TDN (time-division network; TDTCP, SIGCOMM'22) is in a network of circuits.

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::{Notify, Slices};

/// TDNs at most: TCP's option has a byte for their number.
pub const MOST_TDNS: usize = u8::MAX as usize;

/// What a TDN is for a pair of racks. It changes where a slice begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Tdns {
    /// There is one, which never changes.
    #[default]
    One,
    /// Each slice of the cycle is one, for all pairs.
    Slice,
    /// The number of circuits in a row that packets of the pair cross, of the first class and on the first of their paths. It is 0 if
    /// they take the packet network, or wait for a circuit on their way. Paths of so many circuits, and longer ones, share the last TDN.
    Length(u8),
}

impl Tdns {
    /// How many there are in a network with so many slices, which are counted only if need be.
    #[must_use]
    pub fn count(self, slices: impl FnOnce() -> usize) -> usize {
        match self {
            Tdns::One => 1,
            Tdns::Slice => slices(),
            Tdns::Length(longest) => usize::from(longest) + 1,
        }
    }

    /// That they can be numbered, and that no host would hear of a slice before the slice before it.
    pub(crate) fn check(self, notify: &Notify, slices: &Slices) -> Result<(), ScenarioError> {
        let count = self.count(|| slices.len());
        ensure!(
            count <= MOST_TDNS,
            "there are {MOST_TDNS} TDNs at most, and {count} would be needed"
        );
        ensure!(
            self != Tdns::Length(0),
            "paths cross one circuit at least, so the longest path with a TDN of its own does too"
        );
        let lengths = (0..slices.len()).map(|slice| slices.length(slice));
        let shortest = lengths.min().unwrap_or(Span::ZERO);
        let before = notify.before;
        ensure!(
            slices.are_static() || before <= shortest,
            "hosts cannot be notified {before} before a change: the shortest slice lasts {shortest}"
        );
        Ok(())
    }
}
