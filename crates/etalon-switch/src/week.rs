// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compiled week: what a schedule does to pairs, and when.
//!
//! Where a thousand racks take turns a week has four million steps. So they are not listed: a *turn* is all that happens to the
//! pairs of one day at one instant for one reason, and its steps are made when it is due.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_units::Span;

use crate::rules::{Initial, Rules, Signal, Step};
use crate::{Pair, Plane, Schedule};

/// No rack: racks are fewer.
const NOBODY: u16 = u16::MAX;
/// No day.
const NEVER: u32 = u32::MAX;

/// The circuit changes between two days of a pair; bits below are those of signals that are off for a while between them.
const CHANGES: u8 = 1 << Signal::ALL.len();
/// What lies before a pair's day is in the upper half of a byte, what lies after it in the lower.
const BEFORE: u32 = 4;

/// What is due at one instant to the pairs of a day, which is given by its number. Turns of an instant come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Night(u32),
    Dark,
    Down(u32),
    Off(Signal, u32),
    Light,
    Day(u32),
    Up(u32),
    On(Signal, u32),
}

impl Turn {
    /// The day whose pairs it may be for.
    fn day(self) -> Option<u32> {
        match self {
            Turn::Down(day) | Turn::Off(_, day) | Turn::Up(day) | Turn::On(_, day) => Some(day),
            Turn::Night(_) | Turn::Dark | Turn::Light | Turn::Day(_) => None,
        }
    }
}

/// A day and its circuits.
#[derive(Debug)]
struct Day {
    start: Span,
    end: Span,
    /// The night before.
    night: Span,
    plane: Plane,
    /// By source.
    destinations: Vec<u16>,
    /// By source: what changes before this day and after it, since the pair's day before and until its next.
    changes: Vec<u8>,
    /// By source: the pair's day before this one, which may be in the week before. Empty if that is this one for all pairs.
    before: Vec<u32>,
    /// The sources of pairs that are awake, in order, and of none: those that sleep have no steps.
    awake: Vec<u16>,
}

impl Day {
    fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        let racks = (0..).zip(&self.destinations);
        racks
            .filter(|&(_, &dst)| dst != NOBODY)
            .map(|(src, &dst)| Pair { src, dst })
    }

    /// The pairs that are awake with one of these bits, in order.
    fn with(&self, bits: u8) -> impl Iterator<Item = Pair> + '_ {
        let awake = self.awake.iter().copied();
        awake
            .filter(move |&src| self.changes[usize::from(src)] & bits != 0)
            .map(|src| Pair {
                src,
                dst: self.destinations[usize::from(src)],
            })
    }

    /// What a turn does to the pair of this source, if anything.
    fn step(&self, turn: Turn, src: u16) -> Option<Step> {
        let index = usize::from(src);
        let dst = self.destinations[index];
        let pair = Pair { src, dst };
        let (bits, step) = match turn {
            Turn::Down(_) => (CHANGES, Step::Down(pair)),
            Turn::Off(signal, _) => (signal.bit(), Step::Off(signal, pair)),
            Turn::Up(_) => (CHANGES << BEFORE, Step::Up(pair, self.plane)),
            Turn::On(signal, _) => (signal.bit() << BEFORE, Step::On(signal, pair)),
            Turn::Night(_) | Turn::Dark | Turn::Light | Turn::Day(_) => return None,
        };
        (self.changes[index] & bits != 0).then_some(step)
    }
}

/// A compiled week.
#[derive(Debug, Default)]
pub(crate) struct Week {
    length: Span,
    days: Vec<Day>,
    /// By offset from the start of the week, from zero to the week's length inclusive.
    turns: Vec<(Span, Turn)>,
    /// When hosts are told of pairs' TDNs, after all turns of the same instant.
    tells: Vec<(Span, Step)>,
    /// The last day of each pair, by source and then by destination; [`NEVER`] if it has none.
    last_of: Vec<u32>,
    /// By pair; of those that are not there, no circuit is up and no signal on, and their TDN is [`Plane::PACKET`].
    initial: Vec<Initial>,
}

/// How far a week is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    turns: usize,
    tells: usize,
}

