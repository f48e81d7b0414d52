// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weeks that are computed from demand while the network runs.

use crate::common::*;
use etalon_sim::{Control, Results};
use serde_json::{Value, json};

const WEEK: u64 = 2_000_000;

/// Etalon'18's network with three racks for `weeks` weeks.
fn computed(weeks: u64, flows: &Value, control: &Value) -> Value {
    let mut plan = strobe(1, 16);
    plan["duration_ns"] = json!(weeks * WEEK);
    plan["flows"] = flows.clone();
    let mut whole = json!({"scheduler": "solstice", "estimator": "voq", "window_ns": WEEK, "min_day_ns": 180_000,
        "night_ns": 20_000, "threshold_bytes": 1_000_000, "only_big": false, "compute_ns": 0, "interval_ns": 0});
    for (key, value) in control.as_object().expect("a table") {
        whole[key] = value.clone();
    }
    let idle = json!({"sources": [-1, -1, -1], "day_ns": WEEK - 20_000, "night_ns": 20_000});
    plan["schedule"] = json!({"configurations": [idle], "control": whole});
    plan
}

fn flow(from: u16, to: u16, bytes: u64, start_ns: u64) -> Value {
    json!({"src_rack": from, "src_host": 0, "dst_rack": to, "dst_host": 0, "cc": "reno", "start_ns": start_ns,
        "bytes": bytes})
}

/// Bytes demanded from rack 0 to rack 1 in the computation of most demand, and its instant.
fn largest(results: &Results) -> (u64, u64) {
    let computed = results.meta.computed.as_ref().expect("computed weeks");
    let largest = computed.largest.as_ref().expect("some demand");
    (largest.demand[1], largest.time.0)
}

/// When the first circuit is up, where only big demand has circuits.
fn first_day(flows: &Value, control: &Value) -> u64 {
    let mut control = control.clone();
    control["only_big"] = json!(true);
    let plan = plan(&computed(5, flows, &control));
    let request = etalon_sim::TraceRequest {
        start: etalon_units::Time(0),
        end: etalon_units::Time(5 * WEEK),
        pcapng: None,
    };
    let (_, events) = etalon_sim::trace(&plan, &Control::default(), &request).unwrap();
    let times = integers(&events, "t_ns");
    let kinds = texts(&events, "kind");
    let up = kinds.iter().position(|kind| kind == "circuit_up").unwrap();
    times[up] as u64
}

#[test]
fn demand_gets_its_circuit_from_the_second_week_on() {
    for scheduler in [
        "solstice",
        "solstice-published",
        "eclipse",
        "bvn",
        "tms",
        "max-weight",
    ] {
        let plan = computed(20, &bulk("reno", 4), &json!({"scheduler": scheduler}));
        let results = run(&plan);
        let computed = results.meta.computed.as_ref().unwrap();
        assert_eq!(computed.weeks, 20, "{scheduler}"); // each when the one before ends
        let circuit: i64 = integers(&results.flows, "circuit_bytes").iter().sum();
        let packet: i64 = integers(&results.flows, "packet_bytes").iter().sum();
        assert!(
            circuit > packet,
            "{scheduler}: {circuit} over circuits, {packet} by packets"
        );
        let could = integers(&results.pairs, "circuit_capacity_bytes")[0] as f64 * 8.0;
        let share = could / 80e9 / (results.meta.simulated_ns as f64 / 1e9);
        assert!(share > 0.3 && share < 0.95, "{scheduler}: {share}");
    }
}

#[test]
fn computed_weeks_deliver_through_downlinks() {
    let flows = json!([flow(0, 1, 5_000_000, 0)]);
    let mut plan = computed(20, &flows, &json!({}));
    plan["hosts"]["downlink_packets"] = json!(1000);
    let delivered = integers(&run(&plan).flows, "bytes_delivered")[0];
    assert_eq!(delivered, 5_000_000);
}

#[test]
fn voqs_hide_what_hosts_announce() {
    let flows = json!([flow(0, 1, 50_000_000, 0)]);
    // A packet at least; at most 16 of 9014 bytes, and what the hold takes.
    let (voq, _) = largest(&run(&computed(4, &flows, &json!({}))));
    assert!((9014..=21 * 9014).contains(&voq), "{voq}");
    let adu = json!({"estimator": {"adu": {"report_ns": 0}}, "only_big": true});
    let (announced, _) = largest(&run(&computed(4, &flows, &adu)));
    // What the socket's buffer holds, 4 MiB at most, and a buffer more.
    assert!(
        (1_000_000..=(4 << 20) + 65_536).contains(&announced),
        "{announced}"
    );
    // The truth is all but what the network delivered in the first week, at most 10 Gb/s x 2 ms.
    let oracle = json!({"estimator": "oracle", "only_big": true});
    let (true_demand, at) = largest(&run(&computed(4, &flows, &oracle)));
    assert_eq!(at, WEEK);
    assert!(
        (47_500_000..50_000_000).contains(&true_demand),
        "{true_demand}"
    );
}

