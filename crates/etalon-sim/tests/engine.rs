// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator end to end: determinism, conservation, and results that can be computed by hand.

use crate::common::{bulk, dumbbell, floats, integers, plan, run, strobe, texts};
use etalon_scenario::Scenario;
use etalon_sim::{Control, TraceRequest};
use etalon_units::Time;
use serde_json::json;

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let value = strobe(20, 16);
    let first = run(&value);
    let again = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| run(&value))).collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap())
            .collect::<Vec<_>>()
    });
    for other in again {
        assert_eq!(first.meta.digest, other.meta.digest);
        assert_eq!(
            floats(&first.sequence, "bytes"),
            floats(&other.sequence, "bytes")
        );
    }
    let mut value = value;
    value["seed"] = json!(2);
    assert_ne!(first.meta.digest, run(&value).meta.digest);
}

/// A plain run is compiled apart; where senders or the order of data are followed, packets take the general way.
#[test]
fn to_follow_senders_and_order_changes_nothing_else() {
    let mut value = strobe(30, 16);
    for flow in 0..8 {
        value["flows"][flow]["bytes"] = json!(100_000 * (flow + 1));
    }
    let plain = run(&value);
    let ended = integers(&plain.flows, "end_ns").iter();
    assert_eq!(ended.filter(|&&end| end >= 0).count(), 8);
    for (key, chosen) in [("flows", json!([0, 5, 9])), ("reordering", json!(true))] {
        let mut value = value.clone();
        value["measure"][key] = chosen;
        let followed = run(&value);
        assert_eq!(followed.meta.digest, plain.meta.digest, "{key}");
        for column in [
            "end_ns",
            "bytes_delivered",
            "retransmits",
            "cwnd",
            "packet_bytes",
        ] {
            let [a, b] = [&followed, &plain].map(|run| integers(&run.flows, column));
            assert_eq!(a, b, "{key}: {column}");
        }
        let [a, b] = [&followed, &plain].map(|run| floats(&run.sequence, "bytes"));
        assert_eq!(a, b, "{key}");
    }
}

#[test]
fn days_and_weeks_are_exact() {
    let results = run(&strobe(20, 16));
    let mean = floats(&results.days, "mean");
    let std = floats(&results.days, "std");
    assert_eq!(texts(&results.days, "quantity")[..2], ["day_ns", "week_ns"]);
    assert_eq!(mean[..2], [180_000.0, 4_800_000.0]);
    assert_eq!(std[..2], [0.0, 0.0]);
}

#[test]
fn large_queues_fill_the_circuit_and_small_ones_do_not() {
    let utilization = |voq| floats(&run(&strobe(300, voq)).pairs, "circuit_utilization")[0];
    let (small, large) = (utilization(8), utilization(128));
    assert!(small < 0.5, "{small}");
    // 99.27 % of a packet on the wire is payload; a day holds a whole number of packets.
    assert!((0.97..=1.0).contains(&large), "{large}");
}

#[test]
fn a_trace_is_the_same_run_again() {
    let value = strobe(6, 16);
    let results = run(&value);
    let request = TraceRequest {
        start: Time(0),
        end: Time(u64::MAX),
        pcapng: None,
    };
    let (traced, events) = etalon_sim::trace(&plan(&value), &Control::default(), &request).unwrap();
    assert_eq!(results.meta.digest, traced.meta.digest);
    let kinds = texts(&events, "kind");
    let count = |kind: &str| kinds.iter().filter(|k| *k == kind).count() as u64;
    assert_eq!(count("week"), 6);
    assert_eq!(count("day"), 6 * 24);
    // What enters is transmitted, dropped on the way in (and never enqueued), or still there.
    assert!(count("enqueue") - count("dequeue") <= 16 * 3);
    assert!(count("dequeue") - count("depart") <= 200);
    let times = integers(&events, "t_ns");
    assert!(times.is_sorted());
}

#[test]
fn a_traced_window_holds_only_its_events() {
    let request = TraceRequest {
        start: Time(4_800_000),
        end: Time(9_600_000),
        pcapng: None,
    };
    let plan = plan(&strobe(6, 16));
    let (results, events) = etalon_sim::trace(&plan, &Control::default(), &request).unwrap();
    assert_eq!(results.meta.simulated_ns, 9_600_000);
    let times = integers(&events, "t_ns");
    assert!(times.iter().all(|t| (4_800_000..9_600_000).contains(t)));
    assert!(times.len() > 100);
}

