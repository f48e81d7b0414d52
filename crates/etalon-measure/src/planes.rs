//! The planes of a network, as results tell of them.

use etalon_scenario::{Network, Scenario};

/// What results say of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneFacts {
    /// What it is called: columns and rows of results have their names from it.
    pub name: &'static str,
    /// The rate at which it can serve a rack pair, in bits a second.
    pub rate_bps: u64,
    /// When it serves a pair: in the pair's days, or in all other time.
    pub in_days: bool,
}

/// The planes of a plan's network, by number.
pub(crate) fn planes(plan: &Scenario) -> Vec<PlaneFacts> {
    let facts = match &plan.network {
        Network::Rdcn(rdcn) => vec![(rdcn.packet.rate, false), (rdcn.circuit.rate, true)],
        Network::Dumbbell(dumbbell) => {
            let slowest = dumbbell.stages.iter().filter_map(|stage| stage.rate).min();
            vec![(slowest.unwrap_or(plan.hosts.rate), false)]
        }
    };
    let names = plan.network.planes().iter();
    let plane = |(&name, (rate, in_days)): (_, (etalon_units::Rate, bool))| PlaneFacts {
        name,
        rate_bps: rate.0,
        in_days,
    };
    names.zip(facts).map(plane).collect()
}
