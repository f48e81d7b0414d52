// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who hears of events.

use etalon_units::{Span, Time};

use crate::{Event, Pair};

/// Weeks of a schedule that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weeks {
    /// When the first of them starts.
    pub start: Time,
    /// How long each is.
    pub length: Span,
    /// How many there are.
    pub count: u64,
}

impl Weeks {
    /// The first `count` of them are dealt with, up to all.
    pub fn pass(&mut self, count: u64) {
        let count = count.min(self.count);
        self.start = Time(self.start.0 + count * self.length.0);
        self.count -= count;
    }
}

/// Hears of events as they happen.
///
/// Times never decrease from one call to the next, and events of one instant come in the order in which they happen; but what a
/// schedule did to a rack pair that slept (`Switch::let_idle_pairs_sleep`) is told, with its times, when that wakes.
///
/// An emitter names the event that it emits, so a probe whose `on` is inlined costs what it does of that event, and `()`,
/// which hears nothing, costs nothing.
pub trait Probe {
    /// `event` happens at `time`.
    fn on(&mut self, time: Time, event: Event);

    /// The same happens to a pair in each of these weeks, which are over: `tell` tells it of the week that starts at a time. Who can do
    /// without need not hear of all of them.
    fn on_weeks(&mut self, _: Pair, mut weeks: Weeks, mut tell: impl FnMut(&mut Self, Time))
    where
        Self: Sized,
    {
        while weeks.count > 0 {
            tell(self, weeks.start);
            weeks.pass(1);
        }
    }
}

impl Probe for () {
    #[inline(always)]
    fn on(&mut self, _: Time, _: Event) {}
}

/// A closure as a probe.
#[derive(Clone, Copy, Debug)]
pub struct Listener<F>(pub F);

impl<F: FnMut(Time, Event)> Probe for Listener<F> {
    #[inline(always)] // the closure decides
    fn on(&mut self, time: Time, event: Event) {
        (self.0)(time, event);
    }
}
