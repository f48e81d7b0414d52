// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which queue of a network.

use crate::Pair;

/// A queue: which one of which switch. The hybrid switch has a [VOQ](QueueId::voq) at each ToR for each rack, a chain has
/// one switch with a queue for each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(align(4))] // as a `Pair`
pub struct QueueId {
    /// The switch that it is in. ToR switches have the numbers of their racks.
    pub at: u16,
    /// Its number there.
    pub number: u16,
}

impl QueueId {
    /// The virtual output queue of `pair`: in the sender's ToR, with the receiver's number.
    #[must_use]
    #[inline]
    pub const fn voq(pair: Pair) -> QueueId {
        QueueId {
            at: pair.src,
            number: pair.dst,
        }
    }
}
