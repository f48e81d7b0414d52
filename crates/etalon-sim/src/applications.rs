// SPDX-License-Identifier: MIT OR Apache-2.0
//! What begins flows while a run lasts: jobs, and generators of the user's.

use etalon_jobs::Generators;
use etalon_scenario::{Scenario, ScenarioError};

use crate::generators::Generated;
use crate::jobs::Jobs;

/// The applications of a run.
pub(crate) struct Applications {
    /// Apart while they are at work.
    pub(crate) jobs: Option<Box<Jobs>>,
    /// Workloads that functions of the user's make; apart while they are at work.
    pub(crate) generated: Option<Box<Generated>>,
    /// Jobs that write to HDFS: generators are numbered after these.
    pub(crate) dfsio: usize,
}

impl Applications {
    /// Those of a plan. `made` makes the flows of its generators.
    pub(crate) fn new(
        plan: &Scenario,
        made: Option<Box<dyn Generators + Send>>,
    ) -> Result<Applications, ScenarioError> {
        Ok(Applications {
            jobs: Some(Box::new(Jobs::new(plan)?)),
            generated: Generated::new(&plan.generators, made)?,
            dfsio: plan.dfsio.len(),
        })
    }

    /// Whether none of them begins another flow.
    pub(crate) fn are_done(&self) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.is_done())
            && self.generated.as_deref().is_none_or(Generated::is_done)
    }
}
