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

/// A capture of the first 10 ms of a plan.
fn captured(value: &Value, name: &str) -> Vec<u8> {
    let file = format!("etalon-mptcp-{name}-{}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(file);
    let request = TraceRequest {
        start: Time::ZERO,
        end: Time(10_000_000),
        pcapng: Some(path.clone()),
    };
    etalon_sim::trace(&crate::common::plan(value), &Control::default(), &request).expect("a trace");
    let bytes = std::fs::read(&path).expect("a capture");
    std::fs::remove_file(&path).expect("removed");
    bytes
}

const RACKS: u32 = 3;

/// The segments of a capture as they enter the network: whether it goes to the server, payload, FIN, and DATA_FIN.
fn segments(capture: &[u8]) -> Vec<(bool, usize, bool, bool)> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().expect("a word"));
    let (mut at, mut segments) = (0, Vec::new());
    while at + 8 <= capture.len() {
        let packet = at + 28 + 14;
        let is_tcp = word(at) == 6 && capture[packet + 9] == 6;
        if is_tcp && word(at + 8) < RACKS {
            let tcp = packet + 20;
            let total = u16::from_be_bytes([capture[packet + 2], capture[packet + 3]]);
            let header = usize::from(capture[tcp + 12] >> 4) * 4;
            let options = &capture[tcp + 20..tcp + header];
            let signals = |flags: u8| {
                options
                    .windows(4)
                    .any(|o| o[0] == 30 && o[2..] == [0x20, flags])
            };
            segments.push((
                u16::from_be_bytes([capture[tcp + 2], capture[tcp + 3]]) == 5001,
                usize::from(total) - 20 - header,
                capture[tcp + 13] & 1 > 0,
                signals(0x1d) || signals(0x1f),
            ));
        }
        at += word(at + 4) as usize;
    }
    segments
}

/// As seen on Linux (5 kB between two hosts): DATA_FIN follows the data at once; the server acknowledges the data, then DATA_FIN, and sends its
/// own; then both sides end their connections.
#[test]
fn a_stream_ends_with_data_fin_before_its_subflows_do() {
    let mut value = plan(2, &[mptcp("tdm", "any", false)], Some(5_000));
    value["tdf"] = json!(1);
    value["flows"].as_array_mut().expect("flows").truncate(1);
    let sent: Vec<_> = segments(&captured(&value, "end"))
        .into_iter()
        .skip(3)
        .map(|(to_server, payload, fin, data_fin)| {
            let what = match (payload, fin, data_fin) {
                (5_000, false, false) => "data",
                (0, true, false) => "FIN",
                (0, false, true) => "DATA_FIN",
                (0, false, false) => "ACK",
                _ => "?",
            };
            (if to_server { "client" } else { "server" }, what)
        })
        .collect();
    let expected = [
        ("client", "data"),
        ("client", "DATA_FIN"),
        ("server", "ACK"),
        ("server", "ACK"),
        ("server", "DATA_FIN"),
        ("client", "FIN"),
        ("client", "ACK"),
        ("server", "FIN"),
        ("client", "ACK"),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn captures_have_its_options() {
    let value = plan(10, &[mptcp("tdm", "any", false)], None);
    let bytes = captured(&value, "options");
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
            .contains("nor where hosts announce demand")
    );
}
