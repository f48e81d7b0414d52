//! Computed weeks in the log: so many records for each that a network of any size has room.

use alloc::vec::Vec;

use etalon_schedule::{ComputedWeek, Demand};
use etalon_switch::{Configuration, Matching, Pair, Schedule};

use crate::record::Event;

/// Says a week: its demand, its days with their circuits, and that it is computed.
pub fn tell_week(computed: &ComputedWeek, mut say: impl FnMut(Event)) {
    let ComputedWeek { time, demand, week } = computed;
    for src in 0..demand.racks() {
        for (dst, &bytes) in demand.row(src).iter().enumerate() {
            if bytes > 0 {
                let dst = dst as u16;
                let pair = Pair { src, dst };
                say(Event::Demanded { pair, bytes });
            }
        }
    }
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

/// Puts together what [`tell_week`] says.
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
                    })
                };
                let days: Option<Vec<_>> = self.days.drain(..).map(configuration).collect();
                let week = days.and_then(|days| Schedule::new(days).ok());
                let demand = Demand::gather(self.racks, |Pair { src, dst }| {
                    self.demand[usize::from(src) * side + usize::from(dst)]
                });
                self.demand.fill(0);
                Ok(Some(ComputedWeek {
                    time,
                    demand: demand.map_err(|_| "a computed week's demand is none")?,
                    week: week.ok_or("a computed week is none")?,
                }))
            }
            _ => Ok(None),
        }
    }
}
