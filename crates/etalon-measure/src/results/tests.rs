// SPDX-License-Identifier: MIT OR Apache-2.0
use etalon_events::{Event, Plane, Probe};
use serde_json::{Value, json};

use super::*;
use crate::example::{BACK, CIRCUIT, FORTH, PACKET, circuit, departed, dequeue, dropped, enqueue};

/// What an engine says of a run, at instants in ns.
struct Engine {
    plan: Scenario,
    metrics: Metrics,
    meter: Meter,
}

impl Engine {
    fn new(change: impl FnOnce(&mut Value)) -> Engine {
        let mut plan = serde_json::from_str(include_str!("../../tests/plan.json")).expect("JSON");
        change(&mut plan);
        let plan = Scenario::from_json(&plan.to_string()).expect("a good plan");
        let metrics = Metrics::new(&plan);
        let meter = Meter::new(&plan, &metrics);
        Engine {
            plan,
            metrics,
            meter,
        }
    }

    fn says(&mut self, time: u64, event: Event) {
        self.metrics.on(Time(time), event);
    }

    /// The warm-up ends.
    fn begin(&mut self) {
        self.metrics.begin();
        self.meter.begin(Time(100_000), |_| Counters::default());
    }

    /// A data packet of a flow leaves, with so much payload.
    fn data(&mut self, time: u64, flow: usize, payload: u32, plane: Plane) {
        let pair = self.plan.flows[flow].pair();
        self.says(time, departed(pair, payload + 66, 40_000, plane));
        self.meter
            .data_left(Time(time), flow, payload, payload, plane);
    }

    fn end(mut self, time: u64) -> Results {
        self.metrics.finish(Time(time));
        self.meter.finish(Time(time));
        collect(&Outcome {
            plan: &self.plan,
            metrics: &self.metrics,
            meter: &self.meter,
            flows: &vec![FlowFacts::default(); self.plan.flows.len()],
            opened: &[],
            writes: &[],
            jobs: &crate::jobs::JobRows::default(),
            end: Time(time),
            partial: false,
            events: 0,
            peak_in_network: 0,
        })
    }
}

fn column<'a>(table: &'a Table, name: &str) -> Option<&'a Column> {
    table.iter().find(|column| column.0 == name).map(|c| &c.1)
}

fn integers<'a>(table: &'a Table, name: &str) -> &'a [i64] {
    match column(table, name) {
        Some(Column::Integers(values)) => values,
        other => panic!("{name} is {other:?}"),
    }
}

fn floats<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match column(table, name) {
        Some(Column::Floats(values)) => values,
        other => panic!("{name} is {other:?}"),
    }
}

fn text<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    match column(table, name) {
        Some(Column::Text(values)) => values.iter().map(String::as_str).collect(),
        Some(Column::Names { names, rows }) => {
            rows.iter().map(|&row| names[usize::from(row)]).collect()
        }
        other => panic!("{name} is {other:?}"),
    }
}

fn dumbbell(plan: &mut Value) {
    plan["schedule"] = Value::Null;
    let stage = |rate: Option<u64>| json!({"rate_bps": rate, "queue_packets": 10, "delay_ns": 50});
    plan["network"] = json!({"dumbbell": {
        "stages": [stage(Some(20_000_000_000)), stage(Some(10_000_000_000)), stage(None)],
        "return_stages": [stage(None)]}});
}

#[test]
fn utilization_is_of_the_capacity_that_the_pair_had() {
    let gate = |open| Event::Gate {
        pair: FORTH,
        plane: PACKET,
        open,
    };
    let mut engine = Engine::new(|_| {});
    engine.begin();
    // 0.8 ms of a day at 80 Gb/s are 8 MB, 0.2 ms of night at 10 Gb/s are 250 kB.
    engine.says(100_000, circuit(FORTH, true));
    engine.says(100_000, gate(false));
    engine.data(140_000, 0, 4_000_000, CIRCUIT);
    engine.says(900_000, circuit(FORTH, false));
    engine.says(900_000, gate(true));
    engine.data(1_000_000, 0, 50_000, PACKET);
    let results = engine.end(1_100_000);
    let pairs = &results.pairs;
    assert_eq!(integers(pairs, "src"), [0]);
    assert_eq!(integers(pairs, "circuit_capacity_bytes"), [8_000_000]);
    assert_eq!(integers(pairs, "packet_capacity_bytes"), [250_000]);
    assert_eq!(floats(pairs, "circuit_utilization"), [0.5]);
    assert_eq!(floats(pairs, "packet_utilization"), [0.2]);
    assert_eq!(integers(pairs, "circuit_payload_bytes"), [4_000_000]);
    assert_eq!(integers(pairs, "packet_packets"), [1]);
}

#[test]
fn nsdi20_measures_from_packet_to_packet() {
    let mut engine = Engine::new(|_| {});
    engine.begin();
    // 1 ms between the packets, of which 0.8 ms count as days at 80 Gb/s: 8 MB.
    engine.data(100_000, 0, 4_000_000, CIRCUIT);
    engine.data(1_100_000, 0, 50_000, PACKET);
    let pairs = engine.end(1_100_000).pairs;
    assert_eq!(floats(&pairs, "circuit_utilization_nsdi20"), [0.5]);
}

#[test]
fn no_capacity_and_one_packet_are_no_division() {
    let mut engine = Engine::new(|_| {});
    engine.begin();
    engine.data(100_000, 0, 4_000, CIRCUIT);
    let pairs = engine.end(1_100_000).pairs;
    assert_eq!(floats(&pairs, "circuit_utilization"), [0.0]);
    assert_eq!(floats(&pairs, "circuit_utilization_nsdi20"), [0.0]);
}

