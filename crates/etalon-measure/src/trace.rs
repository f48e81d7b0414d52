// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a trace is of. An experiment runs again, and what happens in a part of it is written down: a trace costs memory, a
//! run does not.

use std::fmt;
use std::io;
use std::path::PathBuf;

use etalon_scenario::{Scenario, ScenarioError};
use etalon_units::Time;

/// What to trace.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// Where the trace starts.
    pub start: Time,
    /// Where it ends, and the run with it.
    pub end: Time,
    /// A packet capture to write: one interface for each rack and direction, one for drops.
    pub pcapng: Option<PathBuf>,
}

impl TraceRequest {
    /// The part of the run that is traced.
    #[must_use]
    pub fn window(&self) -> Window {
        Window {
            start: self.start,
            end: self.end,
        }
    }

    /// `plan` up to the trace's end.
    #[must_use]
    pub fn shorten(&self, plan: &Scenario) -> Scenario {
        let mut plan = plan.clone();
        plan.duration.0 = plan.duration.0.min(self.end.0).max(1);
        plan.warmup.0 = plan.warmup.0.min(plan.duration.0 - 1);
        plan
    }
}

/// Why there is no trace.
#[derive(Debug)]
pub enum TraceError {
    /// The plan cannot be run.
    Plan(ScenarioError),
    /// The capture could not be written.
    Io(io::Error),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Plan(e) => e.fmt(f),
            TraceError::Io(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}

/// A part of a run: from `start` to just before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub start: Time,
    /// The first instant after it.
    pub end: Time,
}

impl Window {
    /// Whether `now` lies in it.
    #[inline]
    #[must_use]
    pub fn has(self, now: Time) -> bool {
        self.start <= now && now < self.end
    }
}
