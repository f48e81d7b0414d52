// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links that fail.

use etalon_units::Time;
use serde::{Deserialize, Serialize};

use crate::Topology;
use crate::check::{ScenarioError, ensure};

/// A link that is down for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The lower end: a switch. ToR switches have the numbers of their racks; behind these come a tree's aggregation switches, pod by
    /// pod, and its core switches, or the spines of a leaf-spine network.
    pub below: u16,
    /// The upper end, numbered so.
    pub above: u16,
    /// When it goes down.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// When it comes up again; none for never.
    #[serde(default, rename = "to_ns")]
    pub to: Option<Time>,
}

impl Failure {
    fn end(&self) -> Time {
        self.to.unwrap_or(Time::MAX)
    }

    /// Whether one link is down twice at a time.
    fn overlaps(&self, other: &Failure) -> bool {
        (self.below, self.above) == (other.below, other.above)
            && self.from < other.end()
            && other.from < self.end()
    }
}

/// That these links are there, and go down before they come up, before they go down again.
pub(crate) fn check_failures(
    failures: &[Failure],
    topology: impl FnOnce() -> Topology,
) -> Result<(), ScenarioError> {
    if failures.is_empty() {
        return Ok(());
    }
    let topology = topology();
    for (index, failure) in failures.iter().enumerate() {
        ensure!(
            topology.joins(failure.below, failure.above),
            "failure {index}: there is no such link"
        );
        ensure!(
            failure.from < failure.end(),
            "failure {index}: the link must go down before it comes up"
        );
        let earlier = failures[..index].iter();
        ensure!(
            earlier.clone().all(|other| !failure.overlaps(other)),
            "failure {index}: the link is down then already"
        );
    }
    Ok(())
}
