// SPDX-License-Identifier: MIT OR Apache-2.0
//! A schedule that does not depend on demand: from a file, or from perfect knowledge of what will be sent.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

use etalon_switch::{Configuration, Matching, Plane, Schedule, ScheduleError};
use etalon_units::Span;

use crate::demand::Demand;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};

/// Always the same week, whatever the demand and the window.
#[derive(Clone, Debug)]
pub struct Fixed {
    week: Schedule,
}

impl Fixed {
    /// Always this week.
    #[must_use]
    pub fn new(week: Schedule) -> Fixed {
        Fixed { week }
    }

    /// Always the week that `scheduler` computes once for `demand`: "perfect knowledge" of a workload (Etalon'18,
    /// section 5.3).
    ///
    /// # Errors
    /// That of `scheduler`.
    pub fn knowing(
        scheduler: &mut dyn Scheduler,
        demand: &Demand,
        params: &Params,
    ) -> Result<Fixed, CannotSchedule> {
        scheduler.schedule(demand, params).map(Fixed::new)
    }
}

impl Scheduler for Fixed {
    fn schedule(&mut self, demand: &Demand, _: &Params) -> Result<Schedule, CannotSchedule> {
        if self.week.racks() != demand.racks() {
            return Err(CannotSchedule::RacksDiffer {
                schedule: self.week.racks(),
                demand: demand.racks(),
            });
        }
        Ok(self.week.clone())
    }
}

/// Reads a week for `racks` racks: one line a configuration, with day, night and the circuits of the day, such as
/// `180us 20us 0>1 1>2 2>0`. Empty lines are skipped, and so is what follows a `#`.
///
/// # Errors
/// [`WeekError`] with the number of the line, from 1.
pub fn parse_week(text: &str, racks: u16) -> Result<Schedule, WeekError> {
    let mut week = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .peekable();
        if words.peek().is_some() {
            let configuration =
                parse_configuration(words, racks).map_err(|problem| WeekError::Line {
                    line: index + 1,
                    problem,
                })?;
            week.push(configuration);
        }
    }
    Schedule::new(week).map_err(WeekError::Week)
}

fn parse_configuration<'a>(
    mut words: impl Iterator<Item = &'a str>,
    racks: u16,
) -> Result<Configuration, String> {
    let mut span = |name: &str| -> Result<Span, String> {
        let word = words.next().ok_or(alloc::format!("there is no {name}"))?;
        word.parse()
            .map_err(|error| alloc::format!("the {name} '{word}' {error}"))
    };
    let (day, night) = (span("day")?, span("night")?);
    if day == Span::ZERO {
        return Err("the day has no length".to_string());
    }
    let mut source_of = alloc::vec![None; usize::from(racks)];
    for word in words {
        let rack = |text: &str| text.parse::<u16>().ok();
        let ends = word.split_once('>');
        let Some((src, dst)) = ends.and_then(|(src, dst)| rack(src).zip(rack(dst))) else {
            return Err(alloc::format!(
                "'{word}' is not a circuit such as 0>1, from rack 0 to rack 1"
            ));
        };
        let Some(source) = source_of.get_mut(usize::from(dst)) else {
            return Err(ScheduleError::NoSuchRack { rack: dst }.to_string());
        };
        if source.replace(src).is_some() {
            return Err(alloc::format!("two circuits end at rack {dst}"));
        }
    }
    let matching = Matching::new(source_of).map_err(|error| error.to_string())?;
    Ok(Configuration {
        matching,
        day,
        night,
        plane: Plane::CIRCUIT,
    })
}

/// Writes a week in the form that [`parse_week`] reads.
#[must_use]
pub fn format_week(week: &Schedule) -> String {
    let mut text = String::new();
    for configuration in week.configurations() {
        // Writing to a String does not fail.
        let _ = write!(text, "{} {}", configuration.day, configuration.night);
        for pair in configuration.matching.pairs() {
            let _ = write!(text, " {}>{}", pair.src, pair.dst);
        }
        text.push('\n');
    }
    text
}

/// Why a text is not a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeekError {
    /// A line that is not a configuration.
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The lines make no week.
    Week(ScheduleError),
}

impl fmt::Display for WeekError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeekError::Line { line, problem } => {
                write!(f, "line {line} of the schedule: {problem}")
            }
            WeekError::Week(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WeekError {}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: &str = "180us 20us 1>0 0>1\n1.44ms 0ns 1>2\n";

    #[test]
    fn reads_what_it_writes() {
        let week = parse_week(WEEK, 3).unwrap();
        assert_eq!(week.week(), Span::from_micros(1640));
        assert_eq!(format_week(&week), WEEK);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| parse_week(text, 3).unwrap_err().to_string();
        assert_eq!(error("# nothing"), "the schedule has no configurations");
        assert_eq!(
            error("180us 20us 0>1\n\n180 20us"),
            "line 3 of the schedule: the day '180' has no unit"
        );
        assert_eq!(error("180us"), "line 1 of the schedule: there is no night");
        assert_eq!(
            error("180us 20us 0-1"),
            "line 1 of the schedule: '0-1' is not a circuit such as 0>1, from rack 0 to rack 1"
        );
        assert_eq!(
            error("180us 20us 0>1 2>1"),
            "line 1 of the schedule: two circuits end at rack 1"
        );
        assert_eq!(
            error("180us 20us 0>1 0>2"),
            "line 1 of the schedule: rack 0 is the source of two circuits of one matching"
        );
        assert_eq!(
            error("180us 20us 0>3"),
            "line 1 of the schedule: there is no rack 3"
        );
        assert_eq!(
            error("0us 20us"),
            "line 1 of the schedule: the day has no length"
        );
    }

    #[test]
    fn is_for_one_number_of_racks() {
        let mut fixed = Fixed::new(parse_week(WEEK, 3).unwrap());
        let params = crate::testing::params(2000);
        let three = Demand::none(3).unwrap();
        assert_eq!(fixed.schedule(&three, &params).unwrap(), fixed.week);
        let two = Demand::none(2).unwrap();
        assert_eq!(
            fixed.schedule(&two, &params).unwrap_err().to_string(),
            "the fixed schedule is for 3 racks, but demand is from 2"
        );
    }
}