#[test]
fn a_capture_that_cannot_be_written_is_an_error() {
    let request = TraceRequest {
        start: Time(0),
        end: Time(1_000_000),
        pcapng: Some("/nonexistent/trace.pcapng".into()),
    };
    let plan = plan(&strobe(1, 16));
    let error = etalon_sim::trace(&plan, &Control::default(), &request).unwrap_err();
    assert!(error.to_string().contains("No such file"), "{error}");
}

#[test]
fn bulk_flows_share_a_bottleneck_and_fill_it() {
    let results = run(&dumbbell(1_000_000_000, bulk("cubic", 16)));
    let delivered = integers(&results.flows, "bytes_delivered");
    let total: i64 = delivered.iter().sum();
    // 10 Gb/s for a second, 8948 of each 9014 bytes payload, all but the start.
    let most = 1.25e9 * 8948.0 / 9014.0;
    assert!(
        total as f64 > 0.97 * most && total as f64 <= most,
        "{total}"
    );
    // The least share is 0.26 to 0.74 of the mean in six seeds, and 0.18 to 0.71 on Linux.
    assert!(
        delivered.iter().all(|d| *d as f64 > 0.15 * most / 16.0),
        "{delivered:?}"
    );
}

#[test]
fn timers_of_one_tick_come_in_linuxs_order() {
    // Eight SYNs at once for a queue that takes one: the first. Seven come again at one tick, the last armed first, and that takes the
    // place. The other six are armed in this order, so that they come the other way round next; and so on. All is as on Linux.
    let to = |host| {
        json!({"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": host, "cc": "reno",
            "start_ns": 0, "bytes": 1000})
    };
    let mut value = dumbbell(8_000_000_000, (0..8).map(to).collect());
    value["warmup_ns"] = json!(400_000_000);
    value["network"]["dumbbell"]["stages"][0] =
        json!({"rate_bps": 1_000_000, "queue_packets": 1, "delay_ns": 30_000});
    let flows = run(&value).flows;
    let ends = integers(&flows, "end_ns");
    let mut done: Vec<_> = (0..8).filter(|&flow| ends[flow] >= 0).collect();
    done.sort_by_key(|&flow| ends[flow]);
    assert_eq!(done, [0, 7, 1, 6]);
    // SYNs time out after 1, 3 and 7 s; the last three that pass lose their data behind an ACK.
    assert_eq!(integers(&flows, "rtos"), [0, 3, 3, 3, 3, 3, 4, 2]);
    assert_eq!(integers(&flows, "retransmits"), [0, 4, 3, 3, 3, 3, 5, 3]);
}

#[test]
fn a_small_flow_completes_when_the_arithmetic_says() {
    // Five segments, which fit into the first window offered (64 KB): handshake (60 us and a little serialisation), then one window.
    let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
        "start_ns": 0, "bytes": 44_740}]);
    let mut value = dumbbell(10_000_000, flow);
    value["hosts"]["jitter_ns"] = json!(0);
    let results = run(&value);
    let end = integers(&results.flows, "end_ns")[0];
    // SYN 74 B and ACK 66 B at 40 and 10 Gb/s; SYN-ACK 74 B at 40 Gb/s; then the host's first packet (9014 B at 40
    // Gb/s), five of them at 10 Gb/s, and three one-way delays in all.
    let handshake = 15 + 59 + 30_000 + 15 + 30_000;
    let data = 13 + 1_803 + 5 * 7_211 + 2 + 30_000;
    let expected = handshake + data;
    assert!((end - expected).abs() <= 80, "{end} instead of {expected}");
    assert_eq!(integers(&results.flows, "bytes_delivered")[0], 44_740);
    assert_eq!(integers(&results.flows, "retransmits")[0], 0);
}

/// A small flow to host 15 of rack 0.
fn to_one(rack: u8, host: u8) -> serde_json::Value {
    json!({"src_rack": rack, "src_host": host, "dst_rack": 0, "dst_host": 15, "cc": "reno",
        "start_ns": 0, "bytes": 44_740})
}

#[test]
fn a_flow_within_a_rack_takes_hosts_links_and_nothing_else() {
    let mut value = dumbbell(10_000_000, json!([to_one(0, 0)]));
    value["hosts"]["jitter_ns"] = json!(0);
    value["hosts"]["delay_ns"] = json!(2000);
    let results = run(&value);
    // SYN and SYN-ACK of 74 B, the ACK of 66 B, and five packets of 9014 B at 40 Gb/s; three delays of a host.
    let expected = 15 + 15 + 13 + 5 * 1_803 + 3 * 2_000;
    let end = integers(&results.flows, "end_ns")[0];
    assert!((end - expected).abs() <= 10, "{end} instead of {expected}");
    assert_eq!(integers(&results.flows, "bytes_delivered"), [44_740]);
    // No network between racks has seen it.
    assert_eq!(integers(&results.flows, "packet_bytes"), [0]);
    assert!(integers(&results.pairs, "src").is_empty());
}

