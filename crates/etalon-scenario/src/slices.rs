// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slices: times in which no circuit switch changes its matching.

use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::check::{ScenarioError, ensure};
use crate::network::CircuitSwitch;

/// Slices of a cycle at most.
pub const MOST_SLICES: usize = 1 << 16;

/// The times between changes of several circuit switches, each of which goes through its own matchings, until all are where they began.
///
/// A slice begins when a switch begins a day with another matching, or the same one again. Nights are at the ends of slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    switches: usize,
    cycle: Span,
    /// When each begins in the cycle.
    starts: Vec<Span>,
    /// Slice by slice, switch by switch, the configuration that it is in.
    configurations: Vec<u32>,
    /// In the same order, when in the slice its circuits go; the slice's length if they stay.
    dark: Vec<Span>,
    nodes: usize,
    /// Switch by switch, configuration by configuration: the rack that each rack's uplink leads to, [`NOBODY`] for none.
    met: Vec<Vec<u16>>,
}

/// A rack whose uplink leads to none.
const NOBODY: u16 = u16::MAX;

/// A slice of a cycle that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Which of the cycle's.
    pub number: u32,
    /// When it begins.
    pub start: Time,
    /// How long it is.
    pub length: Span,
}

impl Slice {
    /// When it ends, and the next begins.
    #[must_use]
    pub fn end(&self) -> Time {
        self.start.saturating_add(self.length)
    }
}

impl Slices {
    /// Of these circuit switches.
    ///
    /// # Errors
    /// [`ScenarioError`] if it takes too long until all are where they began.
    pub fn of(switches: &[CircuitSwitch]) -> Result<Slices, ScenarioError> {
        let cycle = cycle(switches)?;
        let mut starts = Vec::new();
        for switch in switches {
            for turn in 0..cycle.0 / switch.rotation.week().0 {
                let mut at = switch.offset + switch.rotation.week() * turn;
                for one in switch.rotation.configurations() {
                    starts.push(Span(at.0 % cycle.0));
                    at = at + one.day + one.night;
                }
            }
        }
        starts.sort_unstable();
        starts.dedup();
        let mut slices = Slices {
            switches: switches.len(),
            cycle,
            starts: Vec::new(),
            configurations: Vec::with_capacity(starts.len() * switches.len()),
            dark: Vec::with_capacity(starts.len() * switches.len()),
            nodes: switches
                .first()
                .map_or(0, |one| one.rotation.racks().into()),
            met: switches.iter().map(met).collect(),
        };
        for (index, &start) in starts.iter().enumerate() {
            let end = match starts.get(index + 1) {
                Some(&next) => next,
                None => starts[0] + cycle,
            };
            for switch in switches {
                let (configuration, left) = at(switch, start);
                slices.configurations.push(configuration);
                slices.dark.push(left.min(end.saturating_sub(start)));
            }
        }
        slices.starts = starts;
        Ok(slices)
    }

    /// A rack's uplink leads elsewhere from now on, or nowhere; for switches that stay as they are.
    pub fn connect(&mut self, rack: u16, switch: usize, peer: Option<u16>) {
        let place = self.configuration(0, switch) * self.nodes + usize::from(rack);
        self.met[switch][place] = peer.unwrap_or(NOBODY);
    }

