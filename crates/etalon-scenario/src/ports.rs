// SPDX-License-Identifier: MIT OR Apache-2.0
//! The egress ports of a network, as results tell of them.

use core::fmt;

use etalon_units::Rate;

use crate::{HostId, QueueId};

/// Where a link ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host: `r0h3`.
    Host(HostId),
    /// The ToR switch of a rack, the leaf of a leaf-spine network: `r0`. Of a dumbbell: its hosts at this end.
    Tor(u16),
    /// An aggregation switch, by its pod and its number there: `p0a1`.
    Aggregation(u16, u16),
    /// A core switch: `c0`.
    Core(u16),
    /// A spine: `s0`.
    Spine(u16),
    /// A circuit switch, by the number of the uplinks that lead there: `o0`.
    Circuits(u16),
    /// A switch of a network of circuits that has no hosts: `x0`.
    Relay(u16),
    /// Between the stages of a dumbbell, by the number of the stage that follows: `f1` on the way forth, `b1` on the way back.
    Stage {
        /// Which of the two ways.
        back: bool,
        /// The stage.
        number: u16,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Place::Host(host) => write!(f, "r{}h{}", host.rack(), host.number()),
            Place::Tor(rack) => write!(f, "r{rack}"),
            Place::Aggregation(pod, number) => write!(f, "p{pod}a{number}"),
            Place::Core(number) => write!(f, "c{number}"),
            Place::Spine(number) => write!(f, "s{number}"),
            Place::Circuits(number) => write!(f, "o{number}"),
            Place::Relay(number) => write!(f, "x{number}"),
            Place::Stage { back, number } => write!(f, "{}{number}", if back { 'b' } else { 'f' }),
        }
    }
}

/// What results say of an egress port: a queue and the link behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortFacts {
    /// Its queue.
    pub queue: QueueId,
    /// Where it is.
    pub from: Place,
    /// Where it leads.
    pub to: Place,
    /// The rate of its link.
    pub rate: Rate,
}
