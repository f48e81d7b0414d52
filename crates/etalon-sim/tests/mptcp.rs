// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP in the simulator: all of it arrives, with either scheduler; networks are used in their turn; captures have its options.

use crate::common::{integers, run, strobe};
use etalon_sim::{Control, Results, TraceRequest};
use etalon_units::Time;
use serde_json::{Value, json};

fn mptcp(scheduler: &str, acks: &str, reinject: bool) -> Value {
    json!({"mptcp": {"subflows": 2, "scheduler": scheduler, "acks": acks, "reinject": reinject}})
}

/// The strobe of NSDI'20 for `weeks` weeks; flow i from host i to host i, by what carries it.
fn plan(weeks: u64, transports: &[Value], bytes: Option<u64>) -> Value {
    let mut value = strobe(weeks, 16);
    value["network"]["rdcn"]["notify"] =
        json!({"before_ns": 5000, "delay_ns": 0, "jitter_ns": 0, "lost_ppm": 0, "each_ns": 0});
    value["flows"] = (0..8)
        .map(|i| {
            json!({"src_rack": 0, "src_host": i, "dst_rack": 1, "dst_host": i, "cc": "cubic", "start_ns": 0,
                "bytes": bytes, "transport": transports[i % transports.len()]})
        })
        .collect();
    value
}

fn carried(results: &Results) -> [i64; 2] {
    ["packet_bytes", "circuit_bytes"].map(|name| integers(&results.flows, name).iter().sum())
}

#[test]
fn flows_end_when_all_has_arrived() {
    for scheduler in ["tdm", "mainline"] {
        for (acks, reinject) in [("any", false), ("pinned", false), ("pinned", true)] {
            let bytes = 1_000_000;
            let mut value = plan(400, &[mptcp(scheduler, acks, reinject)], Some(bytes));
            value["end_when_done"] = json!(true);
            let results = run(&value);
            let received = integers(&results.flows, "bytes_delivered");
            assert_eq!(received, [bytes as i64; 8], "{scheduler} {acks}");
            let ends = integers(&results.flows, "end_ns");
            assert!(ends.iter().all(|&end| end > 0), "{ends:?}");
            assert!(results.meta.simulated_ns < 400 * 4_800_000);
        }
    }
}

#[test]
fn one_subflow_is_enough() {
    let mut one = mptcp("tdm", "any", false);
    one["mptcp"]["subflows"] = json!(1);
    let results = run(&plan(50, &[one], Some(300_000)));
    assert_eq!(integers(&results.flows, "bytes_delivered"), [300_000; 8]);
}

/// As seen on Linux (shuffles of 5 and 58 kB have no MP_JOIN at all, flows of 3 MB have one each): who has written all before the first
/// DATA_ACK gets no other subflow. The second flow's buffer of 333 kB holds the first's bytes, not its own.
#[test]
fn a_short_flow_has_one_subflow() {
    let carried = |bytes| {
        let mut value = plan(50, &[mptcp("tdm", "any", false)], Some(bytes));
        value["flows"].as_array_mut().expect("flows").truncate(1);
        value["measure"]["flows"] = json!([0]);
        let results = run(&value);
        assert_eq!(integers(&results.flows, "bytes_delivered"), [bytes as i64]);
        let paths = integers(&results.tcp, "path");
        paths.iter().any(|&path| path > 0)
    };
    assert!(!carried(300_000));
    assert!(carried(900_000));
}

/// As seen on Linux (an incast of 74,070 bytes a flow, MTU 1500): who has written all before the handshake of the other subflow is over
/// resets that, and sends again what was not acknowledged by then.
#[test]
fn a_subflow_that_comes_too_late_is_reset_and_all_that_is_out_goes_again() {
    let carried_by = |bytes: u64| {
        let mut value = plan(50, &[mptcp("tdm", "any", false)], Some(bytes));
        value["flows"].as_array_mut().expect("flows").truncate(1);
        value["hosts"]["mtu"] = json!(1500);
        let results = run(&value);
        assert_eq!(integers(&results.flows, "bytes_delivered"), [bytes as i64]);
        carried(&results).iter().sum::<i64>() as u64
    };
    // A buffer of 46 kB takes the first at once.
    assert_eq!(carried_by(40_000), 40_000);
    let twice = carried_by(74_070) - 74_070;
    assert!((20_000..60_000).contains(&twice), "{twice}");
}

#[test]
fn the_scheduler_of_sigcomm22_uses_both_networks() {
    let value = plan(30, &[mptcp("tdm", "any", false)], None);
    let [first, again] = [0; 2].map(|_| run(&value));
    assert_eq!(first.meta.digest, again.meta.digest);
    let tcp = carried(&run(&plan(30, &[json!("tcp")], None)));
    let [packet, circuit] = carried(&first);
    assert!(
        packet > tcp[0] * 7 / 10 && circuit > tcp[1] * 7 / 10,
        "{packet} {circuit} {tcp:?}"
    );
    let pinned = carried(&run(&plan(30, &[mptcp("tdm", "pinned", false)], None)));
    assert!(pinned[0] + pinned[1] < packet + circuit, "{pinned:?}");
}

