// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which circuits exist when: weeks that are given, or computed from demand.

use alloc::string::String;
use alloc::vec::Vec;
use core::iter;

use etalon_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};

use crate::{Asked, Schedule};

/// The weeks of a circuit network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weeks {
    /// The week that repeats; where weeks are computed, the first one.
    #[serde(rename = "configurations")]
    pub first: Schedule,
    /// How the weeks after the first are computed; none if they are all the same.
    #[serde(default)]
    pub control: Option<Control>,
    /// Weeks that are not computed, but change, in order of time.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Instead of weeks: circuits are those of the first day, until jobs ask for others.
    #[serde(default)]
    pub asked: Option<Asked>,
}

/// Another week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// It begins as the first week ends that does not end before this time.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// The week that repeats from then on.
    #[serde(rename = "configurations")]
    pub week: Schedule,
}

impl Weeks {
    /// All weeks that are given.
    pub fn given(&self) -> impl Iterator<Item = &Schedule> {
        iter::once(&self.first).chain(self.changes.iter().map(|change| &change.week))
    }
}

/// How weeks are computed from demand (Etalon'18, section 2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Control {
    /// The scheduler by name.
    pub scheduler: String,
    /// Where demand is known from.
    pub estimator: Estimator,
    /// Length of a week.
    #[serde(rename = "window_ns")]
    pub window: Span,
    /// Shortest day.
    #[serde(rename = "min_day_ns")]
    pub min_day: Span,
    /// The time after each day in which circuits are rearranged.
    #[serde(rename = "night_ns")]
    pub night: Span,
    /// Demand below this is small.
    #[serde(rename = "threshold_bytes")]
    pub threshold: Bytes,
    /// Small demand is always left to the packet network, not only where there is big demand.
    pub only_big: bool,
    /// The time that a computation takes.
    #[serde(rename = "compute_ns")]
    pub compute: Span,
    /// Between the starts of computations at least; zero for the next as soon as the last is done.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
}

/// Where demand is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Estimator {
    /// Bytes in each VOQ.
    Voq,
    /// What applications handed to their stacks, less what left the VOQs (Etalon'18, section 5.2).
    Adu {
        /// The time that announcements of hosts take to the estimator.
        #[serde(rename = "report_ns")]
        report: Span,
    },
    /// What applications handed to their stacks, less what left the network, known at once.
    Oracle,
}
