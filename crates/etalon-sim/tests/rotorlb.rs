// SPDX-License-Identifier: MIT OR Apache-2.0
//! RotorLB in the simulator: worked by hand, against its fluid model's throughputs, and what must hold of any run.

use crate::common::{integers, run, tcp};
use etalon_sim::Results;
use proptest::prelude::*;
use serde_json::{Value, json};

const DAY: u64 = 90_000;
const NIGHT: u64 = 10_000;
/// Payload of a full packet.
const PAYLOAD: u64 = 1436;

/// A circuit switch that joins these in turns; 10 Gb/s, 500 ns.
fn switch(offset: u64, days: &[Vec<i32>]) -> Value {
    let day = |sources| json!({"sources": sources, "day_ns": DAY, "night_ns": NIGHT});
    let rotation: Vec<Value> = days.iter().map(day).collect();
    json!({"rate_bps": 10_000_000_000u64, "delay_ns": 500, "offset_ns": offset, "rotation": rotation})
}

/// Four racks. RotorNet's four matchings, of which one joins none, are dealt to two switches, which take turns in the dark.
fn four(hosts: u16, two_hops: bool) -> Value {
    let first = switch(0, &[vec![1, 0, 3, 2], vec![2, 3, 0, 1]]);
    let second = switch((DAY + NIGHT) / 2, &[vec![3, 2, 1, 0], vec![-1, -1, -1, -1]]);
    plan(4, hosts, &[first, second], two_hops)
}

fn plan(racks: u16, hosts: u16, uplinks: &[Value], two_hops: bool) -> Value {
    let routing = json!({"rotorlb": {"two_hops": two_hops}});
    let bulk = json!([{"name": "bulk", "queue": {"room": null}, "routing": routing}]);
    json!({"seed": 1, "tdf": 1, "duration_ns": 20_000_000, "warmup_ns": 0,
        "hosts": {"racks": racks, "per_rack": hosts, "mtu": 1500,
            "rate_bps": 10_000_000_000u64, "delay_ns": 1000, "jitter_ns": 0},
        "network": {"ocs": {"access": {"rate_bps": 10_000_000_000u64, "delay_ns": 0},
            "uplinks": uplinks, "classes": bulk}},
        "tcp": tcp(), "flows": [], "measure": {"pair": [0, 1], "weeks_per_run": 3, "ports": true}})
}

fn flow(from: (u16, u16), to: (u16, u16), bytes: Option<u64>) -> Value {
    let packets = json!({"rotorlb": {"header_bytes": 64, "padded": false}});
    json!({"src_rack": from.0, "src_host": from.1, "dst_rack": to.0, "dst_host": to.1, "cc": "cubic",
        "start_ns": 10_000, "bytes": bytes, "transport": packets})
}

fn with(mut plan: Value, flows: Vec<Value>) -> Value {
    plan["flows"] = json!(flows);
    plan
}

/// Packets over circuits.
fn carried(results: &Results) -> i64 {
    let to = crate::common::texts(&results.ports, "to");
    let packets = integers(&results.ports, "packets");
    let over = to.iter().zip(packets);
    over.filter(|(to, _)| to.starts_with('o'))
        .map(|(_, &packets)| packets)
        .sum()
}

/// From the NIC of one host to another: NIC 1.2 us, 1 us to the rack, uplink 1.2 us, circuit 0.5 us, link to the host 1.2 us.
const ACROSS: i64 = 5_100;
/// A host's NIC has two uplinks to share among: a packet of 1,500 bytes each 2.4 us. Of a day of 90 us, 3.4 us before its end the last
/// packet must leave (1.2 us of the NIC, 1 us, 1.2 us of the uplink): 36 slots in 86.6 us.
const SLOT: f64 = 2_400.0;

#[test]
fn three_packets_wait_for_the_direct_circuit() {
    let flows = vec![flow((0, 0), (1, 0), Some(3 * PAYLOAD))];
    let results = run(&with(four(1, false), flows));
    // Racks 0 and 1 meet from 0 on, when the flow is not there, and from 200 us on: in slots 0, 12 and 24.
    let last = 200_000 + (24.0 * SLOT) as i64 + ACROSS;
    assert_eq!(integers(&results.flows, "end_ns"), [last]);
    assert_eq!(carried(&results), 3);
}