#[test]
fn an_incast_queues_at_the_downlink_of_its_host() {
    let ends = |downlink: Option<u32>| {
        let flows: Vec<_> = (0..4)
            .map(|host| to_one(0, host))
            .chain([to_one(1, 0)])
            .collect();
        let mut value = dumbbell(3_000_000_000, flows.into());
        value["hosts"]["jitter_ns"] = json!(0);
        value["hosts"]["downlink_packets"] = json!(downlink);
        let results = run(&value);
        let dropped: i64 = integers(&results.pairs, "dropped_downlink").iter().sum();
        (integers(&results.flows, "end_ns").to_vec(), dropped)
    };
    // Five packets of each, 1803 ns each at 40 Gb/s.
    let (alone, _) = ends(None);
    assert!(alone[..4].iter().all(|&end| end < 6 * 1_803), "{alone:?}");
    let (queued, dropped) = ends(Some(100));
    let last = queued[..4].iter().max().expect("four");
    // Twenty packets, one more time in a sender's NIC, and the small ones of handshakes and FINs.
    assert!((21 * 1_803..21 * 1_803 + 120).contains(last), "{queued:?}");
    assert_eq!(dropped, 0);
    // What finds no place is sent again.
    let (lossy, dropped) = ends(Some(3));
    assert!(dropped > 0 && lossy.iter().all(|&end| end > 0), "{lossy:?}");
}

#[test]
fn what_finds_no_place_in_front_of_a_host_is_dropped_by_no_port() {
    let flows: Vec<_> = (0..4).map(|host| to_one(0, host)).collect();
    let mut value = dumbbell(3_000_000_000, flows.into());
    value["hosts"]["downlink_packets"] = json!(3);
    value["measure"]["ports"] = json!(true);
    // So many stages that one has the number of the queue in front of the host.
    let stage = json!({"rate_bps": 80_000_000_000u64, "queue_packets": 1000, "delay_ns": 1000});
    value["network"]["dumbbell"]["stages"] = json!(vec![stage; 20]);
    let results = run(&value);
    let dropped: i64 = integers(&results.pairs, "dropped_downlink").iter().sum();
    assert!(dropped > 0);
    assert!(integers(&results.ports, "dropped").iter().all(|&n| n == 0));
    assert!(
        integers(&results.ports, "longest")
            .iter()
            .all(|&n| n <= 1000)
    );
}

#[test]
fn a_circuit_that_is_faster_than_a_host_fills_the_queue_of_its_downlink() {
    let mut value = strobe(100, 64);
    value["flows"] = (0..16)
        .map(|host| {
            json!({"src_rack": 0, "src_host": host, "dst_rack": 1, "dst_host": 0, "cc": "cubic", "start_ns": 0})
        })
        .collect();
    let goodput = |value: &serde_json::Value| {
        let results = run(value);
        let dropped = integers(&results.pairs, "dropped_downlink")[0];
        let bytes: i64 = integers(&results.pairs, "circuit_payload_bytes")[0];
        (bytes, dropped)
    };
    let (free, _) = goodput(&value);
    value["hosts"]["downlink_packets"] = json!(10);
    let (queued, dropped) = goodput(&value);
    assert!(
        dropped > 0 && queued < free,
        "{queued} of {free}, {dropped} dropped"
    );
}

#[test]
fn flows_start_and_stop_when_told() {
    let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "cubic",
        "start_ns": 2_000_000, "stop_ns": 4_000_000}]);
    let results = run(&dumbbell(50_000_000, flow));
    let delivered = integers(&results.flows, "bytes_delivered")[0];
    // At most what passes in two milliseconds, and what stands in the queue of 100 packets then.
    assert!(delivered > 100_000 && delivered < 3_400_000, "{delivered}");
    assert_eq!(integers(&results.flows, "end_ns")[0], -1);
}