#[test]
fn without_notifications_it_stays_on_the_packet_networks_subflow() {
    let mut value = plan(30, &[mptcp("tdm", "any", false)], None);
    value["network"]["rdcn"]["notify"]["lost_ppm"] = json!(1_000_000);
    value["measure"]["flows"] = json!([0]);
    let results = run(&value);
    let paths = integers(&results.tcp, "path");
    assert!(carried(&results)[0] > 1_000_000);
    // Where it hears of changes about half of these are the circuit's subflow's; here what is sent again there after a timeout is.
    let others = paths.iter().filter(|&&path| path > 0).count();
    assert!(
        others * 20 < paths.len() && paths.len() > 200,
        "{others} of {}",
        paths.len()
    );
}

#[test]
fn all_transports_share_hosts_and_may_be_killed() {
    let tdtcp = json!({"tdtcp": {"relaxed": true, "pipe": "own", "rtt": "matched", "update": "push", "options": true,
        "pace_burst": false}});
    let mixed = [
        json!("tcp"),
        tdtcp,
        mptcp("tdm", "pinned", false),
        mptcp("mainline", "any", false),
    ];
    let mut value = plan(40, &mixed, None);
    value["flows"][2]["stop_ns"] = json!(80_000_000);
    let results = run(&value);
    let [packet, circuit] =
        ["packet_bytes", "circuit_bytes"].map(|name| integers(&results.flows, name));
    let carried: Vec<i64> = packet.iter().zip(circuit).map(|(a, b)| a + b).collect();
    assert!(carried.iter().all(|&bytes| bytes > 100_000), "{carried:?}");
}

/// As seen on Linux (two flows of 200 kB from a host with 10 Gb/s): after the first buffer of 32,728 bytes the program waits until the first
/// segment has left the host, 7.28 us after the handshake. A second flow that is open by then sends its first buffer before the first one's
/// second, which takes 26 us.
#[test]
fn flows_of_one_host_that_begin_together_take_turns() {
    let first_ends = |second_starts: u64| {
        let mut value = plan(50, &[mptcp("tdm", "any", false)], Some(59_500));
        value["tdf"] = json!(1);
        value["hosts"]["rate_bps"] = json!(10_000_000_000_u64);
        value["hosts"]["jitter_ns"] = json!(0);
        let flows = value["flows"].as_array_mut().expect("flows");
        flows.truncate(2);
        flows[1]["src_host"] = json!(0);
        flows[1]["start_ns"] = json!(second_starts);
        integers(&run(&value).flows, "end_ns")[0]
    };
    let (waits, goes_on) = (first_ends(7_200), first_ends(7_400));
    assert!((20_000..30_000).contains(&(waits - goes_on)));
    assert_eq!((first_ends(100), first_ends(20_000)), (waits, goes_on));
}

#[test]
fn captures_have_its_options() {
    let path = std::env::temp_dir().join(format!("etalon-mptcp-{}.pcapng", std::process::id()));
    let request = TraceRequest {
        start: Time::ZERO,
        end: Time(10_000_000),
        pcapng: Some(path.clone()),
    };
    let value = plan(10, &[mptcp("tdm", "any", false)], None);
    etalon_sim::trace(&crate::common::plan(&value), &Control::default(), &request)
        .expect("a trace");
    let bytes = std::fs::read(&path).expect("a capture");
    std::fs::remove_file(&path).expect("removed");
    let has = |option: &[u8]| bytes.windows(option.len()).any(|window| window == option);
    // MP_CAPABLE, MP_JOIN of address 1, data, its acknowledgement.
    for option in [
        &[30, 4, 0x01, 0x01][..],
        &[30, 12, 0x10, 1],
        &[30, 22, 0x20, 0x0d],
        &[30, 12, 0x20, 0x03],
    ] {
        assert!(has(option), "{option:?}");
    }
}

#[test]
fn what_the_simulator_cannot_combine_is_refused() {
    let mut value = plan(10, &[mptcp("tdm", "any", false)], None);
    value["schedule"]["control"] = json!({"scheduler": "solstice", "estimator": {"adu": {"report_ns": 1000}},
        "window_ns": 4_800_000, "min_day_ns": 180_000, "night_ns": 20_000, "threshold_bytes": 1, "only_big": false,
        "compute_ns": 0, "interval_ns": 0});
    let refused = etalon_sim::run(&crate::common::plan(&value), &Control::default());
    assert!(
        refused
            .expect_err("refused")
            .0
            .contains("neither beside jobs nor")
    );
}
