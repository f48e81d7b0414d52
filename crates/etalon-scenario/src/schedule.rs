// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuit schedules: weeks of (day, night) configurations, each day a matching.

use alloc::vec::Vec;
use core::fmt;

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::{Pair, Plane};

/// Which rack's circuit ends at which rack: at most one circuit for each input and each output. In JSON for each destination
/// rack its source, -1 for none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<i32>", into = "Vec<i32>")]
pub struct Matching {
    source_of: Vec<Option<u16>>,
}

impl Matching {
    /// For each destination rack its source rack, `None` where no circuit ends.
    ///
    /// # Errors
    /// [`ScheduleError`] if a source appears twice, is not a rack, or is its own destination.
    pub fn new(source_of: Vec<Option<u16>>) -> Result<Matching, ScheduleError> {
        let mut used = alloc::vec![false; source_of.len()];
        for (dst, src) in source_of.iter().enumerate() {
            let Some(src) = *src else { continue };
            if usize::from(src) >= source_of.len() {
                return Err(ScheduleError::NoSuchRack { rack: src });
            }
            if usize::from(src) == dst {
                return Err(ScheduleError::ToItself { rack: src });
            }
            if core::mem::replace(&mut used[usize::from(src)], true) {
                return Err(ScheduleError::SourceTwice { rack: src });
            }
        }
        Ok(Matching { source_of })
    }

    /// No circuits at all, for `racks` racks.
    #[must_use]
    pub fn idle(racks: u16) -> Matching {
        Matching {
            source_of: alloc::vec![None; usize::from(racks)],
        }
    }

    /// The source whose circuit ends at `dst`.
    #[must_use]
    pub fn source_of(&self, dst: u16) -> Option<u16> {
        self.source_of.get(usize::from(dst)).copied().flatten()
    }

    /// The pairs that have a circuit, by destination.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.source_of.iter().enumerate().filter_map(|(dst, src)| {
            src.map(|src| Pair {
                src,
                dst: dst as u16,
            })
        })
    }

    /// Number of racks.
    #[must_use]
    pub fn racks(&self) -> u16 {
        self.source_of.len() as u16
    }
}

impl TryFrom<Vec<i32>> for Matching {
    type Error = ScheduleError;

    fn try_from(sources: Vec<i32>) -> Result<Matching, ScheduleError> {
        // What is no rack's number is none.
        Matching::new(sources.into_iter().map(|s| u16::try_from(s).ok()).collect())
    }
}

impl From<Matching> for Vec<i32> {
    fn from(matching: Matching) -> Vec<i32> {
        let sources = matching.source_of.into_iter();
        sources.map(|s| s.map_or(-1, i32::from)).collect()
    }
}

/// One configuration of a week: a day with circuits, then a night without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Configuration {
    /// The circuits of the day.
    #[serde(rename = "sources")]
    pub matching: Matching,
    /// Length of the day, positive.
    #[serde(rename = "day_ns")]
    pub day: Span,
    /// Length of the night that follows, zero or more.
    #[serde(rename = "night_ns")]
    pub night: Span,
    /// The plane of the day's circuits.
    #[serde(default = "first_circuits")]
    pub plane: Plane,
}

const fn first_circuits() -> Plane {
    Plane::CIRCUIT
}

/// A week: configurations that repeat until another schedule is adopted at a roll-over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Configuration>", into = "Vec<Configuration>")]
pub struct Schedule {
    configurations: Vec<Configuration>,
    week: Span,
}

impl Schedule {
    /// A week of these configurations, in this order.
    ///
    /// # Errors
    /// [`ScheduleError`] if there are none, if a day has no length, or if they differ in their number of racks.
    pub fn new(configurations: Vec<Configuration>) -> Result<Schedule, ScheduleError> {
        let racks = configurations
            .first()
            .ok_or(ScheduleError::Empty)?
            .matching
            .racks();
        let mut week = Span::ZERO;
        for (index, c) in configurations.iter().enumerate() {
            if c.day == Span::ZERO {
                return Err(ScheduleError::NoDay { index });
            }
            if c.matching.racks() != racks {
                return Err(ScheduleError::RacksDiffer { index });
            }
            week = week + c.day + c.night;
        }
        Ok(Schedule {
            configurations,
            week,
        })
    }

