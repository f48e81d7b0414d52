// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scheduling loop (Etalon'18, section 2.2): estimate demand, compute the next week, have it adopted when the week is
//! over.

use alloc::boxed::Box;
use core::fmt;

use etalon_switch::Schedule;
use etalon_units::{Span, Time};

use crate::demand::Demand;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};

/// When weeks are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The time that a computation takes.
    pub compute: Span,
    /// Between the starts of computations at least; zero for the next as soon as the last is done.
    pub interval: Span,
}

/// Computes weeks from demand, one after the other.
///
/// A computation looks at demand when it starts, and is done [`Pace::compute`] later: a switch that is told of its week
/// then adopts it at its next roll-over. A computation that starts too early to matter, because the next will be done
/// before the roll-over too, is left out. So where computing takes no time, demand is looked at when a week ends.
///
/// The owner has the clock: it calls [`step`](ControlLoop::step) when [`next_event`](ControlLoop::next_event) is due,
/// before the switch does what is due at that instant.
pub struct ControlLoop {
    /// None for one that the owner has, and lends for each step.
    scheduler: Option<Box<dyn Scheduler + Send>>,
    params: Params,
    pace: Pace,
    /// The earliest start of the next computation.
    next: Time,
    /// A week that is being computed, and when it will be done.
    computing: Option<(Time, Schedule)>,
}

impl ControlLoop {
    /// The loop of `scheduler`, none for one that each [`step`](ControlLoop::step) is lent; its first computation starts at
    /// `start` or later.
    #[must_use]
    pub fn new(
        scheduler: Option<Box<dyn Scheduler + Send>>,
        params: Params,
        pace: Pace,
        start: Time,
    ) -> ControlLoop {
        ControlLoop {
            scheduler,
            params,
            pace,
            next: start,
            computing: None,
        }
    }

    /// When [`step`](ControlLoop::step) is due next, for a switch whose week ends at `roll_over`, and whose next ones are as
    /// long as the window.
    #[must_use]
    pub fn next_event(&self, roll_over: Time) -> Time {
        if let Some((done, _)) = self.computing {
            return done;
        }
        let period = self.period();
        // The first roll-over that the next computation can be done for.
        let late = (self.next + self.pace.compute).saturating_since(roll_over);
        let window = self.params.window();
        let target = roll_over + window * late.0.div_ceil(window.0);
        let latest = Time(target.0.saturating_sub(self.pace.compute.0));
        let skipped = latest.saturating_since(self.next).0 / period.0;
        self.next + period * skipped
    }

    /// Whether a [`step`](ControlLoop::step) that is due now looks at demand: it does not where it ends a computation.
    #[must_use]
    pub fn looks_at_demand(&self) -> bool {
        self.computing.is_none()
    }

    /// Starts the computation that is due at `now`, of the `demand` at this instant, or ends it: then returns the week to
    /// be adopted. A loop without a scheduler of its own takes the one that it is `lent`.
    ///
    /// # Errors
    /// [`CannotSchedule`] of the scheduler; [`CannotSchedule::Failed`] if there is none.
    pub fn step(
        &mut self,
        now: Time,
        demand: &Demand,
        lent: Option<&mut dyn Scheduler>,
    ) -> Result<Option<Schedule>, CannotSchedule> {
        if let Some((done, week)) = self.computing.take() {
            if done > now {
                self.computing = Some((done, week));
                return Ok(None);
            }
            return Ok(Some(week));
        }
        let week = match (&mut self.scheduler, lent) {
            (Some(own), _) => own.schedule(demand, &self.params)?,
            (None, Some(lent)) => {
                lent.look_at(now);
                lent.schedule(demand, &self.params)?
            }
            (None, None) => return Err(CannotSchedule::Failed),
        };
        self.next = now + self.period();
        if self.pace.compute == Span::ZERO {
            return Ok(Some(week));
        }
        self.computing = Some((now + self.pace.compute, week));
        Ok(None)
    }

    /// Between the starts of two computations; never zero, for each looks at another instant.
    fn period(&self) -> Span {
        self.pace.compute.max(self.pace.interval).max(Span(1))
    }
}

