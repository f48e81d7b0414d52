// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user wrote, in whatever language, and lends to a run.

use etalon_jobs::Generators;
use etalon_schedule::{Scheduler, is_of_user};
use etalon_tcp::cc;

/// Makes a congestion control of the user's, by its name in the plan, with its parameters. The error is a sentence.
pub type MakeControl = Box<dyn Fn(&str, &[(&str, f64)]) -> Result<cc::Any, String> + Send>;

/// Parts of an experiment that its plan only names: whoever runs it has them.
#[derive(Default)]
pub struct Plugins {
    /// What computes weeks, if the plan's scheduler [is a user's](etalon_schedule::is_of_user).
    pub scheduler: Option<Box<dyn Scheduler + Send>>,
    /// What makes the flows of the plan's generators.
    pub generators: Option<Box<dyn Generators + Send>>,
    /// What makes congestion controls that are not this project's.
    pub controls: Option<MakeControl>,
}

impl Plugins {
    /// What computes weeks, which the net wants, and what is for hosts.
    pub(crate) fn split(mut self) -> (Option<Box<dyn Scheduler + Send>>, Plugins) {
        (self.scheduler.take(), self)
    }
}

/// The congestion control of this name: the user's, if [it is one's](is_of_user), or one of the registry.
pub(crate) fn control(
    users: Option<&MakeControl>,
    name: &str,
    params: &[(&str, f64)],
) -> Result<cc::Any, String> {
    match users {
        Some(make) if is_of_user(name) => make(name, params),
        _ => cc::Any::by_name(name, params).map_err(|e| e.to_string()),
    }
}