#[test]
fn the_window_offered_grows_with_a_flow_whenever_it_starts() {
    // Ten megabytes over a round trip of 4 ms: real Linux 6.1 needs 39.8 ms from either start. With the first window of 64 KB
    // it would take 153 round trips.
    let flow = |host: u8, start: u64| {
        json!({"src_rack": 0, "src_host": host, "dst_rack": 1, "dst_host": host, "cc": "reno",
            "start_ns": start, "bytes": 10_000_000})
    };
    let mut value = dumbbell(500_000_000, json!([flow(0, 0), flow(1, 300_000_000)]));
    value["network"]["dumbbell"]["stages"][0]["queue_packets"] = json!(1000);
    value["network"]["dumbbell"]["stages"][0]["delay_ns"] = json!(2_000_000);
    value["network"]["dumbbell"]["return_stages"][0]["delay_ns"] = json!(2_000_000);
    let results = run(&value);
    let starts = [0, 300_000_000];
    for (end, start) in integers(&results.flows, "end_ns").iter().zip(starts) {
        let took = end - start;
        assert!((took - 39_800_000).abs() < 1_000_000, "{took}");
    }
}

#[test]
fn a_flow_that_has_connected_sends_at_once() {
    // As above without the handshake, after a pause of more than a retransmission timeout.
    let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
        "connect_ns": 1_000, "start_ns": 300_000_000, "bytes": 44_740}]);
    let mut value = dumbbell(310_000_000, flow);
    value["hosts"]["jitter_ns"] = json!(0);
    let results = run(&value);
    let end = integers(&results.flows, "end_ns")[0];
    let expected = 300_000_000 + 1_803 + 5 * 7_211 + 2 + 30_000;
    assert!((end - expected).abs() <= 80, "{end} instead of {expected}");
    assert_eq!(integers(&results.flows, "retransmits")[0], 0);
}

#[test]
fn a_pause_after_the_handshake_does_not_keep_the_window_small() {
    let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
        "connect_ns": 0, "start_ns": 500_000_000, "bytes": 10_000_000}]);
    let mut value = dumbbell(1_000_000_000, flow);
    value["network"]["dumbbell"]["stages"][0]["delay_ns"] = json!(2_000_000);
    value["network"]["dumbbell"]["stages"][0]["queue_packets"] = json!(1_000);
    let time = integers(&run(&value).flows, "end_ns")[0] - 500_000_000;
    // 8 ms at the link's rate, and slow start; with 64 KB a round trip it would take 300 ms.
    assert!((8_000_000..30_000_000).contains(&time), "{time}");
}

#[test]
fn a_connection_that_is_killed_before_its_start_sends_nothing() {
    for stop in [100_000, 999_000] {
        let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
            "connect_ns": 0, "start_ns": 1_000_000, "stop_ns": stop, "bytes": 44_740}]);
        let results = run(&dumbbell(10_000_000, flow));
        assert_eq!(integers(&results.flows, "bytes_delivered")[0], 0);
        assert_eq!(integers(&results.flows, "end_ns")[0], -1);
    }
}

#[test]
fn warm_up_is_not_counted() {
    let whole = run(&strobe(40, 16));
    let mut value = strobe(40, 16);
    value["warmup_ns"] = json!(20 * 4_800_000);
    let half = run(&value);
    let bytes = |r: &etalon_sim::Results| integers(&r.flows, "bytes_delivered").iter().sum::<i64>();
    let share = bytes(&half) as f64 / bytes(&whole) as f64;
    assert!((0.45..0.56).contains(&share), "{share}");
    let capacity = |r: &etalon_sim::Results| integers(&r.pairs, "circuit_capacity_bytes")[0];
    assert!(capacity(&half) < capacity(&whole) * 51 / 100);
}

#[test]
fn acknowledgements_around_the_switch_leave_its_queues_alone() {
    let mut value = strobe(10, 64);
    value["network"]["rdcn"]["ack_bypass_ns"] = json!(0);
    let request = TraceRequest {
        start: Time(0),
        end: Time(u64::MAX),
        pcapng: None,
    };
    let (_, events) = etalon_sim::trace(&plan(&value), &Control::default(), &request).unwrap();
    let backward = integers(&events, "src")
        .iter()
        .zip(texts(&events, "kind"))
        .filter(|(src, kind)| **src == 1 && *kind == "enqueue")
        .count();
    assert_eq!(backward, 0, "only data enters the switch");
}

#[test]
fn a_stopped_run_returns_what_it_measured() {
    let control = Control::default();
    control.stop();
    let results = etalon_sim::run(&plan(&strobe(1000, 16)), &control).unwrap();
    assert!(results.meta.partial);
    assert!(results.meta.simulated_ns < 1000 * 4_800_000);
}

