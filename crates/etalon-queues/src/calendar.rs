// SPDX-License-Identifier: MIT OR Apache-2.0
//! When ports are done with the packet that they transmit, or packets arrive: a calendar, in which each costs the same whatever their number.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Span, Time};

/// Days of the calendar, a power of two: those that have an entry are found by two words of 64 bits.
const DAYS: usize = 64 * 64;
/// No port.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    /// What comes first of one instant: the least.
    rank: u32,
    /// The next port of the same day; of the last one the first.
    next: u32,
}

impl Entry {
    const NONE: Entry = Entry {
        time: Time::MAX,
        rank: 0,
        next: NONE,
    };

    #[inline]
    fn order(&self) -> (Time, u32) {
        (self.time, self.rank)
    }
}

/// At most one instant for each port, in the order of (time, port); or for each of anything else that has a number, in the order of time
/// and a rank that each has of its own.
///
/// A calendar queue (Brown 1988): a day is a few nanoseconds, the year as long as the longest transmission. Each day has a list in
/// order, so that ports that work in step each join at its end. Transmissions that are under way lie within a year, so that the next day that
/// has an entry has the first.
#[derive(Debug)]
pub struct Calendar {
    /// By port.
    entries: Vec<Entry>,
    /// The last port of each day.
    days: Box<[u32; DAYS]>,
    /// Which days have ports, and which words of these are not zero.
    used: [u64; 64],
    used_words: u64,
    /// Nanoseconds of a day, as a power of two.
    shift: u32,
    /// With its rank.
    first: (Time, u32, u32),
}

impl Calendar {
    /// For so many ports, whose transmissions hardly ever take longer than `longest`.
    pub fn new(ports: usize, longest: Span) -> Calendar {
        let day = longest.0 / (DAYS as u64 - 2) + 1;
        Calendar {
            entries: vec![Entry::NONE; ports],
            days: Box::new([NONE; DAYS]),
            used: [0; 64],
            used_words: 0,
            shift: day.next_power_of_two().trailing_zeros(),
            first: (Time::MAX, NONE, NONE),
        }
    }

    /// When the first port is done, [`Time::MAX`] if none is at work.
    #[inline]
    pub fn next(&self) -> Time {
        self.first.0
    }

