//! What lies between hosts.

use alloc::vec::Vec;

use etalon_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::rdcn::PLANES;
use crate::{Hosts, Rdcn};

/// The network between hosts. In JSON a table with one key, the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Network {
    /// A reconfigurable network: packet network and circuit network.
    Rdcn(Rdcn),
    /// Two groups of hosts and a chain of queues between them.
    Dumbbell(Dumbbell),
}

/// Queues between two racks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dumbbell {
    /// From rack 0 to rack 1.
    pub stages: Vec<Stage>,
    /// From rack 1 to rack 0.
    pub return_stages: Vec<Stage>,
}

/// A drop-tail queue with its link, and a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Rate of the link; none for a pure delay.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// Packets that fit, the one in transmission included; none for no bound.
    pub queue_packets: Option<u32>,
    /// Delay behind the link.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
}

impl Network {
    /// Names of its planes, by number: where packets go side by side.
    #[must_use]
    pub fn planes(&self) -> &'static [&'static str] {
        match self {
            Network::Rdcn(_) => &PLANES,
            Network::Dumbbell(_) => &PLANES[..1],
        }
    }

    pub(crate) fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        match self {
            Network::Rdcn(rdcn) => rdcn.check(hosts.racks).map_err(ScenarioError::new),
            Network::Dumbbell(dumbbell) => dumbbell.check(hosts),
        }
    }
}

impl Dumbbell {
    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        ensure!(
            hosts.racks == 2,
            "a dumbbell has 2 racks, not {}",
            hosts.racks
        );
        ensure!(
            !self.stages.is_empty() && !self.return_stages.is_empty(),
            "a dumbbell needs at least one stage in each direction"
        );
        let mut stages = self.stages.iter().chain(&self.return_stages);
        ensure!(
            stages.all(|stage| stage.rate != Some(Rate(0))),
            "the rate of a stage must be positive"
        );
        Ok(())
    }
}
