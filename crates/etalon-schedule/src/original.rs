// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedules as files of the original emulator hold them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use etalon_switch::{Configuration, Matching, Plane, Schedule, ScheduleError};
use etalon_units::Span;

/// Reads a week for `racks` racks from one line of numbers: how many configurations there are, and for each its length in
/// microseconds and its circuits, as in `2 3600 1/2/0 400 -1/-1/-1`. A configuration's circuits are the source of each
/// destination, -1 for none.
///
/// Lengths are those of a clock that runs `dilation` times as fast as the network's (Etalon's files: 20). A configuration
/// without circuits behind one with circuits is its night.
///
/// # Errors
/// A sentence that says which configuration, counted from 1, is wrong.
pub fn parse_original(text: &str, racks: u16, dilation: u64) -> Result<Schedule, String> {
    let mut words = text.split_whitespace();
    let count = words.next().ok_or("the schedule is empty")?;
    let count: usize = count
        .parse()
        .map_err(|_| alloc::format!("'{count}' is not a number of configurations"))?;
    let mut week: Vec<Configuration> = Vec::new();
    // Whether the last configuration may still be given its night.
    let mut day = false;
    for number in 1..=count {
        let of =
            |problem: String| alloc::format!("configuration {number} of the schedule: {problem}");
        let (Some(length), Some(circuits)) = (words.next(), words.next()) else {
            return Err(alloc::format!(
                "the schedule says that it has {count} configurations, but number {number} is missing"
            ));
        };
        let length = microseconds(length, dilation).map_err(of)?;
        let matching = circuits_of(circuits, racks).map_err(of)?;
        let idle = matching.pairs().next().is_none();
        match week.last_mut() {
            Some(last) if idle && day => {
                last.night = length;
                day = false;
            }
            _ => {
                if length == Span::ZERO {
                    return Err(of("it has no length".to_string()));
                }
                week.push(Configuration {
                    matching,
                    day: length,
                    night: Span::ZERO,
                    plane: Plane::CIRCUIT,
                });
                day = !idle;
            }
        }
    }
    if let Some(word) = words.next() {
        return Err(alloc::format!(
            "the schedule says that it has {count} configurations, but goes on with '{word}'"
        ));
    }
    Schedule::new(week).map_err(|error| error.to_string())
}

fn microseconds(text: &str, dilation: u64) -> Result<Span, String> {
    let wrong = || alloc::format!("'{text}' is not a length in whole microseconds");
    let us: u64 = text.parse().map_err(|_| wrong())?;
    let ns = us.checked_mul(1000).ok_or_else(wrong)?;
    if dilation == 0 || !ns.is_multiple_of(dilation) {
        return Err(alloc::format!(
            "{us} us of a clock that runs {dilation} times as fast are no whole number of nanoseconds"
        ));
    }
    Ok(Span(ns / dilation))
}

fn circuits_of(text: &str, racks: u16) -> Result<Matching, String> {
    let mut source_of = Vec::new();
    for word in text.split('/') {
        let source: i32 = word
            .parse()
            .map_err(|_| alloc::format!("'{word}' is not a rack, or -1 for none"))?;
        let rack = u16::try_from(source).ok();
        if rack.is_none() && source != -1 {
            return Err(alloc::format!("'{word}' is not a rack, or -1 for none"));
        }
        source_of.push(rack);
    }
    if source_of.len() != usize::from(racks) {
        return Err(alloc::format!(
            "it has circuits to {} racks, but there are {racks}",
            source_of.len()
        ));
    }
    Matching::new(source_of).map_err(|error: ScheduleError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::format_week;

    #[test]
    fn days_and_their_nights() {
        let week = parse_original(
            "4 3600 1/2/0 400 -1/-1/-1 7200 2/-1/-1 400 -1/-1/-1\n",
            3,
            20,
        );
        assert_eq!(
            format_week(&week.unwrap()),
            "180us 20us 1>0 2>1 0>2\n360us 20us 2>0\n"
        );
    }

    #[test]
    fn what_follows_no_day_is_no_night() {
        let week = parse_original("4 20 -1/-1 20 1/-1 40 -1/-1 60 -1/-1", 2, 20);
        assert_eq!(
            format_week(&week.unwrap()),
            "1us 0ns\n1us 2us 1>0\n3us 0ns\n"
        );
        assert_eq!(
            format_week(&parse_original("2 1 1/0 2 -1/0", 2, 1).unwrap()),
            "1us 0ns 1>0 0>1\n2us 0ns 0>1\n"
        );
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| parse_original(text, 2, 20).unwrap_err();
        assert_eq!(error(""), "the schedule is empty");
        assert_eq!(error("x"), "'x' is not a number of configurations");
        assert_eq!(error("0"), "the schedule has no configurations");
        assert_eq!(
            error("2 20 1/0"),
            "the schedule says that it has 2 configurations, but number 2 is missing"
        );
        assert_eq!(
            error("1 20 1/0 20"),
            "the schedule says that it has 1 configurations, but goes on with '20'"
        );
        let first = |text: &str| error(text).replace("configuration 1 of the schedule: ", "");
        assert_eq!(
            first("1 2.5 1/0"),
            "'2.5' is not a length in whole microseconds"
        );
        assert_eq!(
            first("1 20 1"),
            "it has circuits to 1 racks, but there are 2"
        );
        assert_eq!(first("1 20 1/-2"), "'-2' is not a rack, or -1 for none");
        assert_eq!(first("1 20 0/-1"), "rack 0 has a circuit to itself");
        assert_eq!(first("1 0 1/0"), "it has no length");
        assert_eq!(
            parse_original("1 1 1/0", 2, 3).unwrap_err(),
            "configuration 1 of the schedule: 1 us of a clock that runs 3 times as fast are no whole number of nanoseconds"
        );
    }
}
