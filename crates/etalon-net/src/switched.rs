//! Networks that are made of switches, links and next hops.

use core::fmt::Debug;

use etalon_scenario::{LeafSpine, Node, Scenario, Topology, Tree};
use etalon_switch::ConfigError;
use etalon_units::{Span, Time};

use crate::fabric::{Delay, Fabric, Failure};
use crate::network::Described;

impl Described for Tree {
    type Network<H: Copy + Debug> = Fabric<H>;

    fn network<H: Copy + Debug>(&self, scenario: &Scenario) -> Result<Fabric<H>, ConfigError> {
        let topology = self.topology(&scenario.hosts);
        let failing = (&self.failures[..], self.reroute);
        Ok(fabric(
            topology,
            self.delay_in_queue,
            failing,
            scenario.seed,
        ))
    }
}

impl Described for LeafSpine {
    type Network<H: Copy + Debug> = Fabric<H>;

    fn network<H: Copy + Debug>(&self, scenario: &Scenario) -> Result<Fabric<H>, ConfigError> {
        let topology = self.topology(&scenario.hosts);
        let failing = (&self.failures[..], self.reroute);
        Ok(fabric(
            topology,
            self.delay_in_queue,
            failing,
            scenario.seed,
        ))
    }
}

fn fabric<H: Copy>(
    topology: Topology,
    delay_in_queue: bool,
    (failures, reroute): (&[etalon_scenario::Failure], Span),
    seed: u64,
) -> Fabric<H> {
    let delay = match delay_in_queue {
        true => Delay::InQueue,
        false => Delay::OnWire,
    };
    let failures = failures.iter().map(|failure| Failure {
        one: Node::Switch(failure.below),
        other: Node::Switch(failure.above),
        from: failure.from,
        to: failure.to.unwrap_or(Time::MAX),
        reroute,
    });
    Fabric::new(topology, delay, failures.collect(), seed)
}
