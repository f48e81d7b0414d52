// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making days and nights fill the week exactly.

use alloc::vec::Vec;

use etalon_switch::{Configuration, Matching, Plane, Schedule};
use etalon_units::Span;

use crate::params::Params;

/// A wish: these circuits for this time, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Day {
    pub(crate) matching: Matching,
    pub(crate) length: u64,
}

/// A week of exactly the window, each day not below the minimum and followed by a night.
///
/// If there are more days than have room, the shortest go. Days below the minimum are raised to it. If the week is then
/// too short, all days grow by the same time; if it is too long, days give from what they have above the minimum, in
/// proportion to it. No days at all make one idle day.
pub(crate) fn fit(mut days: Vec<Day>, racks: u16, params: &Params) -> Schedule {
    if days.is_empty() {
        days.push(Day {
            matching: Matching::idle(racks),
            length: 0,
        });
    }
    let most = usize::try_from(params.most_days()).unwrap_or(usize::MAX);
    drop_shortest(&mut days, most);

    let min = params.min_day().as_nanos();
    let nights = params.night().as_nanos() * days.len() as u64;
    let window = params.window().as_nanos() - nights;
    for day in &mut days {
        day.length = day.length.clamp(min, window);
    }
    let sum: u64 = days.iter().map(|day| day.length).sum();
    if sum <= window {
        lengthen(&mut days, window - sum);
    } else {
        shorten(&mut days, sum - window, min);
    }
    let configurations = days.into_iter().map(|day| Configuration {
        matching: day.matching,
        day: Span(day.length),
        night: params.night(),
        plane: Plane::CIRCUIT,
    });
    Schedule::new(configurations.collect()).expect("days have a length and the same racks")
}

/// Drops the shortest days (the last of equals) until at most `most` are left; keeps the order of the others.
fn drop_shortest(days: &mut Vec<Day>, most: usize) {
    if days.len() <= most {
        return;
    }
    let mut lengths: Vec<u64> = days.iter().map(|day| day.length).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let shortest_kept = lengths[most - 1];
    let longer = lengths.partition_point(|&length| length > shortest_kept);
    let mut of_this_length = most - longer;
    days.retain(|day| {
        if day.length == shortest_kept {
            let keep = of_this_length > 0;
            of_this_length -= usize::from(keep);
            keep
        } else {
            day.length > shortest_kept
        }
    });
}

fn lengthen(days: &mut [Day], by: u64) {
    let each = by / days.len() as u64;
    let rest = (by % days.len() as u64) as usize;
    for (index, day) in days.iter_mut().enumerate() {
        day.length += each + u64::from(index < rest);
    }
}

fn shorten(days: &mut [Day], by: u64, min: u64) {
    let room: u64 = days.iter().map(|day| day.length - min).sum();
    let mut left = by;
    for day in days.iter_mut() {
        let share = u128::from(day.length - min) * u128::from(by) / u128::from(room);
        day.length -= share as u64;
        left -= share as u64;
    }
    // What rounding has left is less than a nanosecond a day.
    for day in days.iter_mut().filter(|day| day.length > min) {
        if left == 0 {
            break;
        }
        day.length -= 1;
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use etalon_units::Rate;

    use super::*;

    fn week(lengths: &[u64], window: u64) -> Vec<u64> {
        let params = Params::new(
            Span(window),
            Span(180),
            Span(20),
            Rate::from_gbps(80),
            Rate(0),
        );
        let days = lengths.iter().map(|&length| Day {
            matching: Matching::idle(2),
            length,
        });
        let week = fit(days.collect(), 2, &params.unwrap());
        assert_eq!(week.week(), Span(window));
        let days = week.configurations().iter();
        days.map(|c| c.day.as_nanos()).collect()
    }

    #[test]
    fn spare_time_goes_to_all_days_equally() {
        assert_eq!(week(&[1000, 500], 2000), [1230, 730]);
        assert_eq!(week(&[1000, 500], 2001), [1231, 730]);
    }

    #[test]
    fn missing_time_is_taken_from_what_exceeds_the_minimum() {
        assert_eq!(week(&[1180, 680, 180], 2000), [1113, 647, 180]);
    }

    #[test]
    fn the_shortest_of_too_many_days_go() {
        assert_eq!(week(&[200, 190, 500, 190], 600), [180, 180, 180]);
        assert_eq!(week(&[200, 190, 500, 190], 400), [180, 180]);
        // 320 ns too long: 18.8 of the 20 and 301.2 of the 320 ns above the minimum.
        assert_eq!(week(&[200, 190, 500, 190], 420), [181, 199]);
    }

    #[test]
    fn short_days_are_raised_to_the_minimum() {
        assert_eq!(week(&[10, 900], 1000), [180, 780]);
    }

    #[test]
    fn no_days_make_one_idle_day() {
        assert_eq!(week(&[], 2000), [1980]);
    }
}
