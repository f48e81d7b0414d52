// SPDX-License-Identifier: MIT OR Apache-2.0
//! How packets find their way through a network of circuits.

use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::rotorlb::Offers;

/// How the packets of a class find their way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Routing {
    /// They wait at their source for a circuit to their destination.
    Direct,
    /// The same, and hosts send only while there is one; what still waits when it goes is back at its host at once (RotorLB, SIGCOMM 2017).
    RotorLb(Offers),
    /// The first hop is over any circuit that is up, the second is direct (Valiant load balancing; RotorNet, SIGCOMM 2017).
    Vlb,
    /// Over several hops within one slice, not over a circuit that is about to go (Opera, NSDI 2020).
    Expander(Paths),
    /// The same, over all circuits of the slice.
    Ksp(Paths),
    /// Over the fewest circuits of those that are up, from rack to rack; where there is no way, packets wait for a circuit to their
    /// destination.
    Shortest,
    /// Whatever arrives first, waiting included: the shortest way through the time-expanded graph.
    Earliest(Earliest),
    /// Ways of the least uniform cost, by bytes sent (UCMP, SIGCOMM 2024).
    Ucmp(Ucmp),
    /// Over the packet network.
    Packet,
    /// As a table says.
    Table(alloc::vec::Vec<Entry>),
}

/// The shortest paths between two racks, of which a packet takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Paths {
    /// So many at most.
    pub paths: u8,
    /// Only those that are as short as the shortest.
    #[serde(default)]
    pub equal: bool,
    /// Each packet takes another, not each flow.
    #[serde(default)]
    pub spray: bool,
}

/// How far packets go within a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Earliest {
    /// Hops within one slice on which each rack counts.
    pub hops_per_slice: u8,
}

/// What a way costs: the time that it takes, and for each hop a share of a flow's transmission time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ucmp {
    /// The share, in thousandths (alpha).
    pub alpha_milli: u32,
    /// Hops at most.
    pub hops: u8,
    /// Hops within one slice on which each rack counts.
    pub hops_per_slice: u8,
}

/// An entry of a time-flow table: what a rack does with packets for another that come in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The rack.
    pub here: u16,
    /// The slice in which they come.
    pub arrival: u32,
    /// Where they go.
    pub destination: u16,
    /// The rack that is next.
    pub next: u16,
    /// The uplink that leads there.
    pub uplink: u8,
    /// The slice in which they leave.
    pub departure: u32,
}

/// Paths between two racks at most.
pub const MOST_PATHS: u8 = 64;

impl Routing {
    /// Whether the packets of a flow are to have labels of their own, so that they spread over all ways.
    #[must_use]
    pub const fn sprays(&self) -> bool {
        matches!(self, Routing::Expander(paths) | Routing::Ksp(paths) if paths.spray)
    }

    pub(crate) fn check(&self, class: &str) -> Result<(), ScenarioError> {
        match self {
            Routing::Expander(paths) | Routing::Ksp(paths) => ensure!(
                (1..=MOST_PATHS).contains(&paths.paths),
                "the class '{class}' cannot take {} paths, but 1 to {MOST_PATHS}",
                paths.paths
            ),
            Routing::Earliest(Earliest { hops_per_slice })
            | Routing::Ucmp(Ucmp { hops_per_slice, .. })
                if *hops_per_slice == 0 =>
            {
                return Err(ScenarioError::new(format_args!(
                    "packets of the class '{class}' must go one hop in a slice at least"
                )));
            }
            Routing::Ucmp(ucmp) => ensure!(
                ucmp.hops > 0,
                "packets of the class '{class}' must go one hop at least"
            ),
            _ => {}
        }
        Ok(())
    }
}