#[test]
fn announcements_take_their_time() {
    let flows = json!([flow(0, 1, 50_000_000, 1_800_000)]);
    let at = |report_ns: u64| {
        let estimator = json!({"adu": {"report_ns": report_ns}});
        first_day(
            &flows,
            &json!({"estimator": estimator, "threshold_bytes": 10_000}),
        )
    };
    assert_eq!(at(100_000), WEEK);
    assert_eq!(at(300_000), 2 * WEEK);
}

#[test]
fn a_connection_demands_nothing_before_its_flow_starts() {
    let mut early = flow(0, 1, 50_000_000, WEEK + 1);
    early["connect_ns"] = json!(0);
    let control = json!({"estimator": {"adu": {"report_ns": 0}}, "threshold_bytes": 100_000});
    assert_eq!(first_day(&json!([early]), &control), 2 * WEEK);
}

#[test]
fn a_killed_flow_demands_nothing() {
    let mut killed = flow(0, 1, 50_000_000, 0);
    killed["stop_ns"] = json!(WEEK + 1000);
    let control = json!({"estimator": {"adu": {"report_ns": 0}}, "only_big": true});
    let results = run(&computed(6, &json!([killed]), &control));
    // The week that was computed at the end of the first has days with circuits; no later one has.
    let computed = results.meta.computed.as_ref().unwrap();
    let first = &computed.largest.as_ref().unwrap().week;
    let busy = first.configurations().iter();
    let busy = busy.filter(|c| c.matching.pairs().next().is_some()).count();
    assert_eq!(computed.days, busy as u64);
}

#[test]
fn endless_flows_demand_a_send_buffer() {
    let control = json!({"estimator": "oracle", "only_big": true});
    let (demand, _) = largest(&run(&computed(4, &bulk("reno", 2), &control)));
    assert_eq!(demand, 2 * (4 << 20));
    let control = json!({"estimator": {"adu": {"report_ns": 0}}, "only_big": true});
    let (demand, _) = largest(&run(&computed(40, &bulk("reno", 2), &control)));
    // Two sockets, each with two windows of ten full segments at least, and 4 MiB and two buffers at most.
    assert!(
        (2 * 20 * 8948..=2 * ((4 << 20) + 65_536)).contains(&demand),
        "{demand}"
    );
}

#[test]
fn a_slow_computation_comes_a_week_late() {
    let flows = json!([flow(0, 1, 50_000_000, 0)]);
    let first_day = |compute_ns: u64| {
        let estimator = json!({"adu": {"report_ns": 0}});
        first_day(
            &flows,
            &json!({"estimator": estimator, "threshold_bytes": 100_000, "compute_ns": compute_ns}),
        )
    };
    assert_eq!(first_day(0), WEEK);
    // From 900 us to 1800 us.
    assert_eq!(first_day(900_000), WEEK);
    // At 0 there is no demand yet; the next computation starts at 1900 us, or at 2500 us, when the first is done.
    assert_eq!(first_day(1_900_000), 2 * WEEK);
    assert_eq!(first_day(2_500_000), 3 * WEEK);
}

#[test]
fn the_same_plan_gives_the_same_weeks() {
    let flows: Value = (0..6u16)
        .map(|n| {
            flow(
                n % 3,
                (n + 1 + n / 3) % 3,
                3_000_000,
                u64::from(n) * 700_000,
            )
        })
        .collect();
    for estimator in [
        json!("voq"),
        json!({"adu": {"report_ns": 0}}),
        json!("oracle"),
    ] {
        let plan = computed(10, &flows, &json!({"estimator": estimator}));
        assert_eq!(
            run(&plan).meta.digest,
            run(&plan).meta.digest,
            "{estimator}"
        );
    }
}

#[test]
fn what_cannot_be_computed_is_said() {
    let refused = |control: Value| {
        let plan = plan(&computed(4, &bulk("reno", 1), &control));
        let error = etalon_sim::run(&plan, &Control::default()).unwrap_err();
        error.to_string()
    };
    assert!(
        refused(json!({"scheduler": "sostice"})).starts_with("there is no scheduler 'sostice'")
    );
    assert_eq!(
        refused(json!({"window_ns": 150_000})),
        "a window of 150us is shorter than one day of 180us and its night of 20us"
    );
}