#[test]
fn three_packets_take_two_hops_where_they_may() {
    let flows = vec![flow((0, 0), (1, 0), Some(3 * PAYLOAD))];
    let results = run(&with(four(1, true), flows));
    // From 50 us on racks 0 and 3 meet: the packets leave in slots 0, 12 and 24, the last at 107.6 us. Racks 0 and 2, which meet at 100 us,
    // do not count on it. Racks 3 and 1 meet at 100 us, when rack 3 has two of the packets, and again at 300 us.
    assert_eq!(integers(&results.flows, "end_ns"), [300_000 + ACROSS]);
    assert_eq!(carried(&results), 6);
    assert_eq!(integers(&results.flows, "bytes_delivered"), [3 * 1436]);
}

/// One uplink to a switch with three matchings: a host has all of it, in 72 slots of 1.2 us. Racks 0 and 1 meet from 300 us on, 0 and 2
/// from 400 us on, 1 and 2 from 500 us on.
#[test]
fn others_relay_what_is_left_of_a_circuit_and_no_more() {
    let one = switch(0, &[vec![1, 0, 3, 2], vec![2, 3, 0, 1], vec![3, 2, 1, 0]]);
    let ends = |direct: u64| {
        let mut flows = vec![
            flow((0, 0), (1, 0), Some(direct * PAYLOAD)),
            flow((0, 0), (2, 0), Some(10 * PAYLOAD)),
        ];
        flows
            .iter_mut()
            .for_each(|flow| flow["start_ns"] = json!(290_000));
        let results = run(&with(plan(4, 1, std::slice::from_ref(&one), true), flows));
        let ends = integers(&results.flows, "end_ns");
        (ends[0], ends[1], carried(&results))
    };
    let slot = |start: i64, number: i64| start + 1200 * number + ACROSS;
    // All 72 slots are for what is direct: the other ten wait for 400 us, and leave in slots 0, 7, 14 and so on up to 64.
    assert_eq!(ends(72), (slot(300_000, 71), slot(400_000, 64), 82));
    // Of 60, 12 are left: rack 1 relays the ten.
    let (first, second, packets) = ends(60);
    assert!(
        (slot(300_000, 68)..=slot(300_000, 71)).contains(&first),
        "{first}"
    );
    assert_eq!((second, packets), (slot(500_000, 64), 80));
}

/// Rotors of `racks` racks, two of them, which change together: matching `m` joins rack `r` and rack `m - r`.
fn rotors(racks: i32) -> Vec<Value> {
    let matching = |m: i32| -> Vec<i32> {
        let met = |rack: i32| (m - rack).rem_euclid(racks);
        let met = (0..racks).map(|rack| if met(rack) == rack { -1 } else { met(rack) });
        met.collect()
    };
    let half = racks / 2;
    let all = [0..half, half..racks];
    all.map(|some| switch(0, &some.map(matching).collect::<Vec<_>>()))
        .into()
}

/// Shares of the full rate that rotors reach (inet-tub rdcn-throughput): 1 - 1/n of uniform demand over one hop, 1/n of a permutation;
/// over two hops about half.
#[test]
fn throughputs_are_those_known_of_rotors() {
    let racks = 8;
    let throughput = |two_hops: bool, permutation: bool| {
        let flows = (0..racks).flat_map(|from| {
            let others = (0..racks).filter(move |&to| to != from);
            let others = others.filter(move |&to| !permutation || to == (from + 3) % racks);
            others.map(move |to| flow((from, 0), (to, 0), None))
        });
        let mut plan = with(
            plan(racks, 1, &rotors(racks.into()), two_hops),
            flows.collect(),
        );
        // Cycles are 400 us. Relays fill up in the first ones.
        plan["warmup_ns"] = json!(12_000_000);
        plan["duration_ns"] = json!(20_000_000);
        let results = run(&plan);
        let bytes: i64 = integers(&results.flows, "bytes_delivered").iter().sum();
        // A visit has 36 slots. Of the eight of a cycle, each rack meets itself in one.
        let full = 8e6 / 100e3 * 2.0 * 36.0 * f64::from(racks) * PAYLOAD as f64;
        bytes as f64 / full
    };
    let n = f64::from(racks);
    let near = |share: f64, known: f64| (share / known - 1.0).abs() < 0.01;
    let uniform = throughput(false, false);
    assert!(near(uniform, 1.0 - 1.0 / n), "{uniform}");
    let permutation = throughput(false, true);
    assert!(near(permutation, 1.0 / n), "{permutation}");
    let two = throughput(true, true);
    assert!((0.45..=0.5 + 1.0 / n).contains(&two), "{two}");
}

