// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that differ only in the planes that packets take have different digests. A packet's plane mostly follows from the week that the
//! network adopts, or from the queue that the packet leaves, both of which are mixed. In a network of circuits a packet may wait for any
//! circuit to its rack (`direct`, RotorLB): then the digest mixes the uplink by which it leaves.

use crate::common::{integers, run, strobe, tcp};
use etalon_sim::Results;
use serde_json::{Value, json};

/// What flows got, and when.
fn delivered(results: &Results) -> (&[i64], u64) {
    let bytes = integers(&results.flows, "bytes_delivered");
    (bytes, results.meta.events)
}

/// Both runs are the same, but for planes.
fn differ_in_planes(one: &Value, other: &Value) {
    let (one, other) = (run(one), run(other));
    assert_eq!(delivered(&one), delivered(&other));
    assert!(delivered(&one).0.iter().all(|&bytes| bytes > 0));
    assert_ne!(one.meta.digest, other.meta.digest);
}

#[test]
fn the_week_tells_which_kind_of_circuits_a_pair_has() {
    let over = |plane: u8| {
        let mut plan = strobe(2, 16);
        let kinds = &mut plan["network"]["rdcn"]["circuits"];
        *kinds = json!([kinds[0], kinds[0]]);
        let week = plan["schedule"]["configurations"].as_array_mut().unwrap();
        for day in week {
            day["plane"] = json!(plane);
        }
        plan
    };
    differ_in_planes(&over(1), &over(2));
}

/// Two racks with two uplinks, of which one joins them: the first or the second.
fn by_either_uplink(routing: &Value) -> [Value; 2] {
    let switch = |sources: [i32; 2]| {
        json!({"rate_bps": 10_000_000_000u64, "delay_ns": 500, "offset_ns": 0,
            "rotation": [{"sources": sources, "day_ns": 100_000, "night_ns": 0}]})
    };
    let over = |uplinks: [Value; 2]| {
        json!({"seed": 1, "tdf": 1, "duration_ns": 4_000_000, "warmup_ns": 0,
            "hosts": {"racks": 2, "per_rack": 2, "mtu": 1500, "rate_bps": 10_000_000_000u64, "delay_ns": 1000, "jitter_ns": 0},
            "network": {"ocs": {"access": {"rate_bps": 10_000_000_000u64, "delay_ns": 0}, "uplinks": uplinks,
                "classes": [{"name": "all", "queue": {"room": 400}, "routing": routing}]}},
            "tcp": tcp(), "measure": {"pair": [0, 1], "weeks_per_run": 3},
            "flows": [{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "cubic", "start_ns": 0}]})
    };
    let (joins, idles) = (switch([1, 0]), switch([-1, -1]));
    [[&joins, &idles], [&idles, &joins]].map(|[one, other]| over([one.clone(), other.clone()]))
}

#[test]
fn the_queue_tells_which_uplink_a_packet_leaves_by() {
    let [one, other] = by_either_uplink(&json!({"expander": {"paths": 1, "equal": true}}));
    differ_in_planes(&one, &other);
}

#[test]
fn a_packet_that_waited_for_any_uplink_tells_which_it_took() {
    let [one, other] = by_either_uplink(&json!("direct"));
    differ_in_planes(&one, &other);
}
