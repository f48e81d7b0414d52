// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured beyond the usual.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use etalon_units::Span;

use crate::{Network, Pair, Scenario};

/// The most flows whose senders are followed over time.
pub const MOST_FOLLOWED: usize = 1000;

/// The most intervals in which the use of links is looked at.
const MOST_INTERVALS: u64 = 1 << 20;

/// What is measured beyond the usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// The rack pair of sequence graph and day statistics.
    pub pair: Pair,
    /// Length in weeks of one run of the sequence graph.
    pub weeks_per_run: u32,
    /// Numbers of the flows whose senders' state is followed over time, in ascending order.
    #[serde(default)]
    pub flows: Vec<u32>,
    /// Whether the order is looked at in which data of the pair's flows leaves the network.
    #[serde(default)]
    pub reordering: bool,
    /// Whether every egress port is looked at.
    #[serde(default)]
    pub ports: bool,
    /// Length of the intervals in which the use of a network of circuits is looked at; none if it is not.
    #[serde(default, rename = "links_ns")]
    pub links: Option<Span>,
}

impl Measure {
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let Pair { src, dst } = self.pair;
        let racks = scenario.hosts.racks;
        ensure!(
            src < racks && dst < racks,
            "measure.pair: there is no rack pair {src} -> {dst}, only racks 0 to {}",
            racks - 1
        );
        let (weeks, week) = (self.weeks_per_run, scenario.first_week().week());
        ensure!(weeks > 0, "measure.weeks_per_run must be at least 1");
        ensure!(
            week.0.checked_mul(weeks.into()).is_some(),
            "measure.weeks_per_run: {weeks} weeks of {week} are too long"
        );
        ensure!(
            !self.ports || !scenario.network.kind().has_voqs(),
            "measure.ports: this network's queues are those of rack pairs"
        );
        if let Some(interval) = self.links {
            ensure!(
                matches!(scenario.network, Network::Ocs(_)),
                "measure.links: only in networks of circuits can links be followed over time"
            );
            let time = scenario.end().saturating_since(scenario.begin());
            ensure!(
                interval.0 > 0 && time.0 / interval.0 < MOST_INTERVALS,
                "measure.links: the run has at most {MOST_INTERVALS} intervals of at least 1 ns"
            );
        }
        self.check_flows(scenario.flows.len())
    }

    /// Whether a flow's sender is followed.
    #[must_use]
    pub fn follows(&self, flow: u32) -> bool {
        self.flows.binary_search(&flow).is_ok()
    }

    fn check_flows(&self, count: usize) -> Result<(), ScenarioError> {
        let flows = &self.flows;
        ensure!(
            flows.len() <= MOST_FOLLOWED,
            "measure.flows: at most {MOST_FOLLOWED} flows can be followed, not {}",
            flows.len()
        );
        ensure!(
            flows.is_sorted_by(|a, b| a < b),
            "measure.flows must be in ascending order, each once"
        );
        if let Some(&last) = flows.last() {
            ensure!(
                (last as usize) < count,
                "measure.flows: there is no flow {last}, only {count} from 0 on"
            );
        }
        Ok(())
    }
}