    /// How many a cycle has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Never: a cycle has a slice.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// How many circuit switches there are.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.switches
    }

    /// How long it takes until all switches are where they began.
    #[must_use]
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// Whether nothing ever changes.
    #[must_use]
    pub fn are_static(&self) -> bool {
        self.len() == 1 && (0..self.switches).all(|switch| self.stays(0, switch))
    }

    /// The slice at this time.
    #[must_use]
    pub fn at(&self, now: Time) -> Slice {
        let within = Span(now.0 % self.cycle.0);
        let begin = Time(now.0 - within.0);
        match self.starts.partition_point(|&start| start <= within) {
            // The cycle's last slice, which began before this cycle.
            0 => {
                let number = self.len() - 1;
                let before = self.cycle.saturating_sub(self.starts[number]);
                Slice {
                    number: number as u32,
                    // Time has no beginning for switches, but has one here.
                    start: Time(begin.0.saturating_sub(before.0)),
                    length: match begin.0 >= before.0 {
                        true => before + self.starts[0],
                        false => Span(begin.0) + self.starts[0],
                    },
                }
            }
            next => Slice {
                number: (next - 1) as u32,
                start: begin.saturating_add(self.starts[next - 1]),
                length: self.length(next - 1),
            },
        }
    }

    /// The slice that follows.
    #[must_use]
    pub fn after(&self, slice: Slice) -> Slice {
        let number = (slice.number as usize + 1) % self.len();
        Slice {
            number: number as u32,
            start: slice.end(),
            length: self.length(number),
        }
    }

    /// How long a slice is.
    #[must_use]
    pub fn length(&self, slice: usize) -> Span {
        let next = self.starts.get(slice + 1);
        let end = next.copied().unwrap_or(self.starts[0] + self.cycle);
        end.saturating_sub(self.starts[slice])
    }

    /// Which of its configurations a switch is in.
    #[must_use]
    pub fn configuration(&self, slice: usize, switch: usize) -> usize {
        self.configurations[slice * self.switches + switch] as usize
    }

    /// How long after the slice's start a switch's circuits go; the slice's length if they stay.
    #[must_use]
    pub fn dark_after(&self, slice: usize, switch: usize) -> Span {
        self.dark[slice * self.switches + switch]
    }

    /// Whether a switch keeps its circuits to the end of the slice, and beyond it.
    #[must_use]
    pub fn stays(&self, slice: usize, switch: usize) -> bool {
        let next = (slice + 1) % self.len();
        self.dark_after(slice, switch) == self.length(slice)
            && self.configuration(slice, switch) == self.configuration(next, switch)
    }

    /// Until when a switch keeps the circuits that it has at the start of a slice, [`Time::MAX`] if for good; none if it has none then.
    #[must_use]
    pub fn lit_until(&self, mut slice: Slice, switch: usize) -> Option<Time> {
        let dark = |slice: &Slice| {
            // The end is known even of a slice that began before time did.
            let number = slice.number as usize;
            let rest = self
                .length(number)
                .saturating_sub(self.dark_after(number, switch));
            Time(slice.end().0.saturating_sub(rest.0))
        };
        if dark(&slice) <= slice.start {
            return None;
        }
        for _ in 0..=self.len() {
            if !self.stays(slice.number as usize, switch) {
                return Some(dark(&slice));
            }
            slice = self.after(slice);
        }
        Some(Time::MAX)
    }

    /// Whether a switch has other circuits from the start of a slice on than before.
    #[must_use]
    pub fn changes(&self, slice: usize, switch: usize) -> bool {
        let before = (slice + self.len() - 1) % self.len();
        self.dark_after(slice, switch) > Span::ZERO && !self.stays(before, switch)
    }

    /// The rack that what `rack` sends over an uplink reaches in this slice, before the switch goes dark.
    #[must_use]
    #[inline]
    pub fn peer(&self, slice: usize, rack: u16, switch: usize) -> Option<u16> {
        let configuration = self.configuration(slice, switch);
        let met = self.met[switch][configuration * self.nodes + usize::from(rack)];
        (met != NOBODY).then_some(met)
    }
}

/// Where each rack's uplink leads, in each configuration of a switch.
fn met(switch: &CircuitSwitch) -> Vec<u16> {
    let nodes = usize::from(switch.rotation.racks());
    let configurations = switch.rotation.configurations();
    let mut met = alloc::vec![NOBODY; configurations.len() * nodes];
    for (row, one) in met.chunks_mut(nodes).zip(configurations) {
        for pair in one.matching.pairs() {
            row[usize::from(pair.src)] = pair.dst;
        }
    }
    met
}

/// The configuration of a switch so long after the beginning, and how long its circuits stay up then.
fn at(switch: &CircuitSwitch, time: Span) -> (u32, Span) {
    let week = switch.rotation.week();
    let mut into = (time + week).saturating_sub(switch.offset).0 % week.0;
    for (number, one) in (0..).zip(switch.rotation.configurations()) {
        let length = one.day + one.night;
        if into < length.0 {
            return (number, Span(one.day.0.saturating_sub(into)));
        }
        into -= length.0;
    }
    (0, Span::ZERO) // not reached: the configurations fill the week
}

