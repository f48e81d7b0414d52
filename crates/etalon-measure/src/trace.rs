//! What a trace is of. An experiment runs again, and what happens in a part of it is written down: a trace costs memory, a
//! run does not.

use std::fmt;
use std::io;
use std::path::PathBuf;

use etalon_units::Time;

use crate::{Plan, PlanError};

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
    pub fn shorten(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        plan.duration_ns = plan.duration_ns.min(self.end.0).max(1);
        plan.warmup_ns = plan.warmup_ns.min(plan.duration_ns - 1);
        plan
    }
}

/// Why there is no trace.
#[derive(Debug)]
pub enum TraceError {
    /// The plan cannot be run.
    Plan(PlanError),
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