/// What a week does to a pair.
pub(crate) struct PairSteps {
    /// How the week finds it.
    pub(crate) initial: Initial,
    /// In order.
    pub(crate) steps: Vec<(Span, Step)>,
    /// How many of them have been taken.
    pub(crate) taken: usize,
}

/// How a week finds those pairs that it does not find as all others.
type Initials = BTreeMap<Pair, Initial>;

fn of_pair(initials: &mut Initials, pair: Pair) -> &mut Initial {
    let entry = initials.entry(pair);
    entry.or_insert_with(|| Initial::at_rest(pair))
}

impl Week {
    pub(crate) fn compile(schedule: &Schedule, rules: &Rules) -> Week {
        let mut week = Week {
            length: schedule.week(),
            days: days_of(schedule),
            ..Week::default()
        };
        let mut initial = Initials::new();
        week.look_between_days(rules, &mut initial);
        week.add_turns(rules);
        if let Some(lead) = rules.told {
            week.add_tells(lead, rules.has_packet, &mut initial);
        }
        week.initial = initial.into_values().collect();
        week
    }

    pub(crate) fn length(&self) -> Span {
        self.length
    }

    /// How the week finds those pairs that have a day in it, in order.
    pub(crate) fn initial(&self) -> &[Initial] {
        &self.initial
    }

    /// When the next steps are due, if there are any left.
    pub(crate) fn next(&self, progress: &Progress) -> Option<Span> {
        let turn = self.turns.get(progress.turns).map(|&(at, _)| at);
        let tell = self.tells.get(progress.tells).map(|&(at, _)| at);
        turn.into_iter().chain(tell).min()
    }

    /// Takes the steps that are due by `until`, in order.
    pub(crate) fn take_due(&self, until: Span, progress: &mut Progress, steps: &mut Vec<Step>) {
        while let Some(now) = self.next(progress).filter(|&at| at <= until) {
            let turns = self.turns[progress.turns..].iter();
            for &(_, turn) in turns.take_while(|&&(at, _)| at == now) {
                self.add_steps(turn, steps);
                progress.turns += 1;
            }
            let tells = self.tells[progress.tells..].iter();
            for &(_, tell) in tells.take_while(|&&(at, _)| at == now) {
                steps.push(tell);
                progress.tells += 1;
            }
        }
    }

    fn add_steps(&self, turn: Turn, steps: &mut Vec<Step>) {
        let day = |number: u32| &self.days[number as usize];
        match turn {
            Turn::Night(number) => steps.push(Step::Night(number)),
            Turn::Dark => steps.push(Step::Dark),
            Turn::Down(number) => steps.extend(day(number).with(CHANGES).map(Step::Down)),
            Turn::Off(signal, number) => {
                let pairs = day(number).with(signal.bit());
                steps.extend(pairs.map(|pair| Step::Off(signal, pair)));
            }
            Turn::Light => steps.push(Step::Light),
            Turn::Day(number) => steps.push(Step::Day(number)),
            Turn::Up(number) => {
                let day = day(number);
                let pairs = day.with(CHANGES << BEFORE);
                steps.extend(pairs.map(|pair| Step::Up(pair, day.plane)));
            }
            Turn::On(signal, number) => {
                let pairs = day(number).with(signal.bit() << BEFORE);
                steps.extend(pairs.map(|pair| Step::On(signal, pair)));
            }
        }
    }

    /// Finds what changes between each day of a pair and its next, and what is on when the week starts.
    fn look_between_days(&mut self, rules: &Rules, initial: &mut Initials) {
        let racks = self.racks();
        let mut last_of = alloc::vec![NEVER; racks * racks];
        // One source after the other, whose part of the table stays at hand. The first time around leaves the last days behind, which
        // the first ones follow.
        for src in 0..racks {
            let last_of = &mut last_of[src * racks..][..racks];
            for is_second in [false, true] {
                for number in 0..self.days.len() {
                    let dst = self.days[number].destinations[src];
                    if dst == NOBODY {
                        continue;
                    }
                    let last = &mut last_of[usize::from(dst)];
                    let before = core::mem::replace(last, number as u32);
                    if is_second {
                        self.note_before(before, number, src);
                        self.look_between(before as usize, number, src, rules, initial);
                    }
                }
            }
        }
        self.last_of = last_of;
    }

