// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree of switches: racks in pods, pods below a core.

use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::network::failure::check_failures;
use crate::network::layer::check_size;
use crate::network::{Distance, Failure, Layer, NetworkKind};
use crate::rdcn::PLANES;
use crate::{Bottlenecks, Hosts, Pair, Place, PlaneFacts, PortFacts, Topology};

/// Racks in pods, below a core. Each switch of a layer is connected with each of the next in its pod, or with each of the core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tree {
    /// Number of pods, among which the racks are divided in order.
    pub pods: u16,
    /// Aggregation switches of each pod.
    pub aggregation_switches: u16,
    /// Core switches.
    pub core_switches: u16,
    /// Between hosts and ToR switches.
    pub rack: Layer,
    /// Between ToR and aggregation switches.
    pub pod: Layer,
    /// Between aggregation and core switches.
    pub core: Layer,
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

impl Tree {
    /// Racks of a pod.
    #[must_use]
    pub fn racks_per_pod(&self, hosts: &Hosts) -> u16 {
        hosts.racks / self.pods.max(1)
    }

    /// Its switches and links. After the ToR switches come the aggregation switches, pod by pod, and the core switches.
    #[must_use]
    pub fn topology(&self, hosts: &Hosts) -> Topology {
        let mut topology = Topology::new(*hosts, self.rack.link(), self.delay_in_queue);
        let racks = self.racks_per_pod(hosts);
        let mut aggregation = Vec::new();
        for pod in 0..self.pods {
            for number in 0..self.aggregation_switches {
                let switch = topology.add_switch(Place::Aggregation(pod, number));
                for rack in pod * racks..(pod + 1) * racks {
                    topology.connect(rack, switch, self.pod.link());
                }
                aggregation.push(switch);
            }
        }
        for number in 0..self.core_switches {
            let core = topology.add_switch(Place::Core(number));
            for &switch in &aggregation {
                topology.connect(switch, core, self.core.link());
            }
        }
        topology
    }
}

impl NetworkKind for Tree {
    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        ensure!(
            self.pods > 0 && hosts.racks.is_multiple_of(self.pods),
            "{} racks cannot be divided among {} pods",
            hosts.racks,
            self.pods
        );
        ensure!(
            self.racks_per_pod(hosts) == 1 && self.pods == 1 || self.aggregation_switches > 0,
            "racks need at least one aggregation switch between them"
        );
        ensure!(
            self.pods == 1 || self.core_switches > 0,
            "pods need at least one core switch between them"
        );
        self.rack.check("rack")?;
        self.pod.check("pod")?;
        self.core.check("core")?;
        let switches = u64::from(hosts.racks)
            + u64::from(self.pods) * u64::from(self.aggregation_switches)
            + u64::from(self.core_switches);
        check_size(hosts, switches)?;
        check_failures(&self.failures, || self.topology(hosts))
    }

    fn distance(&self, hosts: &Hosts, Pair { src, dst }: Pair) -> Distance {
        let racks = self.racks_per_pod(hosts).max(1);
        match (src == dst, src / racks == dst / racks) {
            (true, _) => Distance::Rack,
            (_, true) => Distance::Pod,
            _ => Distance::Core,
        }
    }

    fn planes(&self, hosts: &Hosts) -> Vec<PlaneFacts> {
        let times = |rate: Rate, n: u16| Rate(rate.0.saturating_mul(n.into()));
        // What the hosts of a rack can send to hosts so far away, and how long that is under way.
        let rack = times(self.rack.rate, hosts.per_rack);
        let pod = rack.min(times(self.pod.rate, self.aggregation_switches));
        let links = times(self.core.rate, self.aggregation_switches);
        let core = pod.min(times(links, self.core_switches));
        let [up, across] = [self.pod.delay, self.core.delay].map(|delay| delay + delay);
        let within = self.rack.delay;
        let ways = [
            (rack, within),
            (pod, within + up),
            (core, within + up + across),
        ];
        vec![PlaneFacts {
            name: PLANES[0],
            bottlenecks: Bottlenecks::Distances(self.racks_per_pod(hosts), ways),
            in_days: false,
        }]
    }

    fn ports(&self, hosts: &Hosts) -> Vec<PortFacts> {
        self.topology(hosts).into_facts()
    }
}
