// SPDX-License-Identifier: MIT OR Apache-2.0
//! TDTCP in the simulator: what it gains, what it does without notifications, and that it harms no other.

use crate::common::{integers, plan, run, strobe};
use etalon_sim::{Control, Results, TraceRequest};
use etalon_units::Time;
use serde_json::{Value, json};

fn tdtcp() -> Value {
    json!({"tdtcp": {"cc": [], "relaxed": true, "pipe": "own", "rtt": "matched", "update": "pull", "options": true,
        "pace_burst": false}})
}

/// SIGCOMM'22's networks for `weeks` weeks, from host i to host i, by what carries each flow.
fn sigcomm22(weeks: u64, notify: &Value, transports: &[Value]) -> Value {
    let configuration =
        |sources: [i32; 2]| json!({"sources": sources, "day_ns": 180_000, "night_ns": 20_000});
    let mut configurations = vec![configuration([-1, -1]); 6];
    configurations.push(configuration([1, 0]));
    let flows: Vec<Value> = (0..16)
        .map(|i| {
            json!({"src_rack": 0, "src_host": i, "dst_rack": 1, "dst_host": i, "cc": "cubic", "start_ns": 0,
                "transport": transports[i % transports.len()]})
        })
        .collect();
    json!({"seed": 1, "tdf": 20, "duration_ns": weeks * 1_400_000, "warmup_ns": 10 * 1_400_000,
        "hosts": {"racks": 2, "per_rack": 16, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 2000, "jitter_ns": 1000},
        "network": {"rdcn": {
            "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 19_675, "down_delay_ns": 19_675,
                "internal_queue": 3, "hold_queue": 5},
            "circuits": [{"rate_bps": 100_000_000_000u64, "delay_ns": 16_240}],
            "voq": {"packets": 16}, "notify": notify}},
        "schedule": {"configurations": configurations},
        "tcp": crate::common::tcp(), "flows": flows, "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}

fn notify(before: u64, lost: u32) -> Value {
    json!({"before_ns": before, "delay_ns": 0, "jitter_ns": 0, "lost_ppm": lost, "each_ns": 0})
}

fn bytes(results: &Results) -> Vec<i64> {
    let [packet, circuit] =
        ["packet_bytes", "circuit_bytes"].map(|name| integers(&results.flows, name));
    packet.iter().zip(circuit).map(|(a, b)| a + b).collect()
}

fn total(value: &Value) -> f64 {
    bytes(&run(value)).iter().sum::<i64>() as f64
}

/// Abstract and figure 7a: a quarter more than CUBIC.
#[test]
fn tdtcp_gains_where_networks_differ() {
    let told = notify(5000, 0);
    let ratio = total(&sigcomm22(150, &told, &[tdtcp()]))
        / total(&sigcomm22(150, &Value::Null, &[json!("tcp")]));
    assert!((1.16..1.32).contains(&ratio), "{ratio}");
}

/// A host that hears nothing stays on the packet network's state. Without options that is plain TCP to the bit, for flows with an end: of those
/// without one, only TDTCP's wait for their send buffers.
#[test]
fn without_notifications_it_is_plain_tcp() {
    let deaf = notify(5000, 1_000_000);
    let by = |transport: Value| {
        let mut value = sigcomm22(40, &deaf, &[transport]);
        for flow in value["flows"].as_array_mut().expect("flows") {
            flow["bytes"] = json!(1_000_000_000u64); // more than they carry
        }
        run(&value)
    };
    let mut silent = tdtcp();
    silent["tdtcp"]["options"] = json!(false);
    let (plain, results) = (by(json!("tcp")), by(silent));
    assert_eq!(results.meta.digest, plain.meta.digest);
    assert_eq!(bytes(&results), bytes(&plain));
    // With options it has eight bytes less in each segment.
    let with_options: i64 = bytes(&by(tdtcp())).iter().sum();
    let plain: i64 = bytes(&plain).iter().sum();
    assert!((with_options as f64 / plain as f64 - 1.0).abs() < 0.05);
}

#[test]
fn who_carries_one_flow_by_tdtcp_need_not_carry_all() {
    let value = sigcomm22(60, &notify(5000, 100_000), &[tdtcp(), json!("tcp")]);
    let (first, again) = (run(&value), run(&value));
    assert_eq!(first.meta.digest, again.meta.digest);
    assert_eq!(bytes(&first), bytes(&again));
    // Some flows lose all of their first window, and wait for most of the run.
    for transport in [0, 1] {
        let carried: i64 = bytes(&first).iter().skip(transport).step_by(2).sum();
        assert!(carried > 40_000_000, "{transport}: {carried}");
    }
}

#[test]
fn all_switches_run() {
    for (key, value) in [
        ("relaxed", json!(false)),
        ("pipe", json!("shared")),
        ("rtt", json!("all")),
        ("update", json!("push")),
        ("pace_burst", json!(true)),
        ("downgrade_at_ns", json!(20_000_000)),
        ("cc", json!(["cubic", "dctcp"])),
    ] {
        let mut transport = tdtcp();
        transport["tdtcp"][key] = value;
        let mut told = notify(5000, 0);
        told["each_ns"] = json!(700);
        // 30 weeks at 10 Gb/s, the packet network's rate, are 52.5 MB.
        let received = total(&sigcomm22(40, &told, &[transport]));
        assert!(received > 52.5e6, "{key}: {received}");
    }
}

/// A downgrade leaves the connection on one path for the rest of the run: it is no faster than TCP.
#[test]
fn a_downgrade_ends_the_gain() {
    let mut early = tdtcp();
    early["tdtcp"]["downgrade_at_ns"] = json!(14_000_000);
    let told = notify(5000, 0);
    let [stays, leaves] =
        [tdtcp(), early].map(|transport| total(&sigcomm22(100, &told, &[transport])));
    assert!(leaves < 0.95 * stays, "{leaves} {stays}");
}

/// With three racks a host has several destinations at once, each with a TDN of its own.
#[test]
fn hosts_keep_a_tdn_for_each_rack() {
    let mut value = strobe(30, 16);
    let pairs = [(0, 1), (0, 2), (1, 0)];
    // Few enough that what they begin with finds room: the RTO of a TDN without a sample is 1 s.
    value["flows"] = (0..3)
        .flat_map(|host| pairs.map(|(src, dst)| (src, dst, host)))
        .map(|(src, dst, host)| {
            json!({"src_rack": src, "src_host": host, "dst_rack": dst, "dst_host": host, "cc": "cubic",
                "start_ns": 0, "transport": tdtcp()})
        })
        .collect();
    value["network"]["rdcn"]["notify"] = notify(5000, 0);
    let results = run(&value);
    let received = bytes(&results);
    assert!(
        received.iter().all(|&bytes| bytes > 1_000_000),
        "{received:?}"
    );
}

#[test]
fn traces_have_the_notifications() {
    let mut value = sigcomm22(11, &notify(5000, 0), &[tdtcp()]);
    value["warmup_ns"] = json!(0);
    let request = TraceRequest {
        start: Time(0),
        end: Time(1_400_000),
        pcapng: None,
    };
    let (_, events) = etalon_sim::trace(&plan(&value), &Control::default(), &request).unwrap();
    let (kinds, times) = (
        crate::common::texts(&events, "kind"),
        integers(&events, "t_ns"),
    );
    let networks = crate::common::texts(&events, "network");
    let told: Vec<(i64, &str)> = (0..kinds.len())
        .filter(|&row| kinds[row] == "notify")
        .map(|row| (times[row], &networks[row][..]))
        .collect();
    // Both racks' hosts hear of the day and of its end.
    assert_eq!(told.len(), 64);
    assert!(told[..32].iter().all(|&one| one == (1_195_000, "circuit")));
    assert!(told[32..].iter().all(|&one| one == (1_375_000, "packet")));
}
