// SPDX-License-Identifier: MIT OR Apache-2.0
//! The strobe schedule (NSDI'20 section 4.5, figure 7): every rack meets every other rack once a week.

use alloc::vec::Vec;

use etalon_switch::{Configuration, Matching, Plane, Schedule, ScheduleError};
use etalon_units::Span;

use crate::demand::Demand;
use crate::fit::{Day, fit};
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};

/// Strobe as a scheduler: the same rotation of all pairs whatever the demand, with days that fill the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strobe;

impl Scheduler for Strobe {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        repeat(strobe, demand.racks(), params)
    }
}

/// A rule's week for so many racks, with days that fill the window.
pub(crate) fn repeat(
    rule: fn(u16, Span, Span) -> Result<Schedule, ScheduleError>,
    racks: u16,
    params: &Params,
) -> Result<Schedule, CannotSchedule> {
    let (min, night) = (params.min_day(), params.night());
    let week = rule(racks, min, night)?;
    let days = week.configurations().len() as u64;
    if days > params.most_days() {
        return Err(CannotSchedule::TooManyDays {
            days,
            needed: (min + night) * days,
            window: params.window(),
        });
    }
    let days = week.configurations().iter().map(|configuration| Day {
        matching: configuration.matching.clone(),
        length: min.as_nanos(),
    });
    Ok(fit(days.collect(), racks, params))
}

/// A week in which each of `racks` racks has a circuit to each other rack for one `day`, each followed by a `night`.
///
/// Day k (from 0) joins rack r to rack r + k + 1, modulo the number of racks.
///
/// # Errors
/// [`ScheduleError`] for fewer than two racks or a day without length.
pub fn strobe(racks: u16, day: Span, night: Span) -> Result<Schedule, ScheduleError> {
    Schedule::new(
        (1..racks)
            .map(|shift| rotation(racks, shift, day, night))
            .collect::<Result<Vec<_>, _>>()?,
    )
}

/// The testbed's strobe that lets `racks` real racks stand for `mimicked` ones: the rotation that joins rack 0 to rack 1
/// has only the last of the week's `mimicked - 1` days, and the inverse rotation has all others.
///
/// NSDI'20 section 4.5 says that the time between circuits is lengthened artificially; this is how its artefact does it.
/// A consequence: rack 1 has a circuit to rack 0 on all days but one.
///
/// # Errors
/// [`ScheduleError`] for fewer than two racks or a day without length.
pub fn mimicked_strobe(
    racks: u16,
    mimicked: u16,
    day: Span,
    night: Span,
) -> Result<Schedule, ScheduleError> {
    let mut week = Vec::new();
    for _ in 2..mimicked {
        week.push(rotation(racks, racks.saturating_sub(1), day, night)?);
    }
    week.push(rotation(racks, 1, day, night)?);
    Schedule::new(week)
}

fn rotation(
    racks: u16,
    shift: u16,
    day: Span,
    night: Span,
) -> Result<Configuration, ScheduleError> {
    let sources = (0..racks).map(|dst| Some((dst + racks - shift) % racks));
    Ok(Configuration {
        matching: Matching::new(sources.collect())?,
        day,
        night,
        plane: Plane::CIRCUIT,
    })
}

#[cfg(test)]
mod tests {
    use etalon_switch::Pair;

    use super::*;

    const DAY: Span = Span::from_micros(180);
    const NIGHT: Span = Span::from_micros(20);

    #[test]
    fn every_pair_has_one_day_a_week() {
        for racks in 2..9 {
            let week = strobe(racks, DAY, NIGHT).unwrap();
            assert_eq!(week.week(), Span::from_micros(200) * u64::from(racks - 1));
            for src in 0..racks {
                for dst in (0..racks).filter(|&dst| dst != src) {
                    assert_eq!(week.day_time(Pair { src, dst }, Plane::CIRCUIT), DAY);
                }
            }
        }
    }

    #[test]
    fn the_mimicked_strobe_of_nsdi20_has_a_week_of_4800_us() {
        let week = mimicked_strobe(3, 25, DAY, NIGHT).unwrap();
        assert_eq!(week.week(), Span::from_micros(4800));
        assert_eq!(week.day_time(Pair { src: 0, dst: 1 }, Plane::CIRCUIT), DAY);
        assert_eq!(
            week.day_time(Pair { src: 1, dst: 0 }, Plane::CIRCUIT),
            DAY * 23
        );
        let last = week.configurations().last().unwrap();
        assert_eq!(last.matching.source_of(1), Some(0));
    }

    #[test]
    fn a_window_is_shared_by_all_days() {
        let demand = Demand::none(8).unwrap();
        let week = Strobe
            .schedule(&demand, &crate::testing::params(2000))
            .unwrap();
        assert_eq!(week.week(), Span::from_micros(2000));
        let days: Vec<u64> = week.configurations().iter().map(|c| c.day.0).collect();
        // 2 ms less 7 nights is 1860 us, 7 x 265714 ns and 2 ns, which go to the first two days.
        assert_eq!(days[..3], [265_715, 265_715, 265_714]);
        let error = Strobe
            .schedule(&demand, &crate::testing::params(1399))
            .unwrap_err();
        assert_eq!(
            alloc::string::ToString::to_string(&error),
            "7 days and nights need a window of 1.4ms, which is longer than 1.399ms"
        );
    }

    #[test]
    fn one_rack_has_nobody_to_meet() {
        assert_eq!(strobe(1, DAY, NIGHT), Err(ScheduleError::Empty));
    }
}
