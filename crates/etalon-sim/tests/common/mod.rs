// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans for tests, and values out of tables.
#![allow(dead_code)]

pub mod graphs;

use etalon_scenario::Scenario;
use etalon_sim::results::{Column, Table};
use etalon_sim::{Control, Results};
use serde_json::{Value, json};

/// Host stack as in Linux.
pub fn tcp() -> Value {
    json!({"hz": 250, "min_rto_ns": 200_000_000u64, "initial_cwnd": 10, "min_delayed_ack_ns": 40_000_000,
        "max_delayed_ack_ns": 200_000_000, "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
        "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3})
}

/// Bulk flows from host i of rack 0 to host i of rack 1.
pub fn bulk(cc: &str, flows: u16) -> Value {
    (0..flows)
        .map(|i| {
            json!({"src_rack": 0, "src_host": i, "dst_rack": 1, "dst_host": i, "cc": cc, "start_ns": 0})
        })
        .collect()
}

/// The mimicked strobe of NSDI'20 for `weeks` weeks.
pub fn strobe(weeks: u64, voq: u32) -> Value {
    let configuration =
        |sources: [i32; 3]| json!({"sources": sources, "day_ns": 180_000, "night_ns": 20_000});
    let mut configurations = vec![configuration([1, 2, 0]); 23];
    configurations.push(configuration([2, 0, 1]));
    json!({"seed": 1, "tdf": 20, "duration_ns": weeks * 4_800_000, "warmup_ns": 0,
        "hosts": {"racks": 3, "per_rack": 16, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 2000, "jitter_ns": 1000},
        "network": {"rdcn": {
            "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 5000, "down_delay_ns": 5000,
                "internal_queue": 3, "hold_queue": 5},
            "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 30_000}],
            "voq": {"packets": voq}}},
        "schedule": {"configurations": configurations},
        "tcp": tcp(), "flows": bulk("cubic", 16), "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}

/// One queue of 100 packets at 10 Gb/s, RTT 60 us.
pub fn dumbbell(duration_ns: u64, flows: Value) -> Value {
    json!({"seed": 1, "tdf": 1, "duration_ns": duration_ns, "warmup_ns": 0,
        "hosts": {"racks": 2, "per_rack": 16, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 0, "jitter_ns": 1000},
        "network": {"dumbbell": {
            "stages": [{"rate_bps": 10_000_000_000u64, "queue_packets": 100, "delay_ns": 30_000}],
            "return_stages": [{"rate_bps": null, "queue_packets": null, "delay_ns": 30_000}]}},
        "tcp": tcp(), "flows": flows, "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}

pub fn plan(value: &Value) -> Scenario {
    Scenario::from_json(&value.to_string()).expect("a good plan")
}

pub fn run(value: &Value) -> Results {
    etalon_sim::run(&plan(value), &Control::default()).expect("a good plan")
}

/// A column of integers.
pub fn integers<'a>(table: &'a Table, name: &str) -> &'a [i64] {
    match column(table, name) {
        Column::Integers(values) => values,
        other => panic!("{name} holds {other:?}"),
    }
}

/// A column of floating-point numbers.
pub fn floats<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match column(table, name) {
        Column::Floats(values) => values,
        other => panic!("{name} holds {other:?}"),
    }
}

/// A column of text.
pub fn texts<'a>(table: &'a Table, name: &str) -> &'a [String] {
    match column(table, name) {
        Column::Text(values) => values,
        other => panic!("{name} holds {other:?}"),
    }
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    &table
        .iter()
        .find(|(n, _)| *n == name)
        .expect("a column of that name")
        .1
}
