// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weeks in a run's digest: each is mixed once, so that what it does to pairs, day by day, need not be.

use etalon_events::Digest;
use etalon_scenario::{Scenario, Schedule};
use etalon_units::Time;

/// Mixes the weeks that a plan names, which are known before it runs.
pub(crate) fn mix_planned(plan: &Scenario, digest: &mut Digest) {
    if let Some(weeks) = &plan.schedule {
        mix(Time::ZERO, &weeks.first, digest);
    }
    for change in plan.changes() {
        mix(change.at, &change.week, digest);
    }
}

/// Mixes a week that the network is given at `time`.
pub(crate) fn mix(time: Time, week: &Schedule, digest: &mut Digest) {
    digest.mix(time.0);
    digest.mix(week.configurations().len() as u64);
    for day in week.configurations() {
        for word in [day.day.0, day.night.0, day.plane.0.into()] {
            digest.mix(word);
        }
        for dst in 0..week.racks() {
            let source = day.matching.source_of(dst);
            digest.mix(source.map_or(u64::MAX, u64::from));
        }
    }
}

#[cfg(test)]
mod tests {
    use etalon_scenario::{Configuration, Matching, Plane};
    use etalon_units::Span;

    use super::*;

    /// A day of each of these lengths, before a night and on a plane, with a circuit from this rack to rack 2.
    fn digest(time: u64, days: &[(u64, u64, u8, u16)]) -> u64 {
        let day = |&(day, night, plane, src): &(u64, u64, u8, u16)| Configuration {
            matching: Matching::new(vec![None, None, Some(src)]).unwrap(),
            day: Span(day),
            night: Span(night),
            plane: Plane(plane),
        };
        let week = Schedule::new(days.iter().map(day).collect()).unwrap();
        let mut digest = Digest::default();
        mix(Time(time), &week, &mut digest);
        digest.value()
    }

    #[test]
    fn a_digest_tells_weeks_apart() {
        let one = digest(0, &[(180, 20, 1, 0)]);
        assert_eq!(one, digest(0, &[(180, 20, 1, 0)]));
        let others = [
            digest(1, &[(180, 20, 1, 0)]),
            digest(0, &[(181, 20, 1, 0)]),
            digest(0, &[(180, 19, 1, 0)]),
            digest(0, &[(180, 20, 2, 0)]),
            digest(0, &[(180, 20, 1, 1)]),
            digest(0, &[(180, 20, 1, 0), (180, 20, 1, 0)]),
        ];
        assert!(!others.contains(&one));
    }
}
