//! Circuits that change at once, apart from weeks: those that are asked for.

use alloc::vec::Vec;

use etalon_units::Time;

use crate::executor::{Rules, Signal, Step};
use crate::{Pair, Plane, Switch};

/// Steps that are to come, in order.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    steps: Vec<(Time, Step)>,
}

impl Changes {
    /// When the first is due; [`Time::MAX`] if there is none.
    pub(crate) fn next_time(&self) -> Time {
        self.steps.first().map_or(Time::MAX, |&(time, _)| time)
    }

    /// Takes those that are due, in order.
    pub(crate) fn take_due(&mut self, now: Time, steps: &mut Vec<Step>) {
        let due = self.steps.partition_point(|&(time, _)| time <= now);
        steps.extend(self.steps.drain(..due).map(|(_, step)| step));
    }
}

impl<H: Copy> Switch<H> {
    /// Takes some circuits down now, and sets others up at `live`, of the first kind of circuits; all others carry on. What a day of a
    /// pair has in advance (a closed gate in the night before, a big VOQ, ECE, notifications) it has before `live`, from now on at the
    /// earliest, and loses when its circuit goes down. Weeks are to leave these pairs alone.
    pub fn change(&mut self, now: Time, down: &[Pair], up: &[Pair], live: Time) {
        let rules = Rules::new(&self.config);
        let plane = Plane::CIRCUIT;
        let mut steps = core::mem::take(&mut self.changes.steps);
        for &pair in down {
            steps.push((now, Step::Down(pair)));
            for signal in Signal::ALL {
                steps.push((now, Step::Off(signal, pair)));
            }
            if rules.told.is_some() && rules.has_packet {
                steps.push((now, Step::Tell(pair, Plane::PACKET)));
            }
        }
        let ahead = |lead| Time(live.0.saturating_sub(lead)).max(now);
        for &pair in up {
            steps.push((live, Step::Up(pair, plane)));
            for signal in Signal::ALL {
                if let Some(lead) = rules.lead(signal, live - now) {
                    steps.push((ahead(lead.0), Step::On(signal, pair)));
                }
            }
            if let Some(lead) = rules.told {
                steps.push((ahead(lead.0), Step::Tell(pair, plane)));
            }
        }
        steps.sort_unstable();
        self.changes.steps = steps;
        self.await_step();
    }
}