impl fmt::Debug for ControlLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlLoop")
            .field("params", &self.params)
            .field("pace", &self.pace)
            .field("next", &self.next)
            .field("computing", &self.computing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::max_weight::MaxWeight;
    use crate::testing::params;

    const WEEK: u64 = 2_000_000;

    /// When demand is looked at, and when weeks are handed over, in `weeks` weeks of 2 ms.
    fn run(compute: u64, interval: u64, weeks: u64) -> (Vec<u64>, Vec<u64>) {
        let pace = Pace {
            compute: Span(compute),
            interval: Span(interval),
        };
        let scheduler = Some(Box::new(MaxWeight) as _);
        let mut control = ControlLoop::new(scheduler, params(2000), pace, Time::ZERO);
        let (mut looks, mut weeks_done) = (Vec::new(), Vec::new());
        let mut roll_over = Time(WEEK);
        while roll_over <= Time(weeks * WEEK) {
            let due = control.next_event(roll_over);
            if due > roll_over {
                roll_over += Span(WEEK);
                continue;
            }
            if control.looks_at_demand() {
                looks.push(due.0);
            }
            let week = control.step(due, &Demand::none(2).unwrap(), None);
            if week.unwrap().is_some() {
                weeks_done.push(due.0);
            }
        }
        (looks, weeks_done)
    }

    #[test]
    fn a_computation_that_takes_no_time_is_made_when_the_week_ends() {
        let ends = [WEEK, 2 * WEEK, 3 * WEEK];
        assert_eq!(run(0, 0, 3), (ends.into(), ends.into()));
    }

    #[test]
    fn continuous_computations_that_do_not_matter_are_left_out() {
        // They start every 300 us from 0 on. The one from 1500 us is in time for the first week's end, the next is not:
        // it would be adopted a week later, if it were not replaced by that from 3600 us.
        let (looks, done) = run(300_000, 0, 2);
        assert_eq!(looks, [1_500_000, 3_600_000]);
        assert_eq!(done, [1_800_000, 3_900_000]);
        // Done just as the week ends is in time.
        assert_eq!(run(500_000, 0, 1), ([1_500_000].into(), [WEEK].into()));
    }

    #[test]
    fn the_first_is_for_the_first_week_that_ends_after_the_start() {
        let start = Time(3 * WEEK + 1);
        let pace = Pace::default();
        let scheduler = Some(Box::new(MaxWeight) as _);
        let control = ControlLoop::new(scheduler, params(2000), pace, start);
        assert_eq!(control.next_event(Time(WEEK)), Time(4 * WEEK));
    }

    #[test]
    fn an_interval_spaces_them() {
        let (looks, done) = run(100_000, 700_000, 2);
        assert_eq!(looks, [1_400_000, 3_500_000]);
        assert_eq!(done, [1_500_000, 3_600_000]);
    }

    #[test]
    fn a_computation_longer_than_a_week_holds_for_several() {
        let (looks, done) = run(3_000_000, 0, 6);
        assert_eq!(looks, [0, 3_000_000, 6_000_000, 9_000_000, 12_000_000]);
        assert_eq!(done, [3_000_000, 6_000_000, 9_000_000, 12_000_000]);
    }

    #[test]
    fn a_step_before_its_time_changes_nothing() {
        let pace = Pace {
            compute: Span(100),
            interval: Span::ZERO,
        };
        let scheduler = Some(Box::new(MaxWeight) as _);
        let mut control = ControlLoop::new(scheduler, params(2000), pace, Time(5));
        let none = Demand::none(2).unwrap();
        assert_eq!(control.step(Time(5), &none, None), Ok(None));
        assert_eq!(control.step(Time(104), &none, None), Ok(None));
        assert_eq!(control.next_event(Time(WEEK)), Time(105));
        assert!(control.step(Time(105), &none, None).unwrap().is_some());
    }

    #[test]
    fn a_scheduler_that_is_lent_hears_the_time() {
        struct Clock(Time);
        impl Scheduler for Clock {
            fn look_at(&mut self, now: Time) {
                self.0 = now;
            }
            fn schedule(
                &mut self,
                demand: &Demand,
                p: &Params,
            ) -> Result<Schedule, CannotSchedule> {
                MaxWeight.schedule(demand, p)
            }
        }
        let mut control = ControlLoop::new(None, params(2000), Pace::default(), Time::ZERO);
        let (none, mut clock) = (Demand::none(2).unwrap(), Clock(Time::ZERO));
        assert!(
            control
                .step(Time(7), &none, Some(&mut clock))
                .unwrap()
                .is_some()
        );
        assert_eq!(clock.0, Time(7));
        assert_eq!(
            control.step(Time(8), &none, None),
            Err(CannotSchedule::Failed)
        );
    }
}