    /// Which day of a pair, given by its source, comes before a day of it. With a rotor it is the same one, a week before.
    fn note_before(&mut self, before: u32, number: usize, src: usize) {
        let day = &mut self.days[number];
        if before as usize != number && day.before.is_empty() {
            day.before = alloc::vec![number as u32; day.destinations.len()];
        }
        if let Some(place) = day.before.get_mut(src) {
            *place = before;
        }
    }

    /// What changes for a pair, given by its source, between two days that follow one another.
    fn look_between(
        &mut self,
        before: usize,
        after: usize,
        src: usize,
        rules: &Rules,
        initial: &mut Initials,
    ) {
        let (last, day) = (&self.days[before], &self.days[after]);
        let (dst, src_rack) = (day.destinations[src], src as u16);
        let pair = Pair { src: src_rack, dst };
        let is_first = before >= after;
        let start = day.start + if is_first { self.length } else { Span::ZERO };
        let gap = start - last.end;
        let mut changes = 0;
        if gap > Span::ZERO || last.plane != day.plane {
            changes |= CHANGES;
        } else if day.start == Span::ZERO {
            of_pair(initial, pair).circuit = Some(day.plane);
        }
        for signal in Signal::ALL {
            let Some(lead) = rules.lead(signal, day.night) else {
                continue;
            };
            if gap > lead {
                changes |= signal.bit();
            }
            if is_first && (lead > day.start || (lead == day.start && gap <= lead)) {
                of_pair(initial, pair).signals |= signal.bit();
            }
        }
        self.days[before].changes[src] |= changes;
        self.days[after].changes[src] |= changes << BEFORE;
    }

    fn add_turns(&mut self, rules: &Rules) {
        let mut turns = Vec::new();
        for number in 0..self.days.len() as u32 {
            self.add_turns_of_day(number, rules, &mut turns);
        }
        turns.sort_unstable();
        self.turns = turns;
    }

    fn add_turns_of_day(&self, number: u32, rules: &Rules, turns: &mut Vec<(Span, Turn)>) {
        let (length, day) = (self.length.0, &self.days[number as usize]);
        turns.push((day.start, Turn::Day(number)));
        turns.push((day.end, Turn::Night(number)));
        turns.push((day.start, Turn::Up(number)));
        turns.push((day.end, Turn::Down(number)));
        for signal in Signal::ALL {
            if let Some(lead) = rules.lead(signal, day.night) {
                let on = (day.start.0 + length - lead.0 % length) % length;
                turns.push((Span(on), Turn::On(signal, number)));
                turns.push((day.end, Turn::Off(signal, number)));
            }
        }
        if rules.dark_nights && day.night > Span::ZERO {
            let night = if day.start == Span::ZERO {
                length
            } else {
                day.start.0
            };
            turns.push((Span(night - day.night.0), Turn::Dark));
            turns.push((Span(night), Turn::Light));
        }
    }

    fn racks(&self) -> usize {
        self.days.first().map_or(0, |day| day.destinations.len())
    }

