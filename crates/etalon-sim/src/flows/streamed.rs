// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that come and go, among those that are open.

use etalon_measure::FlowFacts;
use etalon_scenario::{SERVER_PORT, client_port};

use super::{Flows, NOWHERE};
use crate::coming::StreamedFlow;

impl Flows<'_> {
    /// A flow has come, which will start next.
    pub(crate) fn expect(&mut self, flow: StreamedFlow) {
        self.places.push(NOWHERE);
        if let Some(streamed) = &mut self.streamed {
            streamed.expected = Some(flow);
        }
    }

    /// The slots of flows that have ended are free for others after each was told.
    pub(crate) fn forget_ended(&mut self, mut tell: impl FnMut(usize, &StreamedFlow, FlowFacts)) {
        let Some(streamed) = &mut self.streamed else {
            return;
        };
        for (slot, facts) in streamed.ended.drain(..) {
            let flow = &streamed.there[slot as usize];
            let ports = (client_port(flow.number as usize), SERVER_PORT);
            tell(slot as usize, flow, FlowFacts { ports, ..facts });
            self.vacant.push(slot);
        }
    }

    /// Those that came and are open, with their slot and what is known of them, in the order in which they came.
    pub(crate) fn open_streamed(&self) -> Vec<(usize, &StreamedFlow, FlowFacts)> {
        let there = self
            .streamed
            .iter()
            .flat_map(|streamed| streamed.there.iter().enumerate());
        let is_open =
            |slot: usize, flow: &StreamedFlow| self.places[flow.number as usize] == slot as u32;
        let known = |(slot, flow): (usize, _)| (slot, flow, self.streamed_facts(2 * slot, flow));
        let open = there.filter(|&(slot, flow)| is_open(slot, flow));
        let mut open: Vec<_> = open.map(known).collect();
        open.sort_unstable_by_key(|(_, flow, _)| flow.number);
        open
    }

    /// Whether flows come and go.
    pub(crate) fn come_and_go(&self) -> bool {
        self.streamed.is_some()
    }

    /// Those that came leave.
    pub(crate) fn leave(&mut self) {
        self.streamed = None;
        self.places.clear();
        self.planned = 0;
    }

    fn streamed_facts(&self, first: usize, flow: &StreamedFlow) -> FlowFacts {
        let ports = (client_port(flow.number as usize), SERVER_PORT);
        FlowFacts {
            ports,
            ..self.facts_at(first)
        }
    }
}
