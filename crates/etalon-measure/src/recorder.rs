// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a trace.

use std::collections::HashMap;

use etalon_events::{Event, Pair, Plane, Probe, QueueId, Source};
use etalon_scenario::Scenario;
use etalon_units::Time;

use crate::probe::Metrics;
use crate::table::{Column, Table, named};
use crate::trace::Window;

/// Writes down what happens in a part of a run, and passes it on to the run's metrics.
#[derive(Debug)]
pub struct Recorder {
    /// The run's metrics.
    pub metrics: Metrics,
    window: Window,
    events: Vec<(Time, Event)>,
    /// What ports are called.
    names: HashMap<QueueId, String>,
}

impl Recorder {
    /// Records what happens in `window` of a run of `plan`, around `metrics`.
    #[must_use]
    pub fn new(plan: &Scenario, metrics: Metrics, window: Window) -> Recorder {
        let ports = plan.network.kind().ports(&plan.hosts).into_iter();
        Recorder {
            metrics,
            window,
            events: Vec::new(),
            names: ports
                .map(|port| (port.queue, format!("{}→{}", port.from, port.to)))
                .collect(),
        }
    }

    /// The events that were recorded, one row each: `t_ns`, `kind`, `src` and `dst` rack (-1 for none), `value` (by kind:
    /// queue length, capacity, latency, number of day or week), `bytes`, `network` (the plane's name), `at` (the
    /// switch), `queue` (its number there; -1 for none) and `port` (what that is called; nothing of a rack pair's queue).
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
        let port = |e: Event| {
            let name = e.queue().and_then(|queue| self.names.get(&queue));
            name.cloned().unwrap_or_default()
        };
        let planes = self.metrics.planes();
        // Uplinks of a network of circuits have no names.
        let named_plane = |plane: Plane| planes.get(plane.index()).map_or("", |facts| facts.name);
        let plane = |e: Event| e.plane().map_or("", named_plane);
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
            (
                "port",
                Column::Text(self.events.iter().map(|e| port(e.1)).collect()),
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
