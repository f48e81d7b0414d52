// SPDX-License-Identifier: MIT OR Apache-2.0
//! What NSDI'20 divided by for its utilisation.

use etalon_events::Pair;
use etalon_scenario::{PlaneFacts, Scenario};
use etalon_units::{Span, Time};

use crate::pairs::PairMetrics;

/// The days of a week that repeats.
pub(crate) struct Days {
    racks: usize,
    week: Span,
    planes: usize,
    /// By pair and then by plane: its days of a week together.
    times: Vec<Span>,
}

impl Days {
    /// None if weeks differ.
    pub(crate) fn new(plan: &Scenario, planes: usize) -> Option<Days> {
        if plan.control().is_some() || plan.asked().is_some() || !plan.changes().is_empty() {
            return None;
        }
        let schedule = plan.first_week();
        let racks = usize::from(plan.hosts.racks);
        let mut times = vec![Span::ZERO; racks * racks * planes];
        for day in schedule.configurations() {
            for pair in day.matching.pairs() {
                times[pair.index(racks) * planes + day.plane.index()] += day.day;
            }
        }
        Some(Days {
            racks,
            week: schedule.week(),
            planes,
            times,
        })
    }

    /// The share of a week that days of the pair have, by plane.
    fn shares(&self, pair: Pair) -> Vec<f64> {
        let first = pair.index(self.racks) * self.planes;
        let of_pair = &self.times[first..first + self.planes];
        let share = |time: &Span| time.0 as f64 / self.week.0 as f64;
        of_pair.iter().map(share).collect()
    }
}

/// What utilisation is measured over by NSDI'20: the time between packets, and the share of it that the pair's days have, by plane.
pub(crate) struct Span20 {
    seconds: f64,
    day_shares: Vec<f64>,
}

impl Span20 {
    pub(crate) fn new(
        plan: &Scenario,
        days: Option<&Days>,
        metrics: &PairMetrics,
        pair: Pair,
        end: Time,
    ) -> Span20 {
        let Some(days) = days else {
            // Weeks differ: what counts is when there were circuits, in all of the measured time.
            let seconds = end.saturating_since(plan.begin()).as_secs_f64();
            let up = metrics.up.iter();
            let day_shares = up.map(|up| up.as_secs_f64() / seconds).collect();
            return Span20 {
                seconds,
                day_shares,
            };
        };
        let first = metrics.first.unwrap_or(metrics.last);
        Span20 {
            seconds: metrics.last.saturating_since(first).as_secs_f64(),
            day_shares: days.shares(pair),
        }
    }

    /// The time in which a plane serves the pair, in seconds.
    pub(crate) fn of_plane(&self, plane: usize, facts: &PlaneFacts) -> f64 {
        let share = if facts.in_days {
            self.day_shares[plane]
        } else {
            1.0 - self.day_shares.iter().sum::<f64>()
        };
        self.seconds * share
    }
}
