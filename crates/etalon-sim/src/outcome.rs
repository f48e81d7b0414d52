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
        let shown = (0..self.flows.len() as u32).filter(|&flow| !self.flows.joins_another(flow));
        shown
            .map(|flow| match self.groups.of_first(flow) {
                Some(group) => group.facts(&self.flows),
                None => self.flows.facts(flow as usize),
            })
            .collect()
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
    pub(crate) fn into_what_is_left(mut self) -> (Meter, Vec<Flow>, T) {
        self.meter.leave_out(self.flows.joins());
        (self.meter, self.flows.into_opened(), self.tap)
    }
}
