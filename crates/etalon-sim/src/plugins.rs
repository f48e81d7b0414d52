//! What a user wrote, in whatever language, and lends to a run.

use etalon_schedule::Scheduler;

use crate::generators::Generators;

/// Parts of an experiment that its plan only names: whoever runs it has them.
#[derive(Default)]
pub struct Plugins {
    /// What computes weeks, if the plan's scheduler [is a user's](etalon_schedule::is_of_user).
    pub scheduler: Option<Box<dyn Scheduler + Send>>,
    /// What makes the flows of the plan's generators.
    pub generators: Option<Box<dyn Generators + Send>>,
}