#[test]
fn packets_in_flight_do_not_accumulate() {
    let peak = |weeks| run(&strobe(weeks, 16)).meta.peak_in_network;
    assert!(peak(400) <= 2 * peak(40));
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    let refused = |path: &str, wrong: serde_json::Value, why: &str| {
        let mut value = strobe(10, 16);
        *value.pointer_mut(path).expect("a key of the plan") = wrong;
        let error = Scenario::from_json(&value.to_string())
            .and_then(|plan| etalon_sim::run(&plan, &Control::default()))
            .unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    };
    refused("/tdf", json!(0), "tdf");
    refused("/warmup_ns", json!(10 * 4_800_000), "warm-up");
    refused("/flows/0/dst_rack", json!(0), "would send to itself");
    refused("/flows/0/src_host", json!(16), "no host r0h16");
    refused("/flows/0/cc", json!("cubik"), "cubik");
    let mut late = bulk("cubic", 1);
    late[0]["connect_ns"] = json!(1);
    refused("/flows", late, "flow 0 starts before it connects");
    refused("/tcp/hz", json!(0), "hz");
    refused("/hosts/rate_bps", json!(0), "link rate");
    refused(
        "/schedule/configurations/3/sources",
        json!([1, 0, 1]),
        "schedule.configurations[3].sources: rack 1 is the source of two circuits",
    );
}

#[test]
fn nothing_of_an_interrupted_warm_up_is_a_result() {
    let mut value = strobe(1000, 16);
    value["warmup_ns"] = json!(999 * 4_800_000u64);
    let control = Control::default();
    control.stop();
    let results = etalon_sim::run(&plan(&value), &control).unwrap();
    assert!(results.meta.partial);
    assert!(
        floats(&results.flows, "mean_cwnd")
            .iter()
            .all(|cwnd| *cwnd == 0.0)
    );
    assert!(
        integers(&results.flows, "bytes_delivered")
            .iter()
            .all(|bytes| *bytes == 0)
    );
    assert!(integers(&results.pairs, "src").is_empty());
}

#[test]
fn host_timers_run_faster_by_the_time_dilation_factor() {
    // All of a flow's packets are lost from the start: the SYN is repeated after a second of host time.
    let lone = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
        "start_ns": 0, "bytes": 1000}]);
    let mut value = dumbbell(2_000_000_000, lone);
    value["hosts"]["jitter_ns"] = json!(0);
    let end = |tdf: u64| {
        let mut value = value.clone();
        value["tdf"] = json!(tdf);
        // One packet fits, and the first does not.
        value["network"]["dumbbell"]["stages"][0]["queue_packets"] = json!(1);
        value["flows"]
            .as_array_mut()
            .unwrap()
            .push(json!({"src_rack": 0, "src_host": 1, "dst_rack": 1,
            "dst_host": 1, "cc": "reno", "start_ns": 0, "bytes": 1000}));
        let results = run(&value);
        *integers(&results.flows, "end_ns").iter().max().unwrap()
    };
    // Two SYNs of 74 bytes meet at the bottleneck: the second is dropped and sent again after the initial timeout of 1 s,
    // which the host's clock reaches 20 times sooner under a dilation of 20.
    let (undilated, dilated) = (end(1), end(20));
    assert!(
        (1_000_000_000..1_040_000_000).contains(&undilated),
        "{undilated}"
    );
    assert!((50_000_000..52_000_000).contains(&dilated), "{dilated}");
}

#[test]
fn circuit_state_reaches_hosts_also_around_the_switch() {
    let utilization = |cc: &str| {
        let mut value = strobe(200, 16);
        value["network"]["rdcn"]["voq"]["resize"] =
            json!({"packets": 50, "in_advance_ns": 150_000});
        value["network"]["rdcn"]["ece_in_advance_ns"] = json!(150_000);
        value["network"]["rdcn"]["ack_bypass_ns"] = json!(25_000);
        value["flows"] = bulk(cc, 16);
        floats(&run(&value).pairs, "circuit_utilization")[0]
    };
    let (reno, retcp) = (utilization("reno"), utilization("retcp"));
    assert!(retcp > reno + 0.1, "reTCP {retcp}, Reno {reno}");
}

#[test]
fn small_packets_are_measured_too() {
    let mut value = strobe(20, 16);
    value["hosts"]["mtu"] = json!(900);
    let results = run(&value);
    assert!(floats(&results.pairs, "circuit_utilization")[0] > 0.0);
    assert!(integers(&results.latency, "count").iter().sum::<i64>() > 100);
}

