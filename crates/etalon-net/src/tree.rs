//! A tree, made of switches.

use alloc::vec::Vec;
use core::fmt::Debug;

use etalon_scenario::{Hosts, Layer, Scenario, Tree};
use etalon_switch::ConfigError;
use etalon_units::Time;

use crate::fabric::{Delay, Fabric, Failure, Link, Node, Topology};
use crate::network::Described;

impl Described for Tree {
    type Network<H: Copy + Debug> = Fabric<H>;

    fn network<H: Copy + Debug>(&self, scenario: &Scenario) -> Result<Fabric<H>, ConfigError> {
        let delay = match self.delay_in_queue {
            true => Delay::InQueue,
            false => Delay::OnWire,
        };
        let topology = topology(self, scenario.hosts);
        let failures = self.failures.iter().map(|failure| Failure {
            one: Node::Switch(failure.below),
            other: Node::Switch(failure.above),
            from: failure.from,
            to: failure.to.unwrap_or(Time::MAX),
            reroute: self.reroute,
        });
        Ok(Fabric::new(
            topology,
            delay,
            failures.collect(),
            scenario.seed,
        ))
    }
}

/// After the ToR switches come the aggregation switches, pod by pod, and the core switches.
fn topology(tree: &Tree, hosts: Hosts) -> Topology {
    let mut topology = Topology::new(hosts, link(tree.rack), tree.delay_in_queue);
    let racks = tree.racks_per_pod(&hosts);
    let mut aggregation = Vec::new();
    for pod in 0..tree.pods {
        for _ in 0..tree.aggregation_switches {
            let switch = topology.add_switch();
            for rack in pod * racks..(pod + 1) * racks {
                topology.connect(rack, switch, link(tree.pod));
            }
            aggregation.push(switch);
        }
    }
    for _ in 0..tree.core_switches {
        let core = topology.add_switch();
        for &switch in &aggregation {
            topology.connect(switch, core, link(tree.core));
        }
    }
    topology
}

fn link(layer: Layer) -> Link {
    Link {
        rate: layer.rate,
        delay: layer.delay,
        queue: layer.queue_packets,
        mark_above: layer.mark_above_packets,
    }
}
