// SPDX-License-Identifier: MIT OR Apache-2.0
//! A leaf-spine network: every ToR switch is a leaf below every spine.

use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::network::failure::check_failures;
use crate::network::layer::check_size;
use crate::network::{Failure, Layer, NetworkKind};
use crate::rdcn::PLANES;
use crate::{Bottlenecks, Hosts, Place, PlaneFacts, PortFacts, Topology};

/// Racks whose ToR switches, the leaves, are each connected with each spine: a folded Clos network of two stages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeafSpine {
    /// Number of spines.
    pub spines: u16,
    /// Between hosts and leaves.
    pub rack: Layer,
    /// Between leaves and spines.
    pub spine: Layer,
    /// Packets are delayed in queues, and count there, not behind them; hosts have such queues too.
    #[serde(default)]
    pub delay_in_queue: bool,
    /// How long switches take to choose other ways when a link goes down or comes up.
    #[serde(default, rename = "reroute_ns")]
    pub reroute: Span,
    /// Links that are down for a time.
    #[serde(default)]
    pub failures: Vec<Failure>,
}

impl LeafSpine {
    /// Its switches and links. After the leaves come the spines.
    #[must_use]
    pub fn topology(&self, hosts: &Hosts) -> Topology {
        let mut topology = Topology::new(*hosts, self.rack.link(), self.delay_in_queue);
        for number in 0..self.spines {
            let spine = topology.add_switch(Place::Spine(number));
            for leaf in 0..hosts.racks {
                topology.connect(leaf, spine, self.spine.link());
            }
        }
        topology
    }
}

impl NetworkKind for LeafSpine {
    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        ensure!(
            hosts.racks == 1 || self.spines > 0,
            "leaves need at least one spine between them"
        );
        self.rack.check("rack")?;
        self.spine.check("spine")?;
        check_size(hosts, u64::from(hosts.racks) + u64::from(self.spines))?;
        check_failures(&self.failures, || self.topology(hosts))
    }

    /// Up to a spine, down to a leaf, down to the host.
    fn telemetry_hops(&self, _hosts: &Hosts) -> u32 {
        3
    }

    fn planes(&self, hosts: &Hosts) -> Vec<PlaneFacts> {
        let times = |rate: Rate, n: u16| Rate(rate.0.saturating_mul(n.into()));
        // What the hosts of a rack can send to hosts of the same and of others, and how long that is under way.
        let rack = times(self.rack.rate, hosts.per_rack);
        let spine = rack.min(times(self.spine.rate, self.spines));
        let within = self.rack.delay;
        let across = within + self.spine.delay + self.spine.delay;
        let ways = [(rack, within), (spine, across), (spine, across)];
        vec![PlaneFacts {
            name: PLANES[0],
            bottlenecks: Bottlenecks::Distances(hosts.racks, ways),
            in_days: false,
        }]
    }

    fn ports(&self, hosts: &Hosts) -> Vec<PortFacts> {
        self.topology(hosts).into_facts()
    }
}