#[test]
fn queues_of_a_dumbbell_have_no_lengths() {
    let results = run(&dumbbell(20_000_000, bulk("reno", 16)));
    assert!(
        floats(&results.pairs, "voq_mean")
            .iter()
            .all(|v| v.is_nan())
    );
}

/// A dumbbell of a second whose run ends with its flows.
fn until_done(flows: serde_json::Value) -> serde_json::Value {
    let mut value = dumbbell(1_000_000_000, flows);
    value["end_when_done"] = json!(true);
    value
}

#[test]
fn a_run_ends_with_its_last_flow_if_told() {
    let flow = |bytes, start: u64| {
        json!({"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
        "start_ns": start, "bytes": bytes})
    };
    let results = run(&until_done(json!([
        flow(10_000, 0),
        flow(20_000, 50_000_000)
    ])));
    let ends = integers(&results.flows, "end_ns");
    assert!(ends[0] > 0 && ends[1] > 50_000_000, "{ends:?}");
    assert_eq!(results.meta.simulated_ns, ends[1] as u64);
    assert!(!results.meta.partial);
}

#[test]
fn a_killed_flow_never_ends_but_counts_as_over() {
    // 5 ms at 10 Gb/s are killed after 1 ms, and the kill is the end.
    let flow = json!([{"src_rack": 0, "src_host": 0, "dst_rack": 1, "dst_host": 0, "cc": "reno",
        "start_ns": 0, "stop_ns": 1_000_000, "bytes": 6_250_000}]);
    let results = run(&until_done(flow));
    assert_eq!(integers(&results.flows, "end_ns"), [-1]);
    assert_eq!(results.meta.simulated_ns, 1_000_000);
}

#[test]
fn results_outlive_the_endpoints() {
    // One flow after the other: each is over, and its endpoints given up, when the next begins.
    let flows: Vec<_> = (0..50u64)
        .map(|i| {
            json!({"src_rack": 0, "src_host": i % 16, "dst_rack": 1, "dst_host": 0, "cc": "reno",
            "start_ns": i * 1_000_000, "bytes": 20_000, "class": format!("c{i}")})
        })
        .collect();
    let results = run(&until_done(flows.into()));
    assert_eq!(integers(&results.flows, "bytes_delivered"), [20_000; 50]);
    assert!(
        integers(&results.flows, "srtt_ns")
            .iter()
            .all(|&s| s > 60_000)
    );
    assert!(integers(&results.flows, "cwnd").iter().all(|&c| c >= 10));
    assert_eq!(texts(&results.flows, "class")[49], "c49");
}

#[test]
fn hdfs_writes_every_file_once_and_twice_more() {
    let mut value = strobe(1000, 16);
    value["tdf"] = json!(1);
    value["flows"] = json!([]);
    value["end_when_done"] = json!(true);
    value["dfsio"] = json!([{"start_ns": 0, "writers": 6, "file_bytes": 1_000_000, "block_bytes": 600_000,
        "packet_bytes": 65_536, "window_packets": 4, "placement": "hdfs", "cc": "cubic", "class": "hdfs"}]);
    let results = run(&value);
    assert_eq!(results.meta.digest, run(&value).meta.digest);
    assert_eq!(integers(&results.writes, "bytes_written"), [1_000_000; 6]);
    let last = *integers(&results.writes, "end_ns").iter().max().unwrap();
    assert_eq!(results.meta.simulated_ns, last as u64);
    // 6 files of 2 blocks with 2 connections each; the requests come on top.
    let delivered = integers(&results.flows, "bytes_delivered");
    assert_eq!(delivered.len(), 24);
    assert_eq!(delivered.iter().sum::<i64>(), 12_000_000 + 24 * 512);
    // What stays in its rack does not pass the switch.
    let racks = integers(&results.flows, "src_rack")
        .iter()
        .zip(integers(&results.flows, "dst_rack"));
    let crossing: i64 = racks
        .zip(delivered)
        .filter(|((a, b), _)| a != b)
        .map(|(_, d)| d)
        .sum();
    let left: i64 = ["circuit_payload_bytes", "packet_payload_bytes"]
        .iter()
        .flat_map(|name| integers(&results.pairs, name))
        .sum();
    assert_eq!(crossing, 6_000_000 + 12 * 512);
    // Answers, acknowledgements and packets that were sent again come on top.
    assert!(
        left > crossing && left < crossing * 3 / 2,
        "{left} of {crossing}"
    );
}
