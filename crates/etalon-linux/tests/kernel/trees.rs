// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trees of switches in the kernel: the same network as outside.

use etalon_linux::Options;
use etalon_measure::results::Table;
use etalon_scenario::Scenario;
use serde_json::{Value, json};

use super::{integers, plan, ran, tcp};

/// Two pods of two racks of four hosts; twelve hosts send to one in a moment, within its rack, its pod and across the core.
fn incast(cc: &str, network: &Value) -> Scenario {
    let layer = |delay: u64| json!({"rate_bps": 1_000_000_000u64, "delay_ns": delay, "queue_packets": 60, "mark_above_packets": 20});
    let mut tree = json!({"pods": 2, "aggregation_switches": 2, "core_switches": 2, "delay_in_queue": false,
        "rack": layer(100_000), "pod": layer(200_000), "core": layer(1_000_000)});
    for (key, value) in network.as_object().expect("keys") {
        tree[key] = value.clone();
    }
    let flows: Value = (1..13)
        .map(|host| {
            json!({"src_rack": host / 4, "src_host": host % 4, "dst_rack": 0, "dst_host": 0, "cc": cc,
                "start_ns": 100_000 * host, "bytes": 400_000})
        })
        .collect();
    plan(
        &json!({"seed": 1, "tdf": 1, "duration_ns": 1_500_000_000, "warmup_ns": 0,
        "hosts": {"racks": 4, "per_rack": 4, "mtu": 1500, "rate_bps": 1_000_000_000u64, "delay_ns": 0, "jitter_ns": 1000},
        "network": {"tree": tree}, "tcp": tcp(), "flows": flows, "measure": {"pair": [1, 0], "weeks_per_run": 3}}),
    )
}

fn sum(table: &Table, name: &str) -> i64 {
    integers(table, name).iter().sum()
}

#[test]
#[ignore = "needs a kernel"]
fn the_tree_in_the_kernel_is_the_tree_outside() {
    let options = Options {
        verify: true,
        ..Options::default()
    };
    let failure = json!({"reroute_ns": 3_000_000, "failures":
        [{"below": 0, "above": 5, "from_ns": 3_000_000, "to_ns": 40_000_000}]});
    for (cc, network, happens) in [
        ("cubic", json!({}), "dropped_voq"),
        ("dctcp", json!({}), "marked"),
        ("cubic", json!({"delay_in_queue": true}), "dropped_voq"),
        ("cubic", failure, "dropped_link"),
    ] {
        let run = ran(&incast(cc, &network), &options);
        assert!(
            run.verified.is_some_and(|packets| packets > 4000),
            "{:?}",
            run.verified
        );
        let pairs = &run.results.pairs;
        assert!(sum(pairs, happens) > 0, "{network}: {pairs:?}");
        assert_eq!(
            sum(&run.results.flows, "bytes_delivered"),
            12 * 400_000,
            "{network}"
        );
    }
}