    /// The port that is done first, if any is at work.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.first.2 != NONE).then_some(self.first.2)
    }

    /// Whether a port is at work.
    #[inline]
    pub fn is_at_work(&self, port: u32) -> bool {
        self.entries[port as usize].time < Time::MAX
    }

    #[inline]
    fn day(&self, time: Time) -> usize {
        (time.0 >> self.shift) as usize & (DAYS - 1)
    }

    /// A port that is not at work will be done at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, port: u32) {
        self.push_as(time, port, port);
    }

    /// The same in the order of (time, rank), for a number that may be larger than any before. Of equals the first comes first: packets
    /// of parallel circuits, which are kept in order, may arrive together.
    #[inline]
    pub fn push_ranked(&mut self, time: Time, rank: u32, number: u32) {
        if number as usize >= self.entries.len() {
            self.grow(number);
        }
        self.push_as(time, rank, number);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, number: u32) {
        let more = (number as usize + 1).next_power_of_two();
        self.entries.resize(more, Entry::NONE);
    }

    #[inline(always)] // with every packet
    fn push_as(&mut self, time: Time, rank: u32, port: u32) {
        let day = self.day(time);
        let last = self.days[day];
        let mut next = port;
        if last == NONE {
            self.days[day] = port;
            self.used[day / 64] |= 1 << (day % 64);
            self.used_words |= 1 << (day / 64);
        } else {
            let mut before = last;
            if (time, rank) >= self.entries[last as usize].order() {
                self.days[day] = port;
            } else {
                before = self.last_before((time, rank), last);
            }
            next = core::mem::replace(&mut self.entries[before as usize].next, port);
        }
        self.entries[port as usize] = Entry { time, rank, next };
        if (time, rank) < (self.first.0, self.first.1) {
            self.first = (time, rank, port);
        }
    }

    /// The port after which one belongs in its day, which is not at the end; the last one if it belongs first.
    fn last_before(&self, order: (Time, u32), last: u32) -> u32 {
        let mut before = last;
        loop {
            let next = self.entries[before as usize].next;
            if self.entries[next as usize].order() > order {
                return before;
            }
            before = next;
        }
    }

    /// Takes the first port.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        let (time, _, port) = self.first;
        if port == NONE {
            return None;
        }
        let (day, next) = (self.day(time), self.entries[port as usize].next);
        self.entries[port as usize].time = Time::MAX;
        if next == port {
            self.clear(day);
        } else {
            // It is the first of its day, which the last one knows.
            let last = self.days[day];
            self.entries[last as usize].next = next;
            let (after, rank) = self.entries[next as usize].order();
            if after.0 >> self.shift == time.0 >> self.shift {
                self.first = (after, rank, next);
                return Some(port);
            }
        }
        self.find_first(time);
        Some(port)
    }

    /// Nothing is left of a day.
    #[inline]
    fn clear(&mut self, day: usize) {
        self.days[day] = NONE;
        self.used[day / 64] &= !(1 << (day % 64));
        if self.used[day / 64] == 0 {
            self.used_words &= !(1 << (day / 64));
        }
    }

    /// A port gives up what it transmits, if it does.
    #[cold]
    pub fn remove(&mut self, port: u32) {
        let (time, _, first) = self.first;
        if self.entries[port as usize].time < Time::MAX {
            self.unlink(port);
            if port == first {
                self.find_first(time);
            }
        }
    }

    /// A port leaves its day. [`Calendar::pop`] does the same of the first one on its own, without what only others need: shared code costs
    /// each passage of a packet three instructions.
    fn unlink(&mut self, port: u32) {
        let Entry { time, next, .. } = self.entries[port as usize];
        let day = self.day(time);
        self.entries[port as usize].time = Time::MAX;
        if next == port {
            return self.clear(day);
        }
        let mut before = self.days[day];
        let is_last = before == port;
        while self.entries[before as usize].next != port {
            before = self.entries[before as usize].next;
        }
        self.entries[before as usize].next = next;
        if is_last {
            self.days[day] = before;
        }
    }

    /// Looks what comes first, given that nothing comes before `since`.
    #[inline]
    fn find_first(&mut self, since: Time) {
        self.first = (Time::MAX, NONE, NONE);
        if self.used_words == 0 {
            return;
        }
        let first = self.first_of(self.next_day(self.day(since)));
        // It is of this year, or all are of later ones.
        if first.0.0 >> self.shift < (since.0 >> self.shift) + DAYS as u64 {
            self.first = first;
        } else {
            self.search();
        }
    }

    /// The first day from `day` on that has a port; after the last comes the first.
    #[inline]
    fn next_day(&self, day: usize) -> usize {
        let word = day / 64;
        let here = self.used[word] & (u64::MAX << (day % 64));
        if here != 0 {
            return word * 64 + here.trailing_zeros() as usize;
        }
        let later = self.used_words & (u64::MAX << word) & !(1 << word);
        let words = if later == 0 { self.used_words } else { later };
        let word = words.trailing_zeros() as usize;
        word * 64 + self.used[word].trailing_zeros() as usize
    }

    /// The first of a day that has a port.
    #[inline]
    fn first_of(&self, day: usize) -> (Time, u32, u32) {
        let first = self.entries[self.days[day] as usize].next;
        let (time, rank) = self.entries[first as usize].order();
        (time, rank, first)
    }

    /// The first of all: for packets that are longer than any of the year.
    #[cold]
    fn search(&mut self) {
        let at_work = self.all().map(|(time, _)| time);
        // Its day has it first: of what is equal, what was pushed first.
        self.first = at_work.min().map_or((Time::MAX, NONE, NONE), |time| {
            self.first_of(self.day(time))
        });
    }

    /// All that are at work, by number, and when each is done.
    pub fn all(&self) -> impl Iterator<Item = (Time, u32)> + '_ {
        let all = (0..)
            .zip(&self.entries)
            .map(|(port, entry)| (entry.time, port));
        all.filter(|&(time, _)| time < Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ports_are_done_in_the_order_of_time_and_number_or_rank(
            ports in 1usize..300,
            longest in prop_oneof![Just(1u64), 100u64..30_000, Just(70_000_000)],
            ranked in any::<bool>(),
            // Numbers that share a rank, and often a time: the first comes first.
            shared in any::<bool>(),
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u8..20), 1..400),
        ) {
            let known = if ranked { 0 } else { ports };
            let mut calendar = Calendar::new(known, Span(longest));
            // The model's third number is the place in the order of pushes where ranks are shared, and the port's own elsewhere.
            let mut model: Vec<(Time, u32, u32, u32)> = Vec::new();
            let mut pushes = 0;
            let mut now = Time(1 << 40);
            for (port, span, what) in steps {
                let port = port.index(ports) as u32;
                let shared = ranked && shared;
                let rank = match (ranked, shared) {
                    (_, true) => port % 3,
                    (true, false) => !port,
                    (false, false) => port,
                };
                let idle = model.iter().all(|entry| entry.3 != port);
                if what == 0 && !idle {
                    calendar.remove(port);
                    model.retain(|entry| entry.3 != port);
                } else if idle {
                    // One in twenty takes longer than a year.
                    let most = if what == 1 { 5 * longest } else { longest };
                    let least = if shared { most / 4 + 1 } else { 1 };
                    let time = now + Span(span % (most + 1) / least * least);
                    match ranked {
                        true => calendar.push_ranked(time, rank, port),
                        false => calendar.push(time, port),
                    }
                    pushes += 1;
                    model.push((time, rank, pushes, port));
                } else if let Some(&first) = model.iter().min() {
                    prop_assert_eq!((calendar.next(), calendar.pop()), (first.0, Some(first.3)));
                    model.retain(|entry| *entry != first);
                    now = first.0;
                }
                let next = model.iter().min().map_or(Time::MAX, |first| first.0);
                prop_assert_eq!(calendar.next(), next);
                prop_assert_eq!(calendar.all().count(), model.len());
            }
        }
    }
}