    /// No circuits at all, for `racks` racks: one idle day a millisecond.
    #[must_use]
    pub fn idle(racks: u16) -> Schedule {
        let day = Span::from_millis(1);
        let configuration = Configuration {
            matching: Matching::idle(racks),
            day,
            night: Span::ZERO,
            plane: Plane::CIRCUIT,
        };
        Schedule {
            configurations: alloc::vec![configuration],
            week: day,
        }
    }

    /// The configurations of the week.
    #[must_use]
    pub fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }

    /// Length of the week: all days and nights.
    #[must_use]
    pub fn week(&self) -> Span {
        self.week
    }

    /// Number of racks.
    #[must_use]
    pub fn racks(&self) -> u16 {
        self.configurations[0].matching.racks()
    }

    /// How long `pair` has a circuit of this plane in each week.
    #[must_use]
    pub fn day_time(&self, pair: Pair, plane: Plane) -> Span {
        self.configurations
            .iter()
            .filter(|c| c.plane == plane && c.matching.source_of(pair.dst) == Some(pair.src))
            .fold(Span::ZERO, |sum, c| sum + c.day)
    }
}

impl TryFrom<Vec<Configuration>> for Schedule {
    type Error = ScheduleError;

    fn try_from(configurations: Vec<Configuration>) -> Result<Schedule, ScheduleError> {
        Schedule::new(configurations)
    }
}

impl From<Schedule> for Vec<Configuration> {
    fn from(schedule: Schedule) -> Vec<Configuration> {
        schedule.configurations
    }
}

/// Why something is not a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// A week without a single configuration.
    Empty,
    /// The day of configuration `index` has no length.
    NoDay {
        /// The configuration, from 0.
        index: usize,
    },
    /// Configuration `index` has another number of racks than the first.
    RacksDiffer {
        /// The configuration, from 0.
        index: usize,
    },
    /// A rack number beyond the last rack.
    NoSuchRack {
        /// The rack.
        rack: u16,
    },
    /// A circuit from a rack to itself.
    ToItself {
        /// The rack.
        rack: u16,
    },
    /// One rack is the source of two circuits.
    SourceTwice {
        /// The rack.
        rack: u16,
    },
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Empty => f.write_str("the schedule has no configurations"),
            ScheduleError::NoDay { index } => {
                write!(f, "the day of configuration {index} has no length")
            }
            ScheduleError::RacksDiffer { index } => {
                write!(
                    f,
                    "configuration {index} has another number of racks than the first"
                )
            }
            ScheduleError::NoSuchRack { rack } => write!(f, "there is no rack {rack}"),
            ScheduleError::ToItself { rack } => {
                write!(f, "rack {rack} has a circuit to itself")
            }
            ScheduleError::SourceTwice { rack } => {
                write!(
                    f,
                    "rack {rack} is the source of two circuits of one matching"
                )
            }
        }
    }
}

impl core::error::Error for ScheduleError {}

/// Both are written as lists.
#[cfg(feature = "schema")]
mod schema {
    use alloc::borrow::Cow;
    use alloc::vec::Vec;

    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::{Configuration, Matching, Schedule};

    impl JsonSchema for Matching {
        fn schema_name() -> Cow<'static, str> {
            "Matching".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            Vec::<i32>::json_schema(generator)
        }
    }

    impl JsonSchema for Schedule {
        fn schema_name() -> Cow<'static, str> {
            "Schedule".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            Vec::<Configuration>::json_schema(generator)
        }
    }
}
