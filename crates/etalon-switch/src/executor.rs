// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedule executor: turns weeks into transitions at exact instants.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::rules::{Initial, Rules, Step};
use crate::week::{PairSteps, Progress, Week};
use crate::{Pair, Weeks};

/// A week that starts.
pub(crate) struct NewWeek {
    pub(crate) number: u64,
    /// Its schedule is another: all is to be as [`Executor::initial`] says.
    pub(crate) is_adopted: bool,
}

/// What the schedule did to a pair while it slept.
pub(crate) struct Missed {
    /// How the first week found it, when it began.
    pub(crate) initial: Initial,
    /// Weeks that are over, if any are.
    pub(crate) over: Weeks,
    /// Of a week, in order.
    pub(crate) steps: Vec<(Span, Step)>,
    /// How many of them have been taken in the week that is not over.
    pub(crate) taken: usize,
}

/// Runs weeks, one after the other. Every instant is the week's start plus an offset, so nothing drifts.
#[derive(Debug)]
pub(crate) struct Executor {
    week: Week,
    /// Adopted when the current week ends.
    next_week: Option<Week>,
    /// Adopted when the first week ends that does not end before this time, in order of time.
    later: VecDeque<(Time, Week)>,
    week_start: Time,
    weeks: u64,
    progress: Progress,
}

impl Executor {
    /// The first week starts at `start`.
    pub(crate) fn new(week: Week, start: Time) -> Executor {
        Executor {
            // What goes before is a week without length that ends at `start`.
            week: Week::default(),
            next_week: Some(week),
            later: VecDeque::new(),
            week_start: start,
            weeks: 0,
            progress: Progress::default(),
        }
    }

    /// Adopts `week` at the next roll-over.
    pub(crate) fn adopt(&mut self, week: Week) {
        self.next_week = Some(week);
    }

    /// Adopts `week` at the first roll-over that is not before `at`.
    pub(crate) fn adopt_later(&mut self, at: Time, week: Week) {
        let place = self.later.partition_point(|&(other, _)| other <= at);
        self.later.insert(place, (at, week));
    }

    /// When the next action is due.
    pub(crate) fn next_time(&self) -> Time {
        let next = self.week.next(&self.progress);
        self.week_start + next.unwrap_or(self.week.length())
    }

    /// When the current week ends.
    pub(crate) fn roll_over(&self) -> Time {
        self.week_start + self.week.length()
    }

    /// How the current week finds those pairs that have a day in it, in order.
    pub(crate) fn initial(&self) -> &[Initial] {
        self.week.initial()
    }

    /// Takes the steps of the current week that are due, in order.
    pub(crate) fn take_due(&mut self, now: Time, steps: &mut Vec<Step>) {
        let until = now.saturating_since(self.week_start);
        self.week.take_due(until, &mut self.progress, steps);
    }

    /// All of the current week is over.
    fn is_over(&self, now: Time) -> bool {
        self.week.next(&self.progress).is_none() && self.roll_over() <= now
    }

    /// The current week, which has begun, is over, and the next one is another.
    pub(crate) fn adopts(&self, now: Time) -> bool {
        let is_due = |&(at, _): &(Time, Week)| at <= self.roll_over();
        let is_another = self.next_week.is_some() || self.later.front().is_some_and(is_due);
        self.weeks > 0 && is_another && self.is_over(now)
    }

    /// The week that pairs sleep in or are woken in: the first, before it has begun, or the current one.
    fn week_mut(&mut self) -> &mut Week {
        match &mut self.next_week {
            Some(first) if self.weeks == 0 => first,
            _ => &mut self.week,
        }
    }

    /// A pair has steps in the current week, or nothing ever happens to it there.
    pub(crate) fn is_awake(&self, pair: Pair) -> bool {
        self.week.is_awake(pair)
    }

    /// In the first week, which has not begun, pairs have no steps unless they are [woken](Executor::wake).
    pub(crate) fn sleep(&mut self) {
        self.week_mut().sleep();
    }

    /// A pair has steps from now on, unless it has already. Returns those that it had none of, with their times; there was no other week
    /// than the current one.
    pub(crate) fn wake(&mut self, pair: Pair, rules: &Rules) -> Option<Missed> {
        let week = self.week_mut();
        if week.is_awake(pair) {
            return None;
        }
        week.wake(pair);
        let before = self.weeks.checked_sub(1)?;
        let length = self.week.length();
        let PairSteps {
            initial,
            steps,
            taken,
        } = self.week.steps_of(pair, rules, &self.progress);
        Some(Missed {
            initial,
            over: Weeks {
                start: Time(self.week_start.0 - before * length.0),
                length,
                count: before,
            },
            steps,
            taken,
        })
    }

    /// Starts the next week, if all of the current one is over.
    pub(crate) fn new_week(&mut self, now: Time) -> Option<NewWeek> {
        if !self.is_over(now) {
            return None;
        }
        self.week_start += self.week.length();
        self.progress = Progress::default();
        let number = self.weeks;
        self.weeks += 1;
        while self
            .later
            .front()
            .is_some_and(|&(at, _)| at <= self.week_start)
        {
            self.next_week = self.later.pop_front().map(|(_, week)| week);
        }
        let next = self.next_week.take();
        let is_adopted = next.is_some();
        if let Some(week) = next {
            self.week = week;
        }
        Some(NewWeek { number, is_adopted })
    }
}
