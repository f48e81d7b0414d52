// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that differ only in the planes that packets take have different digests, though the digest mixes no packet's plane: it follows from
//! the week that the network adopts, or from the queue that a packet leaves, both of which are mixed. Not so in a network of circuits where
//! a packet waits for any circuit to its rack (`direct`, RotorLB): nothing that is mixed tells the uplink by which it leaves.

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

#[test]
fn the_queue_tells_which_uplink_a_packet_leaves_by() {
    let switch = |sources: [i32; 2]| {
        json!({"rate_bps": 10_000_000_000u64, "delay_ns": 500, "offset_ns": 0,
            "rotation": [{"sources": sources, "day_ns": 100_000, "night_ns": 0}]})
    };
    let over = |uplinks: [Value; 2]| {
        json!({"seed": 1, "tdf": 1, "duration_ns": 4_000_000, "warmup_ns": 0,
            "hosts": {"racks": 2, "per_rack": 2, "mtu": 1500, "rate_bps": 10_000_000_000u64, "delay_ns": 1000, "jitter_ns": 0},
            "network": {"ocs": {"access": {"rate_bps": 10_000_000_000u64, "delay_ns": 0}, "uplinks": uplinks,
                "classes": [{"name": "all", "queue": {"room": 400}, "routing": {"expander": {"paths": 1, "equal": true}}}]}},
            "tcp": tcp(), "measure": {"pair": [0, 1], "weeks_per_run": 3},
            "flows": [{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "cubic", "start_ns": 0}]})
    };
    let (joins, idles) = (switch([1, 0]), switch([-1, -1]));
    differ_in_planes(&over([joins.clone(), idles.clone()]), &over([idles, joins]));
}