/// The least common multiple of all cycles.
fn cycle(switches: &[CircuitSwitch]) -> Result<Span, ScenarioError> {
    let weeks = || switches.iter().map(|switch| switch.rotation.week().0);
    let multiple = |all: u64, week| (all / gcd(all, week)).checked_mul(week);
    // Twice as long is still a time.
    let all = weeks().try_fold(1, multiple).filter(|&all| all < 1 << 62);
    let days = all.map_or(u64::MAX, |all| {
        let days = switches.iter().map(|switch| {
            let days = switch.rotation.configurations().len() as u64;
            (all / switch.rotation.week().0).saturating_mul(days)
        });
        days.fold(0, u64::saturating_add)
    });
    ensure!(
        days <= MOST_SLICES as u64,
        "it takes {days} days or more until all circuit switches are where they began, and {MOST_SLICES} at most are run: take cycles with a smaller common multiple"
    );
    Ok(Span(all.unwrap_or(1)))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use etalon_units::Rate;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::{Configuration, Matching, Plane, Schedule};

    /// A switch of two racks, with days and nights.
    fn switch(offset: u64, days: &[(u64, u64)]) -> CircuitSwitch {
        let configurations = days.iter().map(|&(day, night)| Configuration {
            matching: Matching::new(vec![Some(1), Some(0)]).unwrap(),
            day: Span(day),
            night: Span(night),
            plane: Plane::CIRCUIT,
        });
        CircuitSwitch {
            rate: Rate(1),
            delay: Span::ZERO,
            offset: Span(offset),
            rotation: Schedule::new(configurations.collect()).unwrap(),
        }
    }

    #[test]
    fn two_switches_take_turns() {
        // Each holds a matching for two slices of 100, and is dark in the last 10.
        let switches = [
            switch(0, &[(190, 10), (190, 10)]),
            switch(100, &[(190, 10), (190, 10)]),
        ];
        let slices = Slices::of(&switches).unwrap();
        assert_eq!((slices.len(), slices.cycle()), (4, Span(400)));
        let held: Vec<_> = (0..4)
            .map(|s| (slices.configuration(s, 0), slices.configuration(s, 1)))
            .collect();
        assert_eq!(held, [(0, 1), (0, 0), (1, 0), (1, 1)]);
        let dark: Vec<_> = (0..4)
            .map(|s| (slices.dark_after(s, 0).0, slices.dark_after(s, 1).0))
            .collect();
        assert_eq!(dark, [(100, 90), (90, 100), (100, 90), (90, 100)]);
        assert!(slices.stays(0, 0) && !slices.stays(0, 1));
        let now = slices.at(Time(1099));
        assert_eq!(
            (now.number, now.start, now.end()),
            (2, Time(1000), Time(1100))
        );
        assert_eq!(slices.after(slices.at(Time(399))), slices.at(Time(400)));
    }

    #[test]
    fn the_first_slice_may_have_begun_before_time_did() {
        let slices = Slices::of(&[switch(30, &[(90, 10)])]).unwrap();
        let first = slices.at(Time(0));
        assert_eq!((first.start, first.length), (Time(0), Span(30)));
        let later = slices.at(Time(120));
        assert_eq!((later.start, later.length), (Time(30), Span(100)));
        let wrapped = slices.at(Time(229));
        assert_eq!((wrapped.start, wrapped.end()), (Time(130), Time(230)));
    }

    #[test]
    fn what_never_changes_is_static() {
        assert!(Slices::of(&[switch(0, &[(7, 0)])]).unwrap().are_static());
        assert!(!Slices::of(&[switch(0, &[(7, 1)])]).unwrap().are_static());
    }

    #[test]
    fn cycles_that_hardly_ever_meet_are_refused() {
        let why = Slices::of(&[switch(0, &[(65_537, 0)]), switch(0, &[(65_536, 0)])]);
        assert!(why.unwrap_err().0.contains("131073 days"));
        let huge = Slices::of(&[
            switch(0, &[(u64::MAX >> 3, 0)]),
            switch(0, &[((1 << 61) - 3, 0)]),
        ]);
        assert!(huge.is_err());
    }

    proptest! {
        /// At every instant the slice says of each switch what that says of itself.
        #[test]
        fn slices_agree_with_every_switch(
            days in prop::collection::vec((0u64..60, prop::collection::vec((1u64..20, 0u64..5), 1..4)), 1..4),
        ) {
            let switches: Vec<CircuitSwitch> = days
                .iter()
                .map(|(offset, days)| {
                    let week: u64 = days.iter().map(|(day, night)| day + night).sum();
                    switch(offset % week, days)
                })
                .collect();
            let Ok(slices) = Slices::of(&switches) else { return Ok(()); };
            let mut expected = slices.at(Time(0));
            for now in 0..3 * slices.cycle().0.min(2000) {
                if Time(now) == expected.end() {
                    expected = slices.after(expected);
                }
                let slice = slices.at(Time(now));
                prop_assert_eq!(slice, expected);
                for (index, switch) in switches.iter().enumerate() {
                    let (configuration, left) = at(switch, Span(now));
                    let (number, into) = (slice.number as usize, now - slice.start.0);
                    prop_assert_eq!(slices.configuration(number, index), configuration as usize);
                    // The first slice may have lost its beginning, and knows how it ends all the same.
                    let skipped = slices.length(number).0 - slice.length.0;
                    let dark = slices.dark_after(number, index).0;
                    prop_assert_eq!(into + skipped < dark, left > Span::ZERO);
                }
                prop_assert!(slice.end() > Time(now));
            }
        }
    }
}
