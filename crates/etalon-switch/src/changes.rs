// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits that change when somebody asks, instead of by weeks: only those that change are dark.
//!
//! A circuit that comes up has the signals of a pair's day (see `executor.rs`), as far as its time to come lasts: nobody knew of it
//! before. What goes down does so at once.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use etalon_scenario::CrossConnect;
use etalon_units::{Span, Time};

use crate::rules::{Rules, Signal, Step};
use crate::{Plane, Switch};

/// What is to come, by time; what is due at one instant has the order of steps.
#[derive(Debug, Default)]
pub(crate) struct Changes(BTreeSet<(Time, Step)>);

impl Changes {
    /// When the next step is due, [`Time::MAX`] if there is none.
    pub(crate) fn next_time(&self) -> Time {
        self.0.first().map_or(Time::MAX, |first| first.0)
    }

    /// Takes the steps that are due, in order.
    pub(crate) fn take_due(&mut self, now: Time, steps: &mut Vec<Step>) {
        while self.next_time() <= now {
            steps.extend(self.0.pop_first().map(|first| first.1));
        }
    }

    /// A circuit goes down; if it was to come up, it does not.
    fn down(&mut self, now: Time, CrossConnect { pair, .. }: CrossConnect, rules: &Rules) {
        self.0.retain(|(_, step)| step.pair() != Some(pair));
        self.0.insert((now, Step::Down(pair)));
        for signal in Signal::ALL {
            self.0.insert((now, Step::Off(signal, pair)));
        }
        if rules.told.is_some() && rules.has_packet {
            self.0.insert((now, Step::Tell(pair, Plane::PACKET)));
        }
    }

    /// A circuit comes up after a time in which it is dark.
    fn up(&mut self, now: Time, connect: CrossConnect, dark: Span, rules: &Rules) {
        let CrossConnect { plane, pair } = connect;
        let up = now + dark;
        let before = |lead: Span| Time(up.0.saturating_sub(lead.0)).max(now);
        self.0.insert((up, Step::Up(pair, plane)));
        for signal in Signal::ALL {
            if let Some(lead) = rules.lead(signal, dark) {
                self.0.insert((before(lead), Step::On(signal, pair)));
            }
        }
        if let Some(lead) = rules.told {
            self.0.insert((before(lead), Step::Tell(pair, plane)));
        }
    }
}

impl<H: Copy> Switch<H> {
    /// From now on, before anything has happened, there are no weeks: the circuits of the first day are up, until they are
    /// [changed](Switch::change).
    pub fn follow_requests(&mut self, first: impl Iterator<Item = CrossConnect>) {
        let rules = Rules::new(&self.config);
        let mut changes = Changes::default();
        for connect in first {
            changes.up(Time::ZERO, connect, Span::ZERO, &rules);
        }
        self.changes = Some(changes);
        self.await_step();
    }

    /// Circuits go down at `now`, and others come up after they were `dark`; all others carry on. All that is due before `now` must have
    /// been done, and `added` must not have ports that circuits keep.
    ///
    /// # Panics
    /// If the switch does not [follow requests](Switch::follow_requests).
    pub fn change(
        &mut self,
        now: Time,
        removed: &[CrossConnect],
        added: &[CrossConnect],
        dark: Span,
    ) {
        let rules = Rules::new(&self.config);
        let changes = self.changes.as_mut().expect("a switch that is asked");
        for &connect in removed {
            changes.down(now, connect, &rules);
        }
        for &connect in added {
            changes.up(now, connect, dark, &rules);
        }
        self.await_step();
    }
}
