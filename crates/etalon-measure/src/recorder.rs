//! The events of a trace.

use etalon_events::{Event, Pair, Probe, Source};
use etalon_units::Time;

use crate::probe::Metrics;
use crate::results::{Column, Table, named};
use crate::trace::Window;

/// Writes down what happens in a part of a run, and passes it on to the run's metrics.
#[derive(Debug)]
pub struct Recorder {
    /// The run's metrics.
    pub metrics: Metrics,
    window: Window,
    events: Vec<(Time, Event)>,
}

impl Recorder {
    /// Records what happens in `window`, around `metrics`.
    #[must_use]
    pub fn new(metrics: Metrics, window: Window) -> Recorder {
        Recorder {
            metrics,
            window,
            events: Vec::new(),
        }
    }

    /// The events that were recorded, one row each: `t_ns`, `kind`, `src` and `dst` rack (-1 for none), `value` (by kind:
    /// queue length, capacity, latency, number of day or week), `bytes`, `network` (the plane's name), `at` (the
    /// switch) and `queue` (its number there; -1 for none).
    #[must_use]
    pub fn into_table(self) -> Table {
        let integers = |f: &dyn Fn(Event) -> Option<i64>, none: i64| {
            let value = |&(_, event): &(Time, Event)| f(event).unwrap_or(none);
            Column::Integers(self.events.iter().map(value).collect())
        };
        let rack = |f: fn(Pair) -> u16| integers(&|e| e.pair().map(|pair| f(pair).into()), -1);
        let text = |f: &dyn Fn(Event) -> &'static str| {
            Column::Text(self.events.iter().map(|e| f(e.1).to_owned()).collect())
        };
        let planes = self.metrics.planes();
        let plane = |e: Event| e.plane().map_or("", |plane| planes[plane.index()].name);
        named([
            (
                "t_ns",
                Column::Integers(self.events.iter().map(|e| e.0.0 as i64).collect()),
            ),
            ("kind", text(&|e| e.name())),
            ("src", rack(|pair| pair.src)),
            ("dst", rack(|pair| pair.dst)),
            ("value", integers(&|e| e.value().map(|v| v as i64), 0)),
            ("bytes", integers(&|e| e.bytes().map(|b| b as i64), 0)),
            ("network", text(&plane)),
            ("at", integers(&|e| e.queue().map(|q| q.at.into()), -1)),
            (
                "queue",
                integers(&|e| e.queue().map(|q| q.number.into()), -1),
            ),
        ])
    }
}

impl Probe for Recorder {
    #[inline]
    fn on(&mut self, time: Time, event: Event) {
        self.metrics.on(time, event);
        if event.source() == Source::Network && self.window.has(time) {
            self.events.push((time, event));
        }
    }
}

#[cfg(test)]
mod tests;
