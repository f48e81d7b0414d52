//! A compiled week: what a schedule does to pairs, and when.
//!
//! Where a thousand racks take turns a week has four million steps. So they are not listed: a *turn* is all that happens to the
//! pairs of one day at one instant for one reason, and its steps are made when it is due.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_units::Span;

use crate::executor::{Initial, Rules, Signal, Step};
use crate::{Pair, Plane, Schedule};

/// No rack: racks are fewer.
const NOBODY: u16 = u16::MAX;

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
}

impl Day {
    fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        let racks = (0..).zip(&self.destinations);
        racks
            .filter(|&(_, &dst)| dst != NOBODY)
            .map(|(src, &dst)| Pair { src, dst })
    }

    /// The pairs with one of these bits, in order.
    fn with(&self, bits: u8) -> impl Iterator<Item = Pair> + '_ {
        let racks = (0..).zip(self.destinations.iter().zip(&self.changes));
        racks
            .filter(move |(_, (_, changes))| **changes & bits != 0)
            .map(|(src, (&dst, _))| Pair { src, dst })
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
    /// By pair; of those that are not there, no circuit is up and no signal on, and their TDN is [`Plane::PACKET`].
    initial: Vec<Initial>,
}

/// How far a week is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    turns: usize,
    tells: usize,
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
        const NONE: u32 = u32::MAX;
        let racks = self.days.first().map_or(0, |day| day.destinations.len());
        let mut last_of = alloc::vec![NONE; racks * racks];
        // The first time around leaves the last days behind, which the first ones follow.
        for is_second in [false, true] {
            for number in 0..self.days.len() {
                for src in 0..racks {
                    let dst = self.days[number].destinations[src];
                    if dst == NOBODY {
                        continue;
                    }
                    let last = &mut last_of[src * racks + usize::from(dst)];
                    let before = core::mem::replace(last, number as u32);
                    if is_second {
                        self.look_between(before as usize, number, src, rules, initial);
                    }
                }
            }
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
        let length = self.length.0;
        let mut turns = Vec::new();
        for (number, day) in (0..).zip(&self.days) {
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
        turns.sort_unstable();
        self.turns = turns;
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
        });
        (start, night) = (end + c.night, c.night);
    }
    days
}
