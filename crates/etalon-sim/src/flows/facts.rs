// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of flows: their counters, windows and round trips.

use etalon_measure::{Counters, FlowFacts};
use etalon_scenario::{SERVER_PORT, client_port};

use super::{Flows, NOWHERE};

impl Flows<'_> {
    /// Counters of the flow in a slot, open or settled.
    pub(crate) fn counters_at(&self, slot: usize) -> Counters {
        self.facts_at(2 * slot).counters
    }

    /// Counters of a flow.
    pub(crate) fn counters(&self, flow: usize) -> Counters {
        self.facts(flow).counters
    }

    /// What is known of a flow.
    pub(crate) fn facts(&self, flow: usize) -> FlowFacts {
        let facts = match (&self.facts[flow], self.places[flow]) {
            (Some(facts), _) => **facts,
            (None, NOWHERE) => FlowFacts {
                cwnd: self.initial_cwnd(flow),
                ..FlowFacts::default()
            },
            (None, slot) => self.facts_at(2 * slot as usize),
        };
        let ports = (client_port(flow), SERVER_PORT);
        FlowFacts { ports, ..facts }
    }

    /// That of a flow which has not begun.
    fn initial_cwnd(&self, flow: usize) -> u32 {
        let (plan, pair) = (self.plan, self.plan(flow as u32).pair());
        let distance = plan.network.kind().distance(&plan.hosts, pair);
        plan.tcp.path(distance).initial_cwnd
    }

    pub(super) fn facts_at(&self, first: usize) -> FlowFacts {
        if let Some(Some(carrier)) = self.carriers.get(first / 2) {
            return carrier.facts();
        }
        let [client, server] = [first, first + 1].map(|i| self.endpoints[i].as_deref());
        let Some(client) = client.map(|end| &end.connection) else {
            return FlowFacts::default();
        };
        let received = server.map_or(0, |server| server.connection.bytes_received());
        let (stats, path) = (client.stats(), client.path());
        let window = path.window();
        FlowFacts {
            counters: Counters {
                received,
                retransmits: stats.retransmits,
                rtos: stats.rtos.into(),
                tlps: stats.tlps.into(),
                recoveries: stats.recoveries.into(),
                undos: stats.undos.into(),
            },
            cwnd: window.cwnd,
            ssthresh: (window.ssthresh != u32::MAX).then_some(window.ssthresh),
            srtt_ns: path.srtt() / self.plan.tdf,
            ..FlowFacts::default()
        }
    }
}
