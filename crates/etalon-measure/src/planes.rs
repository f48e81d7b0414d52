//! The planes of a plan's network, as results tell of them.

use etalon_switch::PLANES;

use crate::plan::NetworkPlan;

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

/// The planes of `network`, by number.
pub(crate) fn planes(network: &NetworkPlan) -> Vec<PlaneFacts> {
    match network {
        NetworkPlan::Rdcn(network) => {
            let [packet, circuit] = PLANES;
            vec![
                PlaneFacts {
                    name: packet,
                    rate_bps: network.packet.rate_bps,
                    in_days: false,
                },
                PlaneFacts {
                    name: circuit,
                    rate_bps: network.circuit.rate_bps,
                    in_days: true,
                },
            ]
        }
        NetworkPlan::Dumbbell(network) => {
            let slowest = network.stages.iter().filter_map(|s| s.rate_bps).min();
            vec![PlaneFacts {
                name: PLANES[0],
                rate_bps: slowest.unwrap_or(network.host.rate_bps),
                in_days: false,
            }]
        }
    }
}
