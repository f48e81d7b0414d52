// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tournament schedule: racks meet in pairs, both ways at once, as teams do in a round-robin tournament (the circle
//! method). Unlike in a strobe, ACKs come back over the circuit that their data took.

use alloc::vec;
use alloc::vec::Vec;

use etalon_switch::{Configuration, Matching, Plane, Schedule, ScheduleError};
use etalon_units::Span;

use crate::demand::Demand;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};
use crate::strobe::repeat;

/// The tournament as a scheduler: the same days whatever the demand, as long as the window allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tournament;

impl Scheduler for Tournament {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        repeat(tournament, demand.racks(), params)
    }
}

/// A week in which each of `racks` racks has a circuit to and from each other rack for one `day`, each followed by a
/// `night`: `racks - 1` days, or `racks` if that is odd, in each of which one rack then rests.
///
/// # Errors
/// [`ScheduleError`] for fewer than two racks or a day without length.
pub fn tournament(racks: u16, day: Span, night: Span) -> Result<Schedule, ScheduleError> {
    if racks < 2 {
        return Err(ScheduleError::Empty);
    }
    // The last of an even number stays, the others go round; an odd number gets a companion who is not there.
    let circle = if racks.is_multiple_of(2) {
        racks - 1
    } else {
        racks
    };
    let configuration = |turn: u16| {
        let mut source_of = vec![None; usize::from(racks)];
        let mut join = |a: u16, b: u16| {
            if a < racks && b < racks {
                source_of[usize::from(a)] = Some(b);
                source_of[usize::from(b)] = Some(a);
            }
        };
        join(circle, turn);
        for step in 1..=circle / 2 {
            join((turn + step) % circle, (turn + circle - step) % circle);
        }
        Ok(Configuration {
            matching: Matching::new(source_of)?,
            day,
            night,
            plane: Plane::CIRCUIT,
        })
    };
    Schedule::new(
        (0..circle)
            .map(configuration)
            .collect::<Result<Vec<_>, _>>()?,
    )
}

#[cfg(test)]
mod tests {
    use etalon_switch::Pair;

    use super::*;

    const DAY: Span = Span::from_micros(180);
    const NIGHT: Span = Span::from_micros(20);

    #[test]
    fn every_pair_meets_once_both_ways_in_the_same_day() {
        for racks in 2..12 {
            let week = tournament(racks, DAY, NIGHT).unwrap();
            let days = u64::from(racks - 1 + racks % 2);
            assert_eq!(week.week(), (DAY + NIGHT) * days);
            for src in 0..racks {
                for dst in (0..racks).filter(|&dst| dst != src) {
                    assert_eq!(
                        week.day_time(Pair { src, dst }, Plane::CIRCUIT),
                        DAY,
                        "{racks}: {src} to {dst}"
                    );
                }
            }
            for day in week.configurations() {
                for Pair { src, dst } in day.matching.pairs() {
                    assert_eq!(day.matching.source_of(src), Some(dst));
                }
            }
        }
    }

    #[test]
    fn nobody_plays_alone() {
        assert_eq!(tournament(1, DAY, NIGHT), Err(ScheduleError::Empty));
    }
}
