//! The planes of a network, as results tell of them.

use etalon_events::Pair;
use etalon_scenario::{Network, Scenario, Stage};
use etalon_units::{Rate, Span};

/// What results say of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneFacts {
    /// What it is called: columns and rows of results have their names from it.
    pub name: &'static str,
    /// The rate at which it can serve a rack pair.
    rate: Rate,
    /// The same for pairs from a higher rack to a lower one: in a dumbbell, the way back.
    rate_back: Rate,
    /// In a dumbbell, whose queues are not watched: how long packets are under way behind the slowest stage, forth and back.
    behind: [Span; 2],
    /// When it serves a pair: in the pair's days, or in all other time.
    pub in_days: bool,
}

impl PlaneFacts {
    /// The rate at which it can serve this rack pair.
    pub(crate) fn rate(&self, pair: Pair) -> Rate {
        if pair.src > pair.dst {
            self.rate_back
        } else {
            self.rate
        }
    }

    /// How long a packet of this pair is under way without being watched.
    pub(crate) fn behind(&self, pair: Pair) -> Span {
        self.behind[usize::from(pair.src > pair.dst)]
    }
}

/// The planes of a plan's network, by number.
pub(crate) fn planes(plan: &Scenario) -> Vec<PlaneFacts> {
    let facts = match &plan.network {
        Network::Rdcn(rdcn) => {
            let (packet, circuit) = (rdcn.packet.rate, rdcn.circuit.rate);
            let watched = [Span::ZERO; 2];
            vec![([packet; 2], watched, false), ([circuit; 2], watched, true)]
        }
        Network::Dumbbell(dumbbell) => {
            let hosts = Rate(plan.hosts.rate.0 * u64::from(plan.hosts.per_rack));
            let slowest = |stages: &[Stage]| stages.iter().filter_map(|stage| stage.rate).min();
            let rate = |stages: &[Stage]| slowest(stages).unwrap_or(hosts);
            let both = [rate(&dumbbell.stages), rate(&dumbbell.return_stages)];
            let behind = [&dumbbell.stages, &dumbbell.return_stages].map(|way| behind(way));
            vec![(both, behind, false)]
        }
    };
    let names = plan.network.planes().iter();
    let plane = |(&name, facts): (_, ([Rate; 2], [Span; 2], bool))| {
        let ([rate, rate_back], behind, in_days) = facts;
        PlaneFacts {
            name,
            rate,
            rate_back,
            behind,
            in_days,
        }
    };
    names.zip(facts).map(plane).collect()
}

/// The delays from the slowest stage on.
fn behind(stages: &[Stage]) -> Span {
    let limited = stages
        .iter()
        .enumerate()
        .filter(|(_, stage)| stage.rate.is_some());
    let slowest = limited.min_by_key(|(_, stage)| stage.rate);
    let first = slowest.map_or(0, |(index, _)| index);
    stages[first..]
        .iter()
        .fold(Span::ZERO, |sum, stage| sum + stage.delay)
}
