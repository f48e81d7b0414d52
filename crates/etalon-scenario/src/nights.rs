// SPDX-License-Identifier: MIT OR Apache-2.0
//! The nights in which hosts hold what they have.

use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::check::{ScenarioError, ensure};
use crate::{Network, Scenario, Slices};

/// When no circuit is up anywhere: the same in each cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nights {
    cycle: Span,
    /// Start and end within the cycle, in order, apart from one another.
    nights: Vec<(Span, Span)>,
}

impl Nights {
    /// Of spans of a cycle, each beginning and ending within it, in order.
    ///
    /// # Errors
    /// [`ScenarioError`] if there is no night, or nothing else.
    pub fn new(
        cycle: Span,
        spans: impl Iterator<Item = (Span, Span)>,
    ) -> Result<Nights, ScenarioError> {
        let mut nights: Vec<(Span, Span)> = Vec::new();
        for (start, end) in spans.filter(|(start, end)| start < end) {
            match nights.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => nights.push((start, end)),
            }
        }
        ensure!(
            !nights.is_empty(),
            "hosts cannot hold in nights, of which the schedule has none: some circuit is up at any time"
        );
        ensure!(
            nights[0] != (Span::ZERO, cycle),
            "hosts cannot hold in nights, since the schedule has no days"
        );
        Ok(Nights { cycle, nights })
    }

    /// When a transmission may start that is ready at `time`.
    #[must_use]
    pub fn held_until(&self, time: Time) -> Time {
        let within = Span(time.0 % self.cycle.0);
        let begin = Time(time.0 - within.0);
        match self.night_at(within) {
            None => time,
            // The night goes on in the next cycle.
            Some(end) if end == self.cycle => {
                let rest = self.night_at(Span::ZERO).unwrap_or_default();
                begin + self.cycle + rest
            }
            Some(end) => begin + end,
        }
    }

    /// The end of the night at this time of the cycle, if it is one.
    fn night_at(&self, within: Span) -> Option<Span> {
        let after = self.nights.partition_point(|night| night.0 <= within);
        let night = self.nights[..after].last()?;
        (within < night.1).then_some(night.1)
    }
}

impl Scenario {
    /// The nights in which hosts hold, if they do.
    ///
    /// # Errors
    /// [`ScenarioError`] if nobody knows them before.
    pub fn nights(&self) -> Result<Option<Nights>, ScenarioError> {
        match &self.network {
            Network::Rdcn(rdcn) if rdcn.hold => self.nights_of_weeks().map(Some),
            Network::Ocs(ocs) if ocs.hold => nights_of(&Slices::of(&ocs.uplinks)?).map(Some),
            _ => Ok(None),
        }
    }

    fn nights_of_weeks(&self) -> Result<Nights, ScenarioError> {
        let is_known = self.computed().is_none() && self.asked().is_none();
        ensure!(
            is_known && self.changes().is_empty(),
            "hosts cannot hold in nights that nobody knows before: the schedule must be one week that is always the same"
        );
        let week = self.first_week();
        let mut at = Span::ZERO;
        let spans = week.configurations().iter().map(|one| {
            let start = at + one.day;
            at = start + one.night;
            (start, at)
        });
        Nights::new(week.week(), spans)
    }
}

/// When all circuit switches are dark.
fn nights_of(slices: &Slices) -> Result<Nights, ScenarioError> {
    let cycle = slices.cycle();
    let mut slice = slices.at(Time(cycle.0));
    let mut spans = Vec::new();
    for _ in 0..slices.len() {
        let number = slice.number as usize;
        let lit = (0..slices.switches()).map(|switch| slices.dark_after(number, switch));
        let dark = slice.start + lit.max().unwrap_or_default();
        let (start, end) = (Span(dark.0 % cycle.0), Span(slice.end().0 % cycle.0));
        if dark >= slice.end() {
        } else if start < end {
            spans.push((start, end));
        } else {
            spans.extend([(start, cycle), (Span::ZERO, end)]);
        }
        slice = slices.after(slice);
    }
    spans.sort_unstable();
    Nights::new(cycle, spans.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nights(cycle: u64, spans: &[(u64, u64)]) -> Result<Nights, ScenarioError> {
        let spans = spans.iter().map(|&(start, end)| (Span(start), Span(end)));
        Nights::new(Span(cycle), spans)
    }

    #[test]
    fn what_is_ready_in_a_night_waits_for_its_end() {
        let nights = nights(100, &[(0, 5), (40, 50), (50, 60), (90, 100)]).unwrap();
        let held = [
            (3, 5),
            (5, 5),
            (39, 39),
            (40, 60),
            (59, 60),
            (60, 60),
            (95, 105),
            (240, 260),
        ];
        for (ready, until) in held {
            assert_eq!(nights.held_until(Time(ready)), Time(until));
        }
    }

    #[test]
    fn there_must_be_nights_and_days() {
        assert!(nights(100, &[]).is_err());
        assert!(nights(100, &[(7, 7)]).is_err());
        assert!(nights(100, &[(0, 60), (60, 100)]).is_err());
    }
}
