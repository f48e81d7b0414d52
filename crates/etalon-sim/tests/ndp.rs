// SPDX-License-Identifier: MIT OR Apache-2.0
//! NDP in the simulator: a flow alone takes what the closed form says; whatever is lost, all arrives.

use crate::common::graphs::{Graph, clos, opera, plan_of};
use crate::common::{integers, run, tcp};
use serde_json::{Value, json};

/// NDP as its paper has it.
fn paper() -> Value {
    json!({"ndp": {"window": 30, "payload_bytes": 1436, "header_bytes": 64, "padded": false, "pacer": "host",
        "pull_bytes": 1500, "pulls": "needed", "timeout_ns": 1_000_000, "resends_last": false,
        "completes": "received"}})
}

fn flow(from: (u16, u16), to: (u16, u16), bytes: u64, transport: &Value) -> Value {
    json!({"src_rack": from.0, "src_host": from.1, "dst_rack": to.0, "dst_host": to.1, "cc": "cubic",
        "start_ns": 1000, "bytes": bytes, "transport": transport})
}

/// Racks below spines: all links of 10 Gb/s, 500 ns between switches and none to hosts.
fn leaf_spine(queue: u32, flows: Vec<Value>) -> Value {
    let layer = |delay: u64, queue: u32| json!({"rate_bps": 10_000_000_000u64, "delay_ns": delay, "queue_packets": queue});
    json!({"seed": 1, "tdf": 1, "duration_ns": 1_000_000_000, "warmup_ns": 0, "end_when_done": true,
        "hosts": {"racks": 3, "per_rack": 16, "mtu": 1500,
            "rate_bps": 10_000_000_000u64, "delay_ns": 0, "jitter_ns": 0},
        "network": {"leaf-spine": {"spines": 2, "rack": layer(0, queue), "spine": layer(500, queue)}},
        "tcp": tcp(), "flows": flows, "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}

/// When a flow alone is acknowledged: `hops` links between switches. A transmission takes whole nanoseconds, unless it follows another.
fn closed_form(bytes: u64, hops: u64) -> u64 {
    let packet = 8 * if bytes < 1436 { bytes + 64 } else { 1500 } / 10;
    let packets = bytes.div_ceil(1436);
    (packets - 1) * packet + (hops + 2) * (packet + 8 * 64 / 10) + 2 * hops * 500
}

#[test]
fn a_flow_alone_takes_what_the_closed_form_says() {
    for bytes in [180, 900, 5971, 27_563, 620_119] {
        for (to, hops) in [((0, 1), 0), ((1, 0), 2)] {
            let results = run(&leaf_spine(100, vec![flow((0, 0), to, bytes, &opera())]));
            let took = integers(&results.flows, "end_ns")[0] as u64 - 1000;
            assert_eq!(
                took,
                closed_form(bytes, hops),
                "{bytes} bytes over {hops} links"
            );
            assert_eq!(integers(&results.flows, "bytes_delivered"), [bytes as i64]);
            // What the authors' logs say, to the rounding of each hop.
            let exact = match (bytes, hops) {
                (180, 2) => 2986,
                (5971, 2) => 11_805,
                (27_563, 2) => 29_805,
                (620_119, 2) => 524_205,
                _ => continue,
            };
            assert!(took.abs_diff(exact) <= 4, "{took} {exact}");
        }
    }
}

/// Ports that drop what they cannot hold leave NDP to its timeouts.
#[test]
fn all_arrives_over_ports_that_drop() {
    for queue in [4, 20] {
        let flows = (0..15)
            .map(|host| flow((1, host), (0, 0), 100_000, &paper()))
            .collect();
        let results = run(&leaf_spine(queue, flows));
        assert_eq!(integers(&results.flows, "bytes_delivered"), [100_000; 15]);
        assert!(
            integers(&results.flows, "end_ns")
                .iter()
                .all(|&end| end > 0)
        );
        assert!(
            integers(&results.flows, "rtos")
                .iter()
                .any(|&rtos| rtos > 0)
        );
    }
}

#[test]
fn it_shares_a_network_with_tcp_and_may_be_killed() {
    let mut flows: Vec<Value> = (0..4)
        .map(|host| flow((1, host), (0, host), 400_000, &paper()))
        .collect();
    flows.push(flow((1, 0), (0, 1), 400_000, &json!("tcp")));
    flows[3]["bytes"] = json!(null);
    flows[3]["stop_ns"] = json!(300_000);
    let [first, again] = [0; 2].map(|_| run(&leaf_spine(20, flows.clone())));
    assert_eq!(first.meta.digest, again.meta.digest);
    let received = integers(&first.flows, "bytes_delivered");
    assert_eq!((&received[..3], received[4]), (&[400_000; 3][..], 400_000));
    assert!((20_000..400_000).contains(&received[3]), "{}", received[3]);
}

#[test]
fn what_it_does_not_go_with_is_refused() {
    let mut value = leaf_spine(20, vec![flow((1, 0), (0, 0), 1000, &paper())]);
    value["flows"][0]["transport"]["ndp"]["payload_bytes"] = json!(1500);
    let wrong = etalon_scenario::Scenario::from_json(&value.to_string());
    let error = wrong.expect_err("too long").to_string();
    assert!(error.contains("do not suit an MTU of 1500"), "{error}");
}

/// Microseconds in the logs that Opera's authors published, of flows that nothing hindered: within a pod, and between pods.
#[test]
fn flows_alone_on_a_clos_network_take_what_logs_say() {
    let cases: [(u64, u16, u64); 7] = [
        (180, 1, 2986),
        (180, 6, 5478),
        (5971, 1, 11_805),
        (5971, 71, 16_307),
        (27_563, 5, 29_805),
        (27_563, 30, 34_307),
        (620_119, 6, 528_707),
    ];
    // One after the other, a millisecond apart, so that each is alone.
    let start = |number: usize| 1000 + 1_000_000 * number as u64;
    let flows = cases.iter().enumerate().map(|(number, &(bytes, rack, _))| {
        let mut flow = flow((0, 0), (rack, 3), bytes, &opera());
        flow["start_ns"] = json!(start(number));
        flow
    });
    let results = run(&plan_of(&clos(), flows.collect()));
    let ends = integers(&results.flows, "end_ns");
    for (number, &(bytes, rack, log)) in cases.iter().enumerate() {
        let took = ends[number] as u64 - start(number);
        // Each transmission but those right behind others takes whole nanoseconds here.
        assert!(
            took.abs_diff(log) <= 6,
            "{bytes} to rack {rack}: {took} ns, not {log}"
        );
        let hops = if rack < 6 { 2 } else { 4 };
        assert_eq!(took, closed_form(bytes, hops));
    }
}

/// Senders of other racks fill one host's link, whose ports trim what they cannot hold; nobody waits for a timeout.
#[test]
fn incast_runs_at_the_rate_of_the_receivers_link() {
    // Eight racks, each linked with each.
    let links = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
    let graph = Graph {
        racks: 8,
        per_rack: 4,
        relays: 0,
        links: links.collect(),
    };
    for senders in [2, 8, 28] {
        let bytes = 450_000;
        let flows = (0..senders)
            .map(|i| flow((1 + i % 7, i / 7), (0, 0), bytes, &paper()))
            .collect();
        let results = run(&plan_of(&graph, flows));
        assert!(
            integers(&results.flows, "rtos")
                .iter()
                .all(|&rtos| rtos == 0)
        );
        let trimmed: i64 = integers(&results.flows, "retransmits").iter().sum();
        let last = *integers(&results.flows, "end_ns")
            .iter()
            .max()
            .expect("flows");
        let wire = u64::from(senders) * (bytes + bytes.div_ceil(1436) * 64) * 8 / 10;
        let share = wire as f64 / (last - 1000) as f64;
        assert!((0.97..=1.0).contains(&share), "{senders} senders: {share}");
        assert!(
            trimmed <= 30 * i64::from(senders),
            "{senders} senders: {trimmed}"
        );
    }
}
