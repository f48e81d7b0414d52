// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits that are asked for: who asked for each, when it was dark, and when it was up.

use std::collections::{BTreeMap, BTreeSet};

use etalon_events::{Event, Pair, Plane};
use etalon_scenario::{Hosts, Place, Scenario};
use etalon_units::Time;

use crate::table::{Column, Table, integers, named};

/// Rows that are kept.
const MOST: usize = 1 << 20;

/// A circuit, from when it was granted to when it goes down.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    pair: Pair,
    plane: Plane,
    /// Who asked for it, and when; none of those at the start.
    asked: Option<(String, Time)>,
    /// Dark from here on; none if the run ended before that.
    granted: Option<Time>,
    up: Option<Time>,
    down: Option<Time>,
    /// Who had what was in its way then.
    kept: BTreeSet<String>,
}

/// All circuits of a run whose circuits are asked for, the first [`MOST`] of them.
#[derive(Debug)]
pub(crate) struct CrossConnects {
    hosts: Hosts,
    rows: Vec<Row>,
    /// Those that are not down.
    there: BTreeMap<(u8, Pair), usize>,
}

impl CrossConnects {
    /// Of this plan, if its circuits are asked for.
    pub(crate) fn new(plan: &Scenario) -> Option<Box<CrossConnects>> {
        plan.asked()?;
        Some(Box::new(CrossConnects {
            hosts: plan.hosts,
            rows: Vec::new(),
            there: BTreeMap::new(),
        }))
    }

    /// Hears of circuits that change, come up and go down.
    #[cold]
    pub(crate) fn on(&mut self, now: Time, event: Event) {
        match event {
            Event::Changing {
                pair,
                plane,
                by,
                program,
                asked,
            } => {
                let who = self.who(by, program);
                self.begin(Some(now), (pair, plane), Some((who, asked)));
            }
            Event::Awaited {
                pair,
                plane,
                by,
                program,
                asked,
            } => {
                let who = self.who(by, program);
                self.begin(None, (pair, plane), Some((who, asked)));
            }
            Event::Kept { by, program, .. } => {
                let who = self.who(by, program);
                let awaited = self.rows.last_mut().filter(|row| row.granted.is_none());
                if let Some(row) = awaited {
                    row.kept.insert(who);
                }
            }
            Event::Circuit { pair, plane, up } | Event::Joined { pair, plane, up } => {
                self.turn(now, (pair, plane), up);
            }
            _ => {}
        }
    }

    /// A job, or the host of a program.
    fn who(&self, by: u32, program: bool) -> String {
        match program {
            true => Place::Host(self.hosts.host(by.min(self.hosts.count() - 1))).to_string(),
            false => format!("job {by}"),
        }
    }

    fn begin(
        &mut self,
        granted: Option<Time>,
        circuit: (Pair, Plane),
        asked: Option<(String, Time)>,
    ) {
        let (pair, plane) = circuit;
        if self.rows.len() >= MOST {
            return;
        }
        if granted.is_some() {
            self.there.insert((plane.0, pair), self.rows.len());
        }
        self.rows.push(Row {
            pair,
            plane,
            asked,
            granted,
            up: None,
            down: None,
            kept: BTreeSet::new(),
        });
    }

    fn turn(&mut self, now: Time, (pair, plane): (Pair, Plane), up: bool) {
        let key = (plane.0, pair);
        match (self.there.get(&key).copied(), up) {
            (Some(row), true) => self.rows[row].up = Some(now),
            (Some(row), false) => {
                self.rows[row].down = Some(now);
                self.there.remove(&key);
            }
            // One of the first, which nobody asked for.
            (None, true) if now == Time::ZERO => {
                self.begin(Some(now), (pair, plane), None);
                self.turn(now, (pair, plane), true);
            }
            // Of more circuits than are kept.
            (None, _) => {}
        }
    }

    /// One row a circuit, in the order in which they were granted.
    pub(crate) fn table(&self) -> Table {
        let rows = &self.rows;
        let at = |time: Option<Time>| time.map_or(-1, |time| time.0 as i64);
        let who = |row: &Row| row.asked.as_ref().map_or("", |(who, _)| who).to_owned();
        let kept = |row: &Row| row.kept.iter().cloned().collect::<Vec<_>>().join(", ");
        named([
            ("src", integers(rows, |row| row.pair.src.into())),
            ("dst", integers(rows, |row| row.pair.dst.into())),
            ("plane", integers(rows, |row| row.plane.0.into())),
            ("asked_by", Column::Text(rows.iter().map(who).collect())),
            (
                "asked_ns",
                integers(rows, |row| at(row.asked.as_ref().map(|asked| asked.1))),
            ),
            ("granted_ns", integers(rows, |row| at(row.granted))),
            ("up_ns", integers(rows, |row| at(row.up))),
            ("down_ns", integers(rows, |row| at(row.down))),
            ("kept_by", Column::Text(rows.iter().map(kept).collect())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn a_circuit_is_granted_comes_up_and_goes_down() {
        let mut found = CrossConnects {
            hosts: example::plan().hosts,
            rows: Vec::new(),
            there: BTreeMap::new(),
        };
        let plane = Plane::CIRCUIT;
        let pair = |src, dst| Pair { src, dst };
        let turn = |pair, up| Event::Circuit { pair, plane, up };
        let changing = |pair, by, program| Event::Changing {
            pair,
            plane,
            by,
            program,
            asked: Time(5),
        };
        let awaited = Event::Awaited {
            pair: pair(1, 0),
            plane,
            by: 2,
            program: true,
            asked: Time(25),
        };
        let kept = Event::Kept {
            pair: pair(1, 1),
            plane,
            by: 3,
            program: false,
        };
        let events = [
            (0, turn(pair(0, 1), true)),
            (7, changing(pair(0, 0), 1, true)),
            (7, turn(pair(0, 1), false)), // it makes way, and is told a little later
            (17, turn(pair(0, 0), true)),
            (20, changing(pair(1, 1), 3, false)),
            (30, awaited),
            (30, kept),
        ];
        for (time, event) in events {
            found.on(Time(time), event);
        }
        let rows = &found.rows;
        assert_eq!((rows[0].up, rows[0].asked.clone()), (Some(Time(0)), None));
        assert_eq!(rows[1].asked, Some(("r0h1".to_owned(), Time(5))));
        assert_eq!(
            (rows[1].granted, rows[1].up),
            (Some(Time(7)), Some(Time(17)))
        );
        assert_eq!(rows[2].asked, Some(("job 3".to_owned(), Time(5))));
        assert_eq!((rows[2].up, rows[2].down), (None, None));
        assert_eq!(rows[0].down, Some(Time(7)));
        assert_eq!((rows[3].granted, rows[3].up), (None, None));
        assert_eq!(rows[3].kept, ["job 3".to_owned()].into());
    }
}
