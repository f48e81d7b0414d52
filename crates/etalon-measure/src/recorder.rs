//! The events of a trace.

use etalon_switch::{DropReason, Network, Pair, Probe};
use etalon_units::{Span, Time};

use crate::probe::Metrics;
use crate::results::{Column, Table};
use crate::trace::Window;

#[derive(Clone, Copy, Debug)]
struct Event {
    time: Time,
    kind: &'static str,
    pair: Option<Pair>,
    value: u64,
    bytes: u32,
    network: Option<Network>,
}

/// Writes down what happens in a part of a run, and passes it on to the run's metrics.
#[derive(Debug)]
pub struct Recorder {
    /// The run's metrics.
    pub metrics: Metrics,
    window: Window,
    events: Vec<Event>,
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

    fn record(
        &mut self,
        time: Time,
        kind: &'static str,
        pair: Option<Pair>,
        value: u64,
        bytes: u32,
        network: Option<Network>,
    ) {
        if self.window.has(time) {
            self.events.push(Event {
                time,
                kind,
                pair,
                value,
                bytes,
                network,
            });
        }
    }

    /// The events that were recorded, one row each: `t_ns`, `kind`, `src` and `dst` rack (-1 for none), `value` (by kind:
    /// VOQ length, capacity, latency, number of day or week), `bytes`, `network`.
    #[must_use]
    pub fn into_table(self) -> Table {
        let rack = |f: fn(Pair) -> u16| {
            Column::Integers(
                self.events
                    .iter()
                    .map(|e| e.pair.map_or(-1, |p| f(p).into()))
                    .collect(),
            )
        };
        let network = |e: &Event| match e.network {
            Some(Network::Packet) => "packet",
            Some(Network::Circuit) => "circuit",
            None => "",
        };
        vec![
            (
                "t_ns",
                Column::Integers(self.events.iter().map(|e| e.time.0 as i64).collect()),
            ),
            (
                "kind",
                Column::Text(self.events.iter().map(|e| e.kind.to_owned()).collect()),
            ),
            ("src", rack(|p| p.src)),
            ("dst", rack(|p| p.dst)),
            (
                "value",
                Column::Integers(self.events.iter().map(|e| e.value as i64).collect()),
            ),
            (
                "bytes",
                Column::Integers(self.events.iter().map(|e| e.bytes.into()).collect()),
            ),
            (
                "network",
                Column::Text(self.events.iter().map(|e| network(e).to_owned()).collect()),
            ),
        ]
    }
}

impl Probe for Recorder {
    fn enqueue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32) {
        self.metrics.enqueue(now, pair, len, bytes);
        self.record(now, "enqueue", Some(pair), len.into(), bytes, None);
    }

    fn dequeue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, network: Network) {
        self.metrics.dequeue(now, pair, len, bytes, network);
        self.record(now, "dequeue", Some(pair), len.into(), bytes, Some(network));
    }

    fn dropped(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, reason: DropReason) {
        self.metrics.dropped(now, pair, len, bytes, reason);
        self.record(now, "drop", Some(pair), len.into(), bytes, None);
    }

    fn marked(&mut self, now: Time, pair: Pair, len: u32) {
        self.metrics.marked(now, pair, len);
        self.record(now, "mark", Some(pair), len.into(), 0, None);
    }

    fn resized(&mut self, now: Time, pair: Pair, capacity: u32) {
        self.metrics.resized(now, pair, capacity);
        self.record(now, "resize", Some(pair), capacity.into(), 0, None);
    }

    fn week(&mut self, now: Time, week: u64) {
        self.metrics.week(now, week);
        self.record(now, "week", None, week, 0, None);
    }

    fn held(&mut self, now: Time, pair: Pair, bytes: u32) {
        self.metrics.held(now, pair, bytes);
        self.record(now, "hold", Some(pair), 0, bytes, None);
    }

    fn day(&mut self, now: Time, day: u32) {
        self.metrics.day(now, day);
        self.record(now, "day", None, day.into(), 0, None);
    }

    fn night(&mut self, now: Time, day: u32) {
        self.metrics.night(now, day);
        self.record(now, "night", None, day.into(), 0, None);
    }

    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        self.metrics.circuit(now, pair, up);
        let kind = if up { "circuit_up" } else { "circuit_down" };
        self.record(now, kind, Some(pair), 0, 0, Some(Network::Circuit));
    }

    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, network: Network) {
        self.metrics.departed(now, pair, bytes, latency, network);
        self.record(now, "depart", Some(pair), latency.0, bytes, Some(network));
    }
}