#[test]
fn what_it_does_not_go_with_is_refused() {
    let refused = |value: Value| {
        let wrong = etalon_scenario::Scenario::from_json(&value.to_string());
        wrong.expect_err("no good plan").to_string()
    };
    let within = with(four(2, true), vec![flow((0, 0), (0, 1), Some(1000))]);
    assert!(refused(within).contains("within rack 0"));
    let mut other = with(four(2, true), vec![flow((0, 0), (1, 1), Some(1000))]);
    other["flows"][0]["transport"] = json!("tcp");
    assert!(refused(other.clone()).contains("its transport is another"));
    other["network"]["ocs"]["classes"][0]["routing"] = json!("direct");
    other["flows"][0] = flow((0, 0), (1, 1), Some(1000));
    assert!(refused(other).contains("in which it carries the flow's class"));
}

#[test]
fn a_flow_that_is_killed_stops() {
    let mut flows = vec![
        flow((0, 0), (1, 0), None),
        flow((0, 0), (1, 0), Some(400 * PAYLOAD)),
    ];
    flows[0]["stop_ns"] = json!(3_000_000);
    let results = run(&with(four(1, true), flows));
    let bytes = integers(&results.flows, "bytes_delivered");
    assert!(bytes[0] > 400_000 && bytes[0] < 10_000_000, "{bytes:?}");
    assert_eq!(bytes[1], 400 * PAYLOAD as i64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random flows beside failures: every byte arrives once, over two circuits at most, and none is sent into the dark.
    #[test]
    fn all_arrives_over_two_circuits_at_most(
        hosts in 1u16..4,
        flows in prop::collection::vec((0u16..4, 0u16..4, 0u16..4, 0u16..4, 1u64..300_000, any::<bool>()), 1..20),
        two_hops in any::<bool>(),
        margin in prop::option::of(0u64..10_000),
        failed in prop::option::of((0u16..4, 0u8..2)),
    ) {
        let flows: Vec<(u64, Value)> = flows
            .into_iter()
            .filter(|flow| flow.0 != flow.1)
            .map(|(from, to, a, b, bytes, padded)| {
                let mut one = flow((from, a % hosts), (to, b % hosts), Some(bytes));
                one["transport"]["rotorlb"]["padded"] = json!(padded);
                (bytes, one)
            })
            .collect();
        let mut plan = with(four(hosts, two_hops), flows.iter().map(|flow| flow.1.clone()).collect());
        plan["network"]["ocs"]["classes"][0]["routing"]["rotorlb"]["margin_ns"] = json!(margin);
        plan["duration_ns"] = json!(100_000_000);
        plan["end_when_done"] = json!(true);
        if let Some((rack, uplink)) = failed {
            plan["network"]["ocs"]["failures"] =
                json!([{"part": {"link": [rack, uplink]}, "from_ns": 150_000, "to_ns": 2_000_000}]);
        }
        let results = run(&plan);
        let expected: Vec<i64> = flows.iter().map(|flow| flow.0 as i64).collect();
        prop_assert_eq!(integers(&results.flows, "bytes_delivered"), &expected[..]);
        let dark: i64 = integers(&results.pairs, "dropped_dark").iter().sum();
        prop_assert_eq!(dark, 0, "what is late is back at its host");
        let packets: u64 = flows.iter().map(|flow| flow.0.div_ceil(PAYLOAD)).sum();
        let most = if two_hops { 2 } else { 1 };
        if failed.is_none() && margin.is_none() {
            prop_assert!(carried(&results) as u64 <= most * packets);
        }
        let again = run(&plan);
        prop_assert_eq!(results.meta.digest, again.meta.digest);
    }
}
