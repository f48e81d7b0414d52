// SPDX-License-Identifier: MIT OR Apache-2.0
//! How hosts hear which network leads to a rack (TDTCP, SIGCOMM'22 section 4.2).

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::{Configuration, Schedule, Weeks};

/// A share of one, in millionths.
const WHOLE: u32 = 1_000_000;

/// When the ToR switch of a rack tells its hosts that another network leads to a rack from now on, and how they hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notify {
    /// How long before the change the ToR switch tells. Not longer than the shortest configuration, its night included.
    #[serde(rename = "before_ns")]
    pub before: Span,
    /// From the ToR switch to the host.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// A random addition to the delay, at most this.
    #[serde(rename = "jitter_ns")]
    pub jitter: Span,
    /// Notifications that do not arrive, of a million.
    #[serde(rename = "lost_ppm")]
    pub lost: u32,
    /// From one connection of a host that hears of it to the next; zero for all at once.
    #[serde(rename = "each_ns")]
    pub each: Span,
}

impl Notify {
    pub(crate) fn check(&self, weeks: Option<&Weeks>) -> Result<(), ScenarioError> {
        let lost = self.lost;
        ensure!(
            lost <= WHOLE,
            "of a million notifications at most {WHOLE} can be lost, not {lost}"
        );
        let Some(weeks) = weeks else { return Ok(()) };
        let length = |c: &Configuration| c.day + c.night;
        let given = weeks.given().flat_map(Schedule::configurations).map(length);
        let computed = weeks.control.as_ref().map(|c| c.min_day + c.night);
        let (before, shortest) = (self.before, given.chain(computed).min());
        ensure!(
            shortest.is_none_or(|shortest| before <= shortest),
            "hosts cannot be notified {before} before a change: the shortest configuration lasts {}",
            shortest.unwrap_or_default()
        );
        Ok(())
    }
}
