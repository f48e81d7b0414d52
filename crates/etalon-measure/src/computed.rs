// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept of schedules that were computed from demand.

use etalon_switch::Schedule;
use etalon_units::Time;

/// Of all computations of a run: how many there were, and the one of most demand. Does not grow with the run.
#[derive(Clone, Debug, Default)]
pub struct Computed {
    /// Weeks that were computed in the measured time.
    pub weeks: u64,
    /// Days with circuits in them.
    pub days: u64,
    /// The week of most demand, the first of equals; none without any demand.
    pub largest: Option<Example>,
}

/// A demand matrix and the week that was computed for it.
#[derive(Clone, Debug)]
pub struct Example {
    /// When demand was looked at.
    pub time: Time,
    /// Bytes, by source and then by destination rack.
    pub demand: Vec<u64>,
    /// The week.
    pub week: Schedule,
}

impl Computed {
    /// The warm-up is over.
    pub fn begin(&mut self) {
        *self = Computed::default();
    }

    /// A week was computed for the `demand` at `time`.
    pub fn note(&mut self, time: Time, demand: &[u64], week: &Schedule) {
        self.weeks += 1;
        let days = week.configurations().iter();
        let busy = days.filter(|day| day.matching.pairs().next().is_some());
        self.days += busy.count() as u64;
        let known = self.largest.as_ref();
        let largest: u64 = known.map_or(0, |example| example.demand.iter().sum());
        if demand.iter().sum::<u64>() > largest {
            self.largest = Some(Example {
                time,
                demand: demand.to_vec(),
                week: week.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use etalon_switch::{Configuration, Matching, Plane};
    use etalon_units::Span;

    use super::*;

    #[test]
    fn the_week_of_most_demand_is_kept() {
        let day = |source_of: Vec<Option<u16>>| Configuration {
            matching: Matching::new(source_of).unwrap(),
            day: Span(180),
            night: Span(20),
            plane: Plane::CIRCUIT,
        };
        let busy = Schedule::new(vec![day(vec![None, Some(0)]), day(vec![Some(1), None])]).unwrap();
        let idle = Schedule::new(vec![day(vec![None, None])]).unwrap();
        let mut computed = Computed::default();
        computed.note(Time(1), &[0, 0, 0, 0], &idle);
        assert!(computed.largest.is_none());
        computed.note(Time(2), &[0, 5, 0, 0], &busy);
        computed.note(Time(3), &[0, 2, 3, 0], &idle);
        assert_eq!((computed.weeks, computed.days), (3, 2));
        let largest = computed.largest.as_ref().unwrap();
        assert_eq!((largest.time, &largest.week), (Time(2), &busy));
        computed.begin();
        assert_eq!(computed.weeks, 0);
    }
}