    /// The days of a pair, the last first.
    fn days_of(&self, pair: Pair) -> impl Iterator<Item = u32> + '_ {
        let src = usize::from(pair.src);
        let place = src * self.racks() + usize::from(pair.dst);
        let last = self.last_of.get(place).copied();
        let last = last.filter(|&last| last != NEVER);
        core::iter::successors(last, move |&day| {
            let before = self.days[day as usize].before.get(src).copied();
            before.filter(|&before| before < day) // else it is in the week before
        })
    }

    /// From now on pairs have no steps unless they are [woken](Week::wake).
    pub(crate) fn sleep(&mut self) {
        for day in &mut self.days {
            day.awake.clear();
        }
    }

    /// A pair is awake, or nothing ever happens to it.
    pub(crate) fn is_awake(&self, pair: Pair) -> bool {
        self.days_of(pair).next().is_none_or(|day| {
            let awake = &self.days[day as usize].awake;
            awake.binary_search(&pair.src).is_ok()
        })
    }

    /// A pair has steps from now on.
    pub(crate) fn wake(&mut self, pair: Pair) {
        let days: Vec<u32> = self.days_of(pair).collect();
        for day in days {
            let awake = &mut self.days[day as usize].awake;
            if let Err(place) = awake.binary_search(&pair.src) {
                awake.insert(place, pair.src);
            }
        }
    }

    /// What the week, which is so far, does to a pair.
    pub(crate) fn steps_of(&self, pair: Pair, rules: &Rules, progress: &Progress) -> PairSteps {
        let mut turns = Vec::new();
        for day in self.days_of(pair) {
            self.add_turns_of_day(day, rules, &mut turns);
        }
        turns.sort_unstable();
        let next = self.turns.get(progress.turns);
        let (mut steps, mut taken) = (Vec::new(), 0);
        for turn in turns {
            let day = turn.1.day().map(|day| &self.days[day as usize]);
            if let Some(step) = day.and_then(|day| day.step(turn.1, pair.src)) {
                steps.push((turn.0, step));
                taken += usize::from(next.is_none_or(|next| turn < *next));
            }
        }
        let initial = self.initial.binary_search_by_key(&pair, |w| w.pair);
        PairSteps {
            initial: initial.map_or(Initial::at_rest(pair), |at| self.initial[at]),
            steps,
            taken,
        }
    }

    /// Adds when hosts are told, `lead` before the TDN of a pair changes.
    fn add_tells(&mut self, lead: Span, has_packet: bool, initial: &mut Initials) {
        let mut days_of: BTreeMap<Pair, Vec<u32>> = BTreeMap::new();
        for (number, day) in (0..).zip(&self.days) {
            for pair in day.pairs() {
                days_of.entry(pair).or_default().push(number);
            }
        }
        let length = self.length.0;
        let earlier = |at: Span| Span((at.0 + length - lead.0 % length) % length);
        for (pair, days) in days_of {
            let changes = self.tdn_changes(&days, has_packet);
            let mut tells: Vec<_> = changes
                .iter()
                .map(|&(at, tdn)| (earlier(at), tdn))
                .collect();
            tells.sort_unstable();
            let first = self.days[days[0] as usize].plane;
            of_pair(initial, pair).told = match (tells.first(), tells.last()) {
                (Some(&(Span::ZERO, tdn)), _) | (_, Some(&(_, tdn))) => tdn,
                _ => first,
            };
            let steps = tells.iter().map(|&(at, tdn)| (at, Step::Tell(pair, tdn)));
            self.tells.extend(steps);
        }
        self.tells.sort_unstable();
    }

    /// When the TDN of a pair with these days changes, and to which. Through a night between two days of the pair its gate stays
    /// closed, so that no packet is carried before the second: the TDN remains that of the first.
    fn tdn_changes(&self, days: &[u32], has_packet: bool) -> Vec<(Span, Plane)> {
        let mut changes = Vec::new();
        let befores = days.iter().cycle().skip(days.len() - 1);
        for (&before, &day) in befores.zip(days) {
            let is_first = before >= day;
            let (before, day) = (&self.days[before as usize], &self.days[day as usize]);
            let start = day.start + if is_first { self.length } else { Span::ZERO };
            if start - before.end > day.night && has_packet {
                changes.push((before.end, Plane::PACKET));
            }
            changes.push((day.start, day.plane));
        }
        changes.sort_unstable(); // the first gap began in the week before
        let mut before = changes.last().map(|&(_, tdn)| tdn);
        changes.retain(|&(_, tdn)| before.replace(tdn) != Some(tdn));
        changes
    }
}

fn days_of(schedule: &Schedule) -> Vec<Day> {
    let configurations = schedule.configurations();
    let racks = usize::from(schedule.racks());
    let mut start = Span::ZERO;
    let mut night = configurations.last().map_or(Span::ZERO, |c| c.night);
    let mut days = Vec::with_capacity(configurations.len());
    for c in configurations {
        let mut destinations = alloc::vec![NOBODY; racks];
        for pair in c.matching.pairs() {
            destinations[usize::from(pair.src)] = pair.dst;
        }
        let end = start + c.day;
        days.push(Day {
            start,
            end,
            night,
            plane: c.plane,
            destinations,
            changes: alloc::vec![0; racks],
            before: Vec::new(),
            awake: (0..racks as u16).collect(),
        });
        (start, night) = (end + c.night, c.night);
    }
    days
}
