// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks that are made of switches, links and next hops.

use core::fmt::Debug;

use etalon_scenario::{LeafSpine, Node, Scenario, Tree};
use etalon_switch::ConfigError;
use etalon_units::Time;

use crate::fabric::{Delay, Fabric, Failure};
use crate::network::Described;

/// Makes a [`Fabric`] of kinds that have a topology, delays in queues or on wires, and failures.
macro_rules! switched {
    ($($Kind:ident,)*) => {
        $(impl Described for $Kind {
            type Network<H: Copy + Debug> = Fabric<H>;

            fn network<H: Copy + Debug>(
                &self,
                scenario: &Scenario,
            ) -> Result<Fabric<H>, ConfigError> {
                let delay = match self.delay_in_queue {
                    true => Delay::InQueue,
                    false => Delay::OnWire,
                };
                let failures = self.failures.iter().map(|failure| Failure {
                    one: Node::Switch(failure.below),
                    other: Node::Switch(failure.above),
                    from: failure.from,
                    to: failure.to.unwrap_or(Time::MAX),
                    reroute: self.reroute,
                });
                let topology = self.topology(&scenario.hosts);
                Ok(Fabric::new(topology, delay, failures.collect(), scenario.seed))
            }
        })*
    };
}

switched! {
    Tree,
    LeafSpine,
}
