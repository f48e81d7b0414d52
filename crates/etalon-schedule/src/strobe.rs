//! The strobe schedule (NSDI'20 section 4.5, figure 7): every rack meets every other rack once a week.

use alloc::vec::Vec;

use etalon_switch::{Configuration, Matching, Schedule, ScheduleError};
use etalon_units::Span;

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
                    assert_eq!(week.day_time(Pair { src, dst }), DAY);
                }
            }
        }
    }

    #[test]
    fn the_mimicked_strobe_of_nsdi20_has_a_week_of_4800_us() {
        let week = mimicked_strobe(3, 25, DAY, NIGHT).unwrap();
        assert_eq!(week.week(), Span::from_micros(4800));
        assert_eq!(week.day_time(Pair { src: 0, dst: 1 }), DAY);
        assert_eq!(week.day_time(Pair { src: 1, dst: 0 }), DAY * 23);
        let last = week.configurations().last().unwrap();
        assert_eq!(last.matching.source_of(1), Some(0));
    }

    #[test]
    fn one_rack_has_nobody_to_meet() {
        assert_eq!(strobe(1, DAY, NIGHT), Err(ScheduleError::Empty));
    }
}
