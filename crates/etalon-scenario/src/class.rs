// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classes of traffic: which packets go first, how much of each waits, and what becomes of what finds no room.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::network::Routing;

/// A class of traffic, by number. Those of lower numbers go first (strict priority).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Class(pub u8);

impl Class {
    /// Its place in a list of classes.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Lists that a port has at most: one for each class, and one more for the headers of a class that trims.
pub const MOST_LISTS: usize = 4;

/// A class of a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassOf {
    /// What it is called.
    pub name: String,
    /// Its packets that wait in one queue: of an uplink, of a rack that is met later, of a link to a host.
    pub queue: Limit,
    /// The same at links to hosts, if it differs there.
    #[serde(default)]
    pub downlink: Option<Limit>,
    /// How its packets find their way.
    pub routing: Routing,
}

/// What one queue holds of a class. What is in transmission counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// What is counted.
    #[serde(default)]
    pub count: Count,
    /// So much fits; none for no bound.
    pub room: Option<u64>,
    /// A packet is marked CE if, with it, the queue is longer than this; none for no marks.
    #[serde(default)]
    pub mark_above: Option<u64>,
    /// What becomes of a packet that does not fit.
    #[serde(default)]
    pub full: Full,
}

/// What a queue counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Count {
    /// Packets.
    #[default]
    Packets,
    /// Their bytes on the wire.
    Bytes,
}

/// What becomes of a packet that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Full {
    /// It is lost.
    #[default]
    Drop,
    /// Its payload is cut off, and its header goes on (NDP, SIGCOMM 2017).
    Trim(Trim),
    /// It goes back to the host that sent it (RotorLB, SIGCOMM 2017).
    Return,
}

/// How packets are trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trim {
    /// Bytes of what is left of a packet. Packets that are no longer wait with such headers.
    pub header_bytes: u16,
    /// Bytes of headers that one queue holds.
    pub room_bytes: u64,
    /// Headers that go before a packet with payload has its turn, where both wait; zero for as many as there are.
    pub headers_per_packet: u16,
    /// A fair coin decides whether the packet that came is trimmed, or the last in the queue, whose place it takes; without, the one
    /// that came is.
    #[serde(default)]
    pub coin: bool,
    /// A header that finds no room goes back to the host that sent it; without, it is lost.
    #[serde(default)]
    pub returns: bool,
}

impl ClassOf {
    /// Lists that its packets take at a port.
    #[must_use]
    pub fn lists(&self) -> usize {
        let trims = |limit: &Limit| matches!(limit.full, Full::Trim(_));
        1 + usize::from(trims(&self.queue) || self.downlink.as_ref().is_some_and(trims))
    }

    pub(crate) fn check(&self, mtu: u16) -> Result<(), ScenarioError> {
        let name = &self.name;
        for limit in [Some(&self.queue), self.downlink.as_ref()] {
            let Some(limit) = limit else { continue };
            ensure!(
                limit.room != Some(0),
                "the queue of the class '{name}' must have room"
            );
            ensure!(
                limit.count == Count::Packets || limit.room.is_none_or(|room| room >= mtu.into()),
                "the queue of the class '{name}' has no room for a packet of {mtu} bytes"
            );
            let Full::Trim(trim) = limit.full else {
                continue;
            };
            ensure!(
                (1..=mtu).contains(&trim.header_bytes),
                "the class '{name}' cannot trim packets of {mtu} bytes to {}",
                trim.header_bytes
            );
            ensure!(
                trim.room_bytes >= trim.header_bytes.into(),
                "the class '{name}' has no room for a header"
            );
        }
        self.routing.check(name)
    }
}
