// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computed weeks in the log: so many records for each that a network of any size has room.

use alloc::vec::Vec;

use etalon_events::Event;
use etalon_schedule::{ComputedWeek, Demand};
use etalon_switch::{Configuration, Matching, Pair, Plane, Schedule};

/// Says the demand of a week.
pub fn tell_demand(demand: &Demand, mut say: impl FnMut(Event)) {
    for src in 0..demand.racks() {
        for (dst, &bytes) in (0..).zip(demand.row(src)) {
            if bytes > 0 {
                let pair = Pair { src, dst };
                say(Event::Demanded { pair, bytes });
            }
        }
    }
}

/// Says a week whose demand is told: its days with their circuits, and that it is computed.
pub fn tell_week(computed: &ComputedWeek, mut say: impl FnMut(Event)) {
    let ComputedWeek { time, week, .. } = computed;
    for configuration in week.configurations() {
        let Configuration { day, night, .. } = *configuration;
        say(Event::PlannedDay { day, night });
        for pair in configuration.matching.pairs() {
            say(Event::PlannedCircuit { pair });
        }
    }
    say(Event::Computed { time: *time });
}

/// A day of a week that is being read.
#[derive(Debug)]
struct Day {
    event: Event,
    sources: Vec<Option<u16>>,
}

/// Puts together what [`tell_demand`] and [`tell_week`] say.
#[derive(Debug)]
pub struct WeekReader {
    racks: u16,
    demand: Vec<u64>,
    days: Vec<Day>,
}

impl WeekReader {
    /// For a network of `racks` racks.
    #[must_use]
    pub fn new(racks: u16) -> WeekReader {
        let side = usize::from(racks);
        WeekReader {
            racks,
            demand: alloc::vec![0; side * side],
            days: Vec::new(),
        }
    }

    /// The demand of the week that is being told.
    ///
    /// # Errors
    /// A sentence if it is none.
    pub fn demand(&self) -> Result<Demand, &'static str> {
        let side = usize::from(self.racks);
        let demand = Demand::gather(self.racks, |Pair { src, dst }| {
            self.demand[usize::from(src) * side + usize::from(dst)]
        });
        demand.map_err(|_| "a computed week's demand is none")
    }

    /// Hears an event; gives the week that it completes. Events of other kinds do nothing.
    ///
    /// # Errors
    /// What cannot be true of a week, in words.
    pub fn hear(&mut self, event: Event) -> Result<Option<ComputedWeek>, &'static str> {
        let side = usize::from(self.racks);
        match event {
            Event::Demanded { pair, bytes } => {
                let cell = usize::from(pair.src) * side + usize::from(pair.dst);
                let known = pair.src < self.racks && pair.dst < self.racks;
                let cell = self.demand.get_mut(cell).filter(|_| known);
                *cell.ok_or("demand is of racks that do not exist")? = bytes;
                Ok(None)
            }
            Event::PlannedDay { .. } => {
                let sources = alloc::vec![None; side];
                self.days.push(Day { event, sources });
                Ok(None)
            }
            Event::PlannedCircuit { pair } => {
                let day = self.days.last_mut();
                let sources = &mut day.ok_or("a circuit is of no day")?.sources;
                let place = sources.get_mut(usize::from(pair.dst));
                *place.ok_or("a circuit ends at a rack that does not exist")? = Some(pair.src);
                Ok(None)
            }
            Event::Computed { time } => {
                let configuration = |day: Day| {
                    let Event::PlannedDay { day: length, night } = day.event else {
                        return None;
                    };
                    Some(Configuration {
                        matching: Matching::new(day.sources).ok()?,
                        day: length,
                        night,
                        plane: Plane::CIRCUIT,
                    })
                };
                let days: Option<Vec<_>> = self.days.drain(..).map(configuration).collect();
                let week = days.and_then(|days| Schedule::new(days).ok());
                let demand = self.demand();
                self.demand.fill(0);
                Ok(Some(ComputedWeek {
                    time,
                    demand: demand?,
                    week: week.ok_or("a computed week is none")?,
                }))
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use etalon_units::{Span, Time};

    use super::*;

    fn computed() -> ComputedWeek {
        let day = |sources: [Option<u16>; 3], day| Configuration {
            matching: Matching::new(sources.to_vec()).unwrap(),
            day: Span(day),
            night: Span(1 << 33),
            plane: Plane::CIRCUIT,
        };
        ComputedWeek {
            time: Time(77),
            demand: Demand::new(&[
                vec![0, 5, 0],
                vec![0, 0, u64::from(u32::MAX) + 9],
                vec![1, 0, 0],
            ])
            .unwrap(),
            week: Schedule::new(vec![
                day([Some(2), Some(0), Some(1)], 180),
                day([None, None, Some(1)], 1 << 39),
            ])
            .unwrap(),
        }
    }

    #[test]
    fn a_week_comes_back_from_its_records() {
        let mut reader = WeekReader::new(3);
        // The second time as the first: nothing is left over.
        for _ in 0..2 {
            let mut heard = Vec::new();
            let mut hear = |event: Event| {
                let record = event.at(Time(100));
                let back = Event::of(&record).unwrap();
                heard.extend(reader.hear(back).unwrap());
            };
            tell_demand(&computed().demand, &mut hear);
            tell_week(&computed(), &mut hear);
            assert_eq!(heard, [computed()]);
        }
    }

    #[test]
    fn what_cannot_be_a_week_is_said() {
        let pair = |src, dst| Pair { src, dst };
        let hear = |events: &[Event]| {
            let mut reader = WeekReader::new(3);
            let mut said = events.iter().map(|&event| reader.hear(event));
            said.find_map(Result::err)
        };
        let day = Event::PlannedDay {
            day: Span(1),
            night: Span(0),
        };
        let bytes = 1;
        let computed = Event::Computed { time: Time(0) };
        let circuit = |src, dst| Event::PlannedCircuit {
            pair: pair(src, dst),
        };
        assert!(
            hear(&[Event::Demanded {
                pair: pair(0, 3),
                bytes
            }])
            .is_some()
        );
        assert!(
            hear(&[Event::Demanded {
                pair: pair(2, 3),
                bytes
            }])
            .is_some()
        );
        assert!(hear(&[circuit(0, 1)]).is_some());
        assert!(hear(&[day, circuit(0, 3)]).is_some());
        assert!(hear(&[day, circuit(3, 0), computed]).is_some());
        assert!(hear(&[day, circuit(0, 1), circuit(0, 2), computed]).is_some());
        assert!(hear(&[computed]).is_some());
        assert!(hear(&[day, circuit(0, 1), computed]).is_none());
    }
}
