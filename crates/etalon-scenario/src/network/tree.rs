//! A tree of switches: racks in pods, pods below a core.

use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::network::{Distance, NetworkKind};
use crate::rdcn::PLANES;
use crate::{Hosts, Pair, PlaneFacts, Ways};

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

/// The links of a layer, each direction alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layer {
    /// Rate.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Packets that fit into the queue of a port, the one in transmission included.
    pub queue_packets: u32,
    /// A packet is marked CE if, with it, the queue is longer than this.
    #[serde(default)]
    pub mark_above_packets: Option<u32>,
}

/// A link that is down for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The lower end: a ToR switch by its rack, or an aggregation switch, numbered behind these pod by pod.
    pub below: u16,
    /// The upper end, numbered so; core switches come behind aggregation switches.
    pub above: u16,
    /// When it goes down.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// When it comes up again; none for never.
    #[serde(default, rename = "to_ns")]
    pub to: Option<Time>,
}

impl Tree {
    fn check_failure(&self, index: usize, hosts: &Hosts) -> Result<(), ScenarioError> {
        let Failure {
            below,
            above,
            from,
            to,
        } = self.failures[index];
        let first_core = hosts.racks + self.pods * self.aggregation_switches;
        let pod_of_rack = below / self.racks_per_pod(hosts);
        let exists = if below < hosts.racks {
            above >= hosts.racks
                && above < first_core
                && (above - hosts.racks) / self.aggregation_switches == pod_of_rack
        } else {
            below < first_core && above >= first_core && above - first_core < self.core_switches
        };
        ensure!(exists, "failure {index}: there is no such link");
        ensure!(
            to.is_none_or(|to| from < to),
            "failure {index}: the link must go down before it comes up"
        );
        Ok(())
    }

    /// Racks of a pod.
    #[must_use]
    pub fn racks_per_pod(&self, hosts: &Hosts) -> u16 {
        hosts.racks / self.pods.max(1)
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
        for (name, layer) in [
            ("rack", &self.rack),
            ("pod", &self.pod),
            ("core", &self.core),
        ] {
            ensure!(
                layer.rate > Rate(0) && layer.queue_packets > 0,
                "the rate and the queue of the layer '{name}' must be positive"
            );
        }
        let switches = u64::from(hosts.racks)
            + u64::from(self.pods) * u64::from(self.aggregation_switches)
            + u64::from(self.core_switches);
        ensure!(
            switches + u64::from(hosts.count()) <= u64::from(u16::MAX),
            "there are numbers for 65535 switches and hosts, not for {switches} and {}",
            hosts.count()
        );
        ensure!(
            hosts.downlink_queue.is_none(),
            "a tree's queues to hosts are those of its layer 'rack'"
        );
        (0..self.failures.len()).try_for_each(|index| self.check_failure(index, hosts))
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
            ways: Ways::Distances(self.racks_per_pod(hosts), ways),
            in_days: false,
        }]
    }
}
