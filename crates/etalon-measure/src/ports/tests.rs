// SPDX-License-Identifier: MIT OR Apache-2.0
use etalon_events::{DropReason, Event, Pair, Plane, Probe};
use serde_json::{Value, json};

use super::*;
use crate::probe::Metrics;

const PAIR: Pair = Pair { src: 0, dst: 1 };
/// Bytes: 10,000 bits.
const SIZE: u32 = 1250;

/// Metrics of the ports of a network, after a warm-up of 100 us.
fn metrics(network: &Value) -> Metrics {
    let mut plan: Value =
        serde_json::from_str(include_str!("../../tests/plan.json")).expect("JSON");
    plan["network"] = network.clone();
    plan["schedule"] = Value::Null;
    plan["measure"]["ports"] = json!(true);
    Metrics::new(&Scenario::from_json(&plan.to_string()).expect("a good plan"))
}

/// Two leaves below one spine, of links of 1 Gb/s: 10 us for a packet.
fn leaf_spine() -> Metrics {
    let layer = json!({"rate_bps": 1_000_000_000, "delay_ns": 1000, "queue_packets": 8});
    metrics(&json!({"leaf-spine": {"spines": 1, "rack": layer, "spine": layer}}))
}

fn queue(at: u16, number: u16) -> QueueId {
    QueueId { at, number }
}

fn enqueue(queue: QueueId, len: u32) -> Event {
    Event::Enqueue {
        pair: PAIR,
        queue,
        len,
        bytes: SIZE,
    }
}

fn dequeue(queue: QueueId, len: u32) -> Event {
    Event::Dequeue {
        pair: PAIR,
        queue,
        len,
        bytes: SIZE,
        plane: Plane::PACKET,
    }
}

/// The rows of a table as numbers, by `from` and `to`.
fn row(metrics: &Metrics, from: &str, to: &str, end: u64) -> Vec<f64> {
    let table = metrics.ports.as_ref().expect("ports").table(Time(end));
    let column = |name: &str| &table.iter().find(|column| column.0 == name).expect("it").1;
    let (Column::Text(froms), Column::Text(tos)) = (column("from"), column("to")) else {
        panic!("names are text");
    };
    let ends = froms.iter().zip(tos);
    let index = ends
        .clone()
        .position(|ends| ends == (&from.into(), &to.into()));
    let index = index.expect("a port between these");
    let number = |name| match column(name) {
        Column::Integers(values) => values[index] as f64,
        Column::Floats(values) => values[index],
        Column::Text(_) | Column::Names { .. } => f64::NAN,
    };
    [
        "packets",
        "bytes",
        "dropped",
        "marked",
        "longest",
        "queue_p50",
        "queue_p99",
        "queue_mean",
        "utilization",
    ]
    .map(number)
    .to_vec()
}

#[test]
fn every_port_has_its_own_row() {
    let mut metrics = leaf_spine();
    metrics.begin();
    let (up, down) = (queue(0, 2), queue(2, 1));
    let full = Event::Dropped {
        pair: PAIR,
        queue: up,
        len: 2,
        bytes: SIZE,
        reason: DropReason::Full,
    };
    let marked = Event::Marked {
        pair: PAIR,
        queue: up,
        len: 2,
    };
    for (time, event) in [
        (100_000, enqueue(up, 1)),
        (102_000, enqueue(up, 2)),
        (102_000, marked),
        (103_000, full),
        (110_000, dequeue(up, 1)),
        (111_000, enqueue(down, 1)),
        (120_000, dequeue(up, 0)),
        (121_000, dequeue(down, 0)),
    ] {
        metrics.on(Time(time), event);
    }
    metrics.finish(Time(200_000));
    let mean = (2.0 + 2.0 * 8.0 + 10.0) / 100.0;
    assert_eq!(
        row(&metrics, "r0", "s0", 200_000),
        [2.0, 2500.0, 1.0, 1.0, 2.0, 0.0, 2.0, mean, 0.2]
    );
    assert_eq!(
        row(&metrics, "s0", "r1", 200_000),
        [1.0, 1250.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.1, 0.1]
    );
    assert_eq!(row(&metrics, "r1", "r1h0", 200_000), [0.0; 9]);
}

#[test]
fn what_was_transmitted_before_measurement_is_not_utilisation() {
    let mut metrics = leaf_spine();
    let up = queue(0, 2);
    metrics.on(Time(92_500), enqueue(up, 1));
    metrics.begin();
    metrics.on(Time(102_500), dequeue(up, 0));
    metrics.finish(Time(200_000));
    // Three quarters of it had left, and it stood in the queue for 2.5 us more.
    assert_eq!(
        row(&metrics, "r0", "s0", 200_000),
        [1.0, 1250.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.025, 0.025]
    );
}

#[test]
fn packets_of_a_dumbbell_leave_without_an_event() {
    let stage = json!({"rate_bps": 1_000_000_000, "queue_packets": 8, "delay_ns": 1000});
    let wire = json!({"rate_bps": null, "queue_packets": null, "delay_ns": 1000});
    let mut metrics =
        metrics(&json!({"dumbbell": {"stages": [stage, stage], "return_stages": [wire]}}));
    let scheduled = |until| Event::Scheduled {
        pair: PAIR,
        queue: queue(0, 1),
        bytes: SIZE,
        until: Time(until),
    };
    for (time, until) in [(80_000, 90_000), (81_000, 100_000)] {
        metrics.on(Time(time), scheduled(until));
    }
    metrics.begin();
    for (time, until) in [(105_000, 115_000), (106_000, 125_000), (107_000, 135_000)] {
        metrics.on(Time(time), scheduled(until));
    }
    // It ends early, so that what leaves with its end counts.
    metrics.finish(Time(125_000));
    let mean = (1.0 + 2.0 + 3.0 * 8.0 + 2.0 * 10.0) / 25.0;
    assert_eq!(
        row(&metrics, "f1", "r1", 125_000),
        [3.0, 3750.0, 0.0, 0.0, 3.0, 2.0, 3.0, mean, 0.8]
    );
    assert_eq!(row(&metrics, "r0", "f1", 125_000), [0.0; 9]);
}

#[test]
fn some_packets_of_a_port_leave_with_an_event_and_some_without() {
    let mut metrics = leaf_spine();
    metrics.begin();
    let up = queue(0, 2);
    let scheduled = Event::Scheduled {
        pair: PAIR,
        queue: up,
        bytes: SIZE,
        until: Time(111_000),
    };
    for (time, event) in [
        (100_000, enqueue(up, 1)),
        (101_000, scheduled),
        (102_000, dequeue(up, 0)),
        (112_000, enqueue(up, 1)),
        (120_000, dequeue(up, 0)),
    ] {
        metrics.on(Time(time), event);
    }
    metrics.finish(Time(200_000));
    let mean = (1.0 + 2.0 + 9.0 + 8.0) / 100.0;
    assert_eq!(
        row(&metrics, "r0", "s0", 200_000),
        [3.0, 3750.0, 0.0, 0.0, 2.0, 0.0, 1.0, mean, 0.22]
    );
}
