// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a run while it lasts, for whoever watches it.

use etalon_scenario::Scenario;
use etalon_units::Time;

use crate::{FlowFacts, Meter, Metrics};

/// Of the measured time so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// Where the run is, in virtual time.
    pub now: Time,
    /// Share of the capacity of each plane that carried payload of the measured pair, 0 to 1, by the plane's name.
    pub utilization: Vec<(String, f64)>,
    /// Packets in the measured pair's VOQ at this instant.
    pub voq: u32,
    /// Packets dropped in the network, all pairs.
    pub drops: u64,
    /// Segments sent again, all flows, since the run began.
    pub retransmits: u64,
}

impl Live {
    /// What the metrics and the meter of a run have seen up to `now`.
    #[must_use]
    #[cold]
    #[inline(never)] // what nobody watches pays nothing for it
    pub fn of(
        plan: &Scenario,
        now: Time,
        metrics: &Metrics,
        meter: &Meter,
        flows: &[FlowFacts],
    ) -> Live {
        let pair = plan.measure.pair;
        let facts = metrics.planes();
        let payload = meter.payload();
        let at = (usize::from(pair.src) * usize::from(plan.hosts.racks) + usize::from(pair.dst))
            * facts.len();
        let utilization = facts.iter().enumerate().map(|(plane, facts)| {
            let capacity = metrics.pair(pair).map_or(0, |seen| {
                let mut service = seen.services[plane];
                service.finish(now);
                service.capacity(facts.rate(pair), facts.behind(pair))
            });
            let share = payload[at + plane] as f64 / capacity.max(1) as f64;
            (facts.name.to_string(), share.min(1.0))
        });
        let ended = meter.ended.as_ref().map_or(0, |ended| ended.retransmits);
        let open: u64 = flows.iter().map(|flow| flow.counters.retransmits).sum();
        Live {
            now,
            utilization: utilization.collect(),
            voq: metrics.pair(pair).map_or(0, |seen| seen.voq()),
            drops: metrics.drops(),
            retransmits: ended + open,
        }
    }
}
