// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run has come to: all that its tables are made of.

use etalon_jobs::JobRows;
use etalon_measure::results::Write;
use etalon_measure::{FlowFacts, Meter};
use etalon_scenario::Flow;

use crate::tap::Tap;
use crate::world::World;

impl<T: Tap> World<'_, '_, T> {
    /// What is known of each flow.
    pub(crate) fn facts(&self) -> Vec<FlowFacts> {
        if self.flows.come_and_go() {
            let open = self.flows.open_streamed().into_iter();
            return open.map(|(.., facts)| facts).collect();
        }
        let planned = self.flows.planned() as usize;
        let others = planned + self.flows.subflows();
        let shown = (0..planned).chain(others..self.flows.len());
        let mut facts: Vec<FlowFacts> = shown.map(|flow| self.flows.facts(flow)).collect();
        for group in self.groups.iter() {
            facts[group.flows[0] as usize] = group.facts(&self.flows);
        }
        facts
    }

    /// The files that jobs write.
    pub(crate) fn writes(&self) -> Vec<Write> {
        self.applications
            .jobs
            .as_ref()
            .map_or_else(Vec::new, |jobs| jobs.writes())
    }

    /// What jobs of ranks did: their iterations and steps.
    pub(crate) fn take_job_rows(&mut self) -> JobRows {
        let rows = self.applications.jobs.as_mut().map(|jobs| jobs.take_rows());
        rows.unwrap_or_default()
    }

    /// What tables are made of, which take memory by flow, as do the hosts' ends: these are no more.
    pub(crate) fn into_what_is_left(self) -> (Meter, Vec<Flow>, T) {
        (self.meter, self.flows.into_opened(), self.tap)
    }
}