#[test]
fn columns_and_rows_are_called_by_the_networks_planes() {
    let results = Engine::new(|_| {}).end(1_100_000);
    assert_eq!(results.meta.planes, ["packet", "circuit"]);
    for name in ["packet_bytes", "circuit_bytes"] {
        assert_eq!(integers(&results.flows, name), [0, 0]);
    }
    assert_eq!(
        text(&results.days, "quantity"),
        ["day_ns", "week_ns", "packet_rate_bps", "circuit_rate_bps"]
    );

    let mut engine = Engine::new(dumbbell);
    engine.begin();
    // 1 ms through 10 Gb/s, the narrowest link: 1.25 MB.
    engine.data(140_000, 0, 1_000_000, PACKET);
    engine.data(1_100_000, 0, 250_000, PACKET);
    let results = engine.end(1_100_000);
    assert_eq!(results.meta.planes, ["packet"]);
    // And 125 bytes that may have been in the 100 ns behind that link when measurement began, and a packet of 9014 on it (in
    // whole nanoseconds).
    assert_eq!(
        integers(&results.pairs, "packet_capacity_bytes"),
        [1_259_141]
    );
    assert!((floats(&results.pairs, "packet_utilization")[0] - 0.99274).abs() < 1e-5);
    let of_circuits = |table: &Table| table.iter().any(|column| column.0.contains("circuit"));
    assert!(!of_circuits(&results.pairs) && !of_circuits(&results.flows));
    assert_eq!(text(&results.days, "quantity").len(), 3);
    // Nobody hears how long a dumbbell's queues are.
    assert!(floats(&results.pairs, "voq_mean")[0].is_nan());
}

#[test]
fn latency_has_a_row_for_each_bin_of_each_plane() {
    let mut engine = Engine::new(|_| {});
    engine.begin();
    for (pair, latency, plane) in [
        (FORTH, 100, CIRCUIT),
        (FORTH, 100, CIRCUIT),
        (FORTH, 200, CIRCUIT),
        (FORTH, 100, PACKET),
        (BACK, 7, PACKET),
    ] {
        engine.says(200_000, departed(pair, 9014, latency, plane));
    }
    let latency = engine.end(1_100_000).latency;
    assert_eq!(integers(&latency, "src"), [0, 0, 0, 1]);
    assert_eq!(
        text(&latency, "network"),
        ["packet", "circuit", "circuit", "packet"]
    );
    // Up to 512 ns a bin is one nanosecond.
    assert_eq!(integers(&latency, "lower_ns"), [100, 100, 200, 7]);
    assert_eq!(integers(&latency, "upper_ns"), [101, 101, 201, 8]);
    assert_eq!(integers(&latency, "count"), [1, 2, 1, 1]);
}

#[test]
fn pairs_are_those_that_carried_data_or_lost_packets() {
    let mut engine = Engine::new(|_| {});
    engine.begin();
    engine.says(200_000, enqueue(FORTH, 4));
    assert_eq!(integers(&engine.end(1_100_000).pairs, "src").len(), 0);

    let mut engine = Engine::new(|_| {});
    engine.begin();
    engine.says(200_001, dropped(FORTH, 4, DropReason::Full));
    assert_eq!(integers(&engine.end(1_100_000).pairs, "src"), [0]);

    let mut engine = Engine::new(|_| {});
    engine.begin();
    engine.says(200_000, enqueue(FORTH, 4));
    engine.says(200_001, dropped(FORTH, 4, DropReason::Full));
    engine.says(200_002, dropped(FORTH, 4, DropReason::HoldFull));
    engine.says(200_003, circuit(FORTH, true));
    engine.says(200_004, dequeue(FORTH, 3, 9014, CIRCUIT));
    engine.data(230_000, 1, 8948, CIRCUIT);
    engine.says(230_001, dequeue(FORTH, 2, 9014, CIRCUIT));
    engine.data(240_000, 1, 8948, CIRCUIT);
    let pairs = engine.end(1_100_000).pairs;
    assert_eq!(integers(&pairs, "dst"), [1]);
    assert_eq!(integers(&pairs, "dropped_voq"), [1]);
    assert_eq!(integers(&pairs, "dropped_shrink"), [0]);
    assert_eq!(integers(&pairs, "dropped_hold"), [1]);
    assert_eq!(floats(&pairs, "voq_at_day_start"), [4.0]);
    // 3 packets when the first one left, 2 when the second one did.
    assert_eq!(floats(&pairs, "voq_mean_per_departure"), [2.5]);
    // 4 packets for 4 ns, 3 for 29,997 ns, then 2 to the end of the measured millisecond.
    assert_eq!(floats(&pairs, "voq_mean"), [1.830_005]);
}

#[test]
fn the_digest_is_of_flows_too() {
    let digest = |received: u64| {
        let mut engine = Engine::new(|_| {});
        engine.meter.received(Time(300_000), 1, received);
        engine.end(1_100_000).meta.digest
    };
    assert_eq!(digest(9_999), digest(0));
    assert_ne!(digest(10_000), digest(9_999));
}

#[test]
fn a_file_that_was_not_written_has_no_end() {
    let write = |end| Write {
        job: 1,
        writer: 2,
        rack: 3,
        host: 4,
        bytes: 50,
        written: 49,
        start: Time(6),
        end,
    };
    let table = writes(&[write(None), write(Some(Time(7)))]);
    assert_eq!(integers(&table, "end_ns"), [-1, 7]);
    assert_eq!(integers(&table, "bytes_written"), [49, 49]);
}
