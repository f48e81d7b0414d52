// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP over networks of circuits.

use crate::common::{integers, run, tcp, texts};
use etalon_sim::Results;
use serde_json::{Value, json};

const DAY: u64 = 90_000;
const NIGHT: u64 = 10_000;
const RACKS: usize = 4;

/// A circuit switch that joins these in turns; 10 Gb/s, 500 ns.
fn switch(offset: u64, days: &[[i32; RACKS]]) -> Value {
    let day = |sources| json!({"sources": sources, "day_ns": DAY, "night_ns": NIGHT});
    let rotation: Vec<Value> = days.iter().map(day).collect();
    json!({"rate_bps": 10_000_000_000u64, "delay_ns": 500, "offset_ns": offset, "rotation": rotation})
}

/// Four racks of two hosts. RotorNet's four matchings, of which one joins none, are dealt to two switches, which take turns in the dark.
fn network(classes: &Value) -> Value {
    let first = switch(0, &[[1, 0, 3, 2], [2, 3, 0, 1]]);
    let second = switch((DAY + NIGHT) / 2, &[[3, 2, 1, 0], [-1, -1, -1, -1]]);
    json!({"ocs": {"access": {"rate_bps": 10_000_000_000u64, "delay_ns": 0},
        "uplinks": [first, second], "classes": classes, "cutoff_bytes": 1_000_000}})
}

fn experiment(network: &Value, flows: &Value) -> Value {
    json!({"seed": 1, "tdf": 1, "duration_ns": 40_000_000, "warmup_ns": 10_000_000,
        "hosts": {"racks": RACKS, "per_rack": 2, "mtu": 1500,
            "rate_bps": 10_000_000_000u64, "delay_ns": 1000, "jitter_ns": 0},
        "network": network, "tcp": tcp(), "flows": flows, "measure": {"pair": [0, 1], "weeks_per_run": 3, "ports": true}})
}

fn flow(src: u16, dst: u16, bytes: Option<u64>) -> Value {
    json!({"src_rack": src, "src_host": 0, "dst_rack": dst, "dst_host": 0, "cc": "cubic", "start_ns": 0, "bytes": bytes})
}

fn total(results: &Results, column: &str) -> i64 {
    integers(&results.pairs, column).iter().sum()
}

#[test]
fn a_long_flow_over_direct_circuits_has_its_share_of_days() {
    let direct = json!([{"name": "bulk", "queue": {"room": 400}, "routing": "direct"}]);
    let results = run(&experiment(&network(&direct), &json!([flow(0, 1, None)])));
    // Of two days one is the pair's, and a packet of 1,514 bytes has 1,448 of payload. What goes dark in its transmission is sent again.
    let bits = 10e9 * 0.45 * 0.030 * 1448.0 / 1514.0;
    let delivered = 8.0 * integers(&results.flows, "bytes_delivered")[0] as f64;
    assert!(
        (0.9 * bits..=1.001 * bits).contains(&delivered),
        "{delivered} of {bits} bits"
    );
    assert!(total(&results, "dropped_dark") > 0, "no guard bands");
}

#[test]
fn a_guard_band_of_a_packet_loses_nothing_in_the_dark() {
    let direct = json!([{"name": "bulk", "queue": {"room": 400}, "routing": "direct"}]);
    let mut network = network(&direct);
    network["ocs"]["guard_ns"] = json!(1000);
    let results = run(&experiment(&network, &json!([flow(0, 1, None)])));
    assert_eq!(total(&results, "dropped_dark"), 0);
    assert!(integers(&results.flows, "bytes_delivered")[0] > 0);
}

#[test]
fn short_flows_cross_at_once_where_long_ones_wait_for_days() {
    let paths = json!({"expander": {"paths": 1, "equal": true}});
    let classes = json!([
        {"name": "low", "queue": {"room": 100}, "routing": paths},
        {"name": "bulk", "queue": {"room": 400}, "routing": "direct"},
    ]);
    // A static expander beside the rotors: a ring, so that every slice is connected.
    let mut network = network(&classes);
    let ring = [[3, 0, 1, 2], [1, 2, 3, 0]].map(|sources| switch(0, &[sources]));
    let uplinks = network["ocs"]["uplinks"].as_array_mut().unwrap();
    for mut switch in ring {
        for day in switch["rotation"].as_array_mut().unwrap() {
            day["day_ns"] = json!(DAY + NIGHT);
            day["night_ns"] = json!(0);
        }
        uplinks.push(switch);
    }
    let flows = json!([flow(0, 2, Some(1000)), flow(0, 2, Some(20_000_000))]);
    let results = run(&experiment(&network, &flows));
    let ended = integers(&results.flows, "end_ns");
    // Handshake and data take three one-way trips of at most three hops, of microseconds.
    assert!((1..60_000).contains(&ended[0]), "{ended:?}");
    // 20 MB at 10 Gb/s take 16 ms, in 45 % of the time 35.
    assert!(ended[1] > 30_000_000, "{ended:?}");
}

#[test]
fn valiant_load_balancing_uses_all_circuits() {
    // Bytes from rack 0 over each of its uplinks. Only the first switch ever leads to rack 1.
    let sent = |routing: &str| {
        let classes = json!([{"name": "bulk", "queue": {"room": null}, "routing": routing}]);
        let results = run(&experiment(&network(&classes), &json!([flow(0, 1, None)])));
        assert!(integers(&results.flows, "bytes_delivered")[0] > 0);
        let (from, to) = (texts(&results.ports, "from"), texts(&results.ports, "to"));
        let bytes = integers(&results.ports, "bytes");
        let over = |switch: &str| {
            let place = from
                .iter()
                .zip(to)
                .position(|(from, to)| from == "r0" && to == switch);
            bytes[place.expect("an uplink")]
        };
        [over("o0"), over("o1")]
    };
    let [first, second] = sent("direct");
    assert!(first > 0 && second == 0, "{first} and {second}");
    let [first, second] = sent("vlb");
    let share = second as f64 / (first + second) as f64;
    assert!((0.2..0.8).contains(&share), "{first} and {second}");
}
