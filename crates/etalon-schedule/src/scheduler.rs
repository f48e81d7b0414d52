// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trait that all schedulers share.

use core::fmt;

use etalon_switch::{Schedule, ScheduleError};
use etalon_units::{Span, Time};

use crate::demand::Demand;
use crate::params::Params;

/// Computes circuit schedules from demand.
///
/// The same scheduler, fed the same sequence of demands, gives the same sequence of schedules: what randomness it uses
/// is a seeded stream of its own.
pub trait Scheduler {
    /// The demand of the next [`schedule`](Scheduler::schedule) was looked at at `now`. Most schedulers need no clock.
    fn look_at(&mut self, now: Time) {
        let _ = now;
    }

    /// The week to run for this demand.
    ///
    /// Its days and nights sum to the window of `params` exactly and no day is below the minimum; only the fixed
    /// schedule and a user's function keep their own times.
    ///
    /// # Errors
    /// [`CannotSchedule`], only by schedulers that follow a rule, a file or a user's function instead of demand alone.
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule>;
}

/// Why a scheduler has no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotSchedule {
    /// The fixed schedule is for another number of racks.
    RacksDiffer {
        /// Racks of the schedule.
        schedule: u16,
        /// Racks of the demand matrix.
        demand: u16,
    },
    /// The window has no room for all days of the rule.
    TooManyDays {
        /// Days that the rule needs.
        days: u64,
        /// The window that they need, with their nights.
        needed: Span,
        /// The window there is.
        window: Span,
    },
    /// A user's function failed, or its answer is no week; whoever called it can tell why.
    Failed,
    /// What was put together is not a schedule.
    Invalid(ScheduleError),
}

impl fmt::Display for CannotSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotSchedule::RacksDiffer { schedule, demand } => write!(
                f,
                "the fixed schedule is for {schedule} racks, but demand is from {demand}"
            ),
            CannotSchedule::TooManyDays {
                days,
                needed,
                window,
            } => write!(
                f,
                "{days} days and nights need a window of {needed}, which is longer than {window}"
            ),
            CannotSchedule::Failed => f.write_str("the function of the user failed"),
            CannotSchedule::Invalid(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CannotSchedule {}

impl From<ScheduleError> for CannotSchedule {
    fn from(error: ScheduleError) -> CannotSchedule {
        CannotSchedule::Invalid(error)
    }
}
