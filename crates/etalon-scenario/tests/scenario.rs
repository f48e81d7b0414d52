// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios come back as they were, from JSON and from bytes, and what is none is refused with a sentence.
#![cfg(feature = "json")]

use std::sync::Arc;

use etalon_scenario::{Capture, Init, InitRoute, Mode, Network, Scenario, Setup};
use etalon_units::Time;
use proptest::prelude::*;
use serde_json::{Value, json};

/// All that a scenario can say, but for the kind of its network.
fn scenario(network: &Value, schedule: &Value, transport: &Value, racks: u16) -> Value {
    json!({"seed": 1, "tdf": 3, "duration_ns": 400_000, "warmup_ns": 1000,
        "hosts": {"racks": racks, "per_rack": 2, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 1000, "jitter_ns": 500, "downlink_packets": 7},
        "network": network, "schedule": schedule,
        "tcp": {"hz": 250, "min_rto_ns": 200_000_000, "initial_cwnd": 10,
            "min_delayed_ack_ns": 40_000_000, "max_delayed_ack_ns": 200_000_000,
            "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
            "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3},
        "flows": [{"src_rack": 0, "src_host": 1, "dst_rack": 1, "dst_host": 0, "cc": "cubic",
            "cc_params": {"beta": 0.7}, "transport": transport, "connect_ns": 5, "start_ns": 10, "stop_ns": 20, "bytes": 1000, "class": "small"}],
        "programs": [{"rack": 1, "host": 1, "command": ["echo", "two words", ""], "start_ns": 7}],
        "dfsio": [{"start_ns": 0, "writers": 3, "file_bytes": 3, "block_bytes": 2, "packet_bytes": 1,
            "window_packets": 2, "placement": {"rehdfs": {"rotate_ns": 9}}, "cc": "reno"}],
        "end_when_done": true, "measure": {"pair": [0, 1], "weeks_per_run": 3, "flows": [0]}})
}

fn rdcn() -> Value {
    let network = json!({"rdcn": {
        "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 1, "down_delay_ns": 2,
            "internal_queue": 3, "hold_queue": 4},
        "night": "all",
        "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 5}],
        "voq": {"packets": 6, "resize": {"packets": 7, "in_advance_ns": 8},
            "pairs": [{"pair": [2, 1], "packets": 9}]},
        "marking": {"threshold": 2, "threshold_big": 4},
        "ece_in_advance_ns": 10, "ack_bypass_ns": 11,
        "notify": {"before_ns": 12, "delay_ns": 2, "jitter_ns": 3, "lost_ppm": 1_000_000, "each_ns": 4}}});
    let schedule = json!({"configurations": [{"sources": [1, -1, 0], "day_ns": 12, "night_ns": 0, "plane": 1}],
        "control": {"scheduler": "solstice", "estimator": {"adu": {"report_ns": 13}}, "window_ns": 14,
            "min_day_ns": 15, "night_ns": 16, "threshold_bytes": 17, "only_big": true,
            "compute_ns": 18, "interval_ns": 19},
        "changes": []});
    let transport = json!({"tdtcp": {"cc": ["cubic", "reno"], "relaxed": false, "pipe": "shared", "rtt": "all",
        "update": "push", "options": false, "pace_burst": true, "downgrade_at_ns": 9}});
    scenario(&network, &schedule, &transport, 3)
}

fn dumbbell() -> Value {
    let network = json!({"dumbbell": {
        "stages": [{"rate_bps": 1, "queue_packets": 2, "delay_ns": 3}],
        "return_stages": [{"rate_bps": null, "queue_packets": null, "delay_ns": 4}]}});
    scenario(&network, &Value::Null, &json!("tcp"), 2)
}

/// A tree or a leaf-spine network, of which one link fails twice.
fn switches(kind: &str) -> Value {
    let layer = json!({"rate_bps": 1, "delay_ns": 2, "queue_packets": 3, "mark_above_packets": 4});
    let above = if kind == "tree" { 4 } else { 5 };
    let down =
        |from: u64, to: Value| json!({"below": 0, "above": above, "from_ns": from, "to_ns": to});
    let mut network = json!({"rack": layer, "delay_in_queue": true, "reroute_ns": 5,
        "failures": [down(1, json!(9)), down(9, Value::Null)]});
    let own = match kind {
        "tree" => {
            json!({"pods": 2, "aggregation_switches": 2, "core_switches": 1, "pod": layer, "core": layer})
        }
        _ => json!({"spines": 2, "spine": layer}),
    };
    for (key, value) in own.as_object().expect("a table") {
        network[key] = value.clone();
    }
    let mut value = scenario(&json!({ kind: network }), &Value::Null, &json!("tcp"), 4);
    value["hosts"]["downlink_packets"] = Value::Null;
    value["measure"]["ports"] = json!(true);
    value
}

fn read(value: &Value) -> Scenario {
    Scenario::from_json(&value.to_string()).expect("a good scenario")
}

fn setup(value: &Value) -> Setup {
    Setup {
        scenario: read(value),
        end: Time::MAX,
        capture: Some(Capture {
            start: Time(1),
            end: Time(2),
            snap: 3,
        }),
    }
}

/// Whether `back` says all that `value` says; it may say defaults, too.
fn says(back: &Value, value: &Value) -> bool {
    match (back, value) {
        (Value::Object(back), Value::Object(value)) => value
            .iter()
            .all(|(key, value)| back.get(key).is_some_and(|back| says(back, value))),
        (Value::Array(back), Value::Array(value)) => {
            back.len() == value.len() && back.iter().zip(value).all(|(b, v)| says(b, v))
        }
        _ => back == value,
    }
}

#[test]
fn json_comes_back_as_it_was() {
    for value in [rdcn(), dumbbell(), switches("tree"), switches("leaf-spine")] {
        let scenario = read(&value);
        let back = serde_json::to_value(&scenario).expect("JSON");
        assert!(says(&back, &value), "{back}");
        assert_eq!(read(&back), scenario);
    }
}

#[test]
fn only_racks_with_circuits_have_uplinks() {
    let uplinks = |value: &Value| read(value).network.kind().uplinks();
    assert_eq!(uplinks(&rdcn()), 1);
    for value in [dumbbell(), switches("tree"), switches("leaf-spine")] {
        assert_eq!(uplinks(&value), 0);
    }
}

#[test]
fn bytes_come_back_as_they_were() {
    for value in [rdcn(), dumbbell(), switches("tree"), switches("leaf-spine")] {
        let setup = setup(&value);
        let bytes = setup.encode(b"the init's").expect("bytes");
        assert_eq!(Setup::decode(&bytes), Ok((setup, &b"the init's"[..])));
    }
}

#[test]
fn what_says_nothing_may_be_left_out() {
    let mut value = dumbbell();
    let flow = value["flows"][0].as_object_mut().expect("a flow");
    for key in ["cc_params", "connect_ns", "stop_ns", "bytes", "class"] {
        flow.remove(key);
    }
    for key in ["schedule", "programs", "dfsio", "end_when_done"] {
        value.as_object_mut().expect("a scenario").remove(key);
    }
    let scenario = read(&value);
    assert!(matches!(scenario.network, Network::Dumbbell(_)));
    assert_eq!(scenario.flows[0].connects(), Time(10));
    assert_eq!(scenario.first_week().week().0, 1_000_000);
}

/// Changes one value, and says that the scenario is refused for this reason.
fn refused(mut value: Value, key: &str, wrong: Value, why: &str) {
    *value.pointer_mut(key).expect("a key") = wrong;
    let error = Scenario::from_json(&value.to_string()).expect_err("refused");
    assert!(error.0.contains(why), "{key}: {error}");
}

#[test]
fn hosts_and_networks_that_contradict_themselves_are_refused() {
    for (key, wrong, why) in [
        ("/tdf", json!(0), "tdf must be at least 1"),
        ("/tdf", json!(u64::MAX), "too long"),
        ("/warmup_ns", json!(400_000), "warm-up must be shorter"),
        ("/hosts/per_rack", json!(0), "at least one host"),
        ("/hosts/rate_bps", json!(0), "link rate must be positive"),
        (
            "/hosts/racks",
            json!(2),
            "the pair 2 -> 1, which does not exist",
        ),
        (
            "/hosts/racks",
            json!(4),
            "the schedule is for 3 racks, the network has 4",
        ),
        (
            "/network/rdcn/voq/packets",
            json!(0),
            "hold at least 1 packet",
        ),
        (
            "/network/rdcn/circuits/0/rate_bps",
            json!(-1),
            "network.rdcn.circuits[0].rate_bps: invalid value",
        ),
        (
            "/network/rdcn/circuits",
            json!([]),
            "1 to 15 kinds of circuits, not 0",
        ),
    ] {
        refused(rdcn(), key, wrong, why);
    }
}

#[test]
fn schedules_and_notifications_that_contradict_themselves_are_refused() {
    for (key, wrong, why) in [
        (
            "/schedule/changes",
            json!([{"at_ns": 1, "configurations": [{"sources": [1, -1, 0], "day_ns": 12, "night_ns": 0}]}]),
            "weeks that are computed cannot be changed",
        ),
        (
            "/schedule/configurations/0/plane",
            json!(2),
            "circuits of plane 2, which does not exist",
        ),
        (
            "/schedule/configurations",
            json!([]),
            "schedule.configurations: the schedule has no configurations",
        ),
        (
            "/schedule/configurations/0/sources",
            json!([1, 2]),
            "configurations[0].sources: there is no rack 2",
        ),
        (
            "/schedule/control/estimator",
            json!("votes"),
            "unknown variant `votes`",
        ),
        (
            "/network/rdcn/notify/before_ns",
            json!(13),
            "hosts cannot be notified 13ns before a change: the shortest configuration lasts 12ns",
        ),
        (
            "/network/rdcn/notify/lost_ppm",
            json!(1_000_001),
            "at most 1000000 can be lost, not 1000001",
        ),
        ("/tcp/hz", json!(0), "tcp.hz"),
    ] {
        refused(rdcn(), key, wrong, why);
    }
}

#[test]
fn flows_and_programs_that_contradict_the_network_are_refused() {
    for (key, wrong, why) in [
        (
            "/flows/0/dst_host",
            json!(2),
            "flow 0: there is no host r1h2",
        ),
        ("/flows/0/bytes", json!(0), "flow 0 has nothing to send"),
        (
            "/flows/0/connect_ns",
            json!(11),
            "flow 0 starts before it connects",
        ),
        (
            "/flows/0/transport/tdtcp/cc",
            json!(["cubic"]),
            "flow 0: it has 1 congestion controls for 2 TDNs",
        ),
        (
            "/flows/0/transport",
            json!({"mptcp": {"subflows": 3, "scheduler": "tdm", "acks": "any", "reinject": true}}),
            "flow 0: it has 3 subflows for 2 networks",
        ),
        (
            "/flows/0/transport",
            json!("quic"),
            "flows[0].transport: unknown variant `quic`",
        ),
        ("/programs/0/command", json!([]), "program 0 has no command"),
        (
            "/programs/0/rack",
            json!(3),
            "program 0: there is no host r3h1",
        ),
        ("/dfsio/0/writers", json!(0), "job 0 writes nothing"),
        (
            "/dfsio/0/placement",
            json!({"rehdfs": {"rotate_ns": 0}}),
            "job 0: the mapping of racks",
        ),
    ] {
        refused(rdcn(), key, wrong, why);
    }
}

#[test]
fn measurements_of_what_is_not_there_are_refused() {
    for (key, wrong, why) in [
        (
            "/measure/pair",
            json!([0, 3]),
            "measure.pair: there is no rack pair 0 -> 3, only racks 0 to 2",
        ),
        (
            "/measure/weeks_per_run",
            json!(0),
            "measure.weeks_per_run must be at least 1",
        ),
        (
            "/measure/flows",
            json!([1]),
            "measure.flows: there is no flow 1, only 1",
        ),
        (
            "/measure/flows",
            json!([0, 0]),
            "measure.flows must be in ascending order",
        ),
        (
            "/measure/flows",
            json!((0..1001).collect::<Vec<u32>>()),
            "measure.flows: at most 1000 flows can be followed, not 1001",
        ),
    ] {
        refused(rdcn(), key, wrong, why);
    }
    let mut long = rdcn();
    long["schedule"]["configurations"][0]["day_ns"] = json!(1u64 << 45);
    refused(
        long,
        "/measure/weeks_per_run",
        json!(u32::MAX),
        "measure.weeks_per_run: 4294967295 weeks of",
    );
}

#[test]
fn a_dumbbell_that_contradicts_itself_is_refused() {
    for (key, wrong, why) in [
        ("/hosts/racks", json!(3), "a dumbbell has 2 racks, not 3"),
        (
            "/network/dumbbell/stages",
            json!([]),
            "at least one stage in each direction",
        ),
        (
            "/network/dumbbell/stages/0/rate_bps",
            json!(0),
            "rate of a stage must be positive",
        ),
        (
            "/flows/0/transport",
            rdcn()["flows"][0]["transport"].clone(),
            "flow 0: TDTCP is for networks that take turns, and there is one network only",
        ),
        (
            "/measure/pair",
            json!([2, 0]),
            "there is no rack pair 2 -> 0",
        ),
        (
            "/schedule",
            rdcn()["schedule"].clone(),
            "for networks with circuits only",
        ),
    ] {
        refused(dumbbell(), key, wrong, why);
    }
    refused(
        rdcn(),
        "/measure",
        json!({"pair": [0, 1], "weeks_per_run": 3, "ports": true}),
        "queues are those of rack pairs",
    );
}

#[test]
fn links_that_are_not_there_or_down_already_do_not_fail() {
    for kind in ["tree", "leaf-spine"] {
        for (index, key, wrong, why) in [
            (
                1,
                "from_ns",
                json!(8),
                "failure 1: the link is down then already",
            ),
            (
                0,
                "to_ns",
                Value::Null,
                "failure 1: the link is down then already",
            ),
            (0, "to_ns", json!(1), "failure 0: the link must go down"),
            (1, "above", json!(1), "failure 1: there is no such link"),
            (1, "above", json!(99), "failure 1: there is no such link"),
            (0, "below", json!(7), "failure 0: there is no such link"),
        ] {
            let mut value = switches(kind);
            assert!(Scenario::from_json(&value.to_string()).is_ok());
            value["network"][kind]["failures"][index][key] = wrong;
            let error = Scenario::from_json(&value.to_string()).expect_err("refused");
            assert!(error.0.contains(why), "{kind} {index} {key}: {error}");
        }
    }
}

#[test]
fn ports_are_called_by_their_ends() {
    let names = |value: &Value| {
        let scenario = read(value);
        let ports = scenario.network.kind().ports(&scenario.hosts);
        let name = |port: &etalon_scenario::PortFacts| format!("{}>{}", port.from, port.to);
        ports.iter().map(name).collect::<Vec<_>>()
    };
    let tree = names(&switches("tree"));
    assert_eq!(tree.len(), 8 + 2 * (8 + 4) + 8);
    for name in ["r3>r3h1", "r1>p0a1", "p0a1>r1", "p1a0>c0", "r3h1>r3"] {
        assert!(tree.contains(&name.to_owned()), "{name}");
    }
    let leaves = names(&switches("leaf-spine"));
    assert!(leaves.contains(&"s1>r2".to_owned()));
    let mut chain = dumbbell();
    let stage = json!({"rate_bps": 1, "queue_packets": 2, "delay_ns": 3});
    chain["network"]["dumbbell"]["stages"] = json!([stage, stage]);
    assert_eq!(names(&chain), ["r0>f1", "f1>r1"]);
    assert!(names(&rdcn()).is_empty());
}

#[test]
fn a_week_may_change_and_what_cannot_follow_is_refused() {
    let changed = |changes: Value| {
        let mut value = rdcn();
        value["schedule"]["control"] = Value::Null;
        value["schedule"]["changes"] = changes;
        Scenario::from_json(&value.to_string())
    };
    let change = |at: u64, sources: Value, plane: u8| {
        json!({"at_ns": at, "configurations":
            [{"sources": sources, "day_ns": 12, "night_ns": 0, "plane": plane}]})
    };
    let good = changed(json!([
        change(5, json!([2, 0, 1]), 1),
        change(5, json!([-1, -1, -1]), 1)
    ]));
    let scenario = good.expect("a good scenario");
    let setup = Setup {
        scenario,
        end: Time::MAX,
        capture: None,
    };
    let bytes = setup.encode(b"").expect("bytes");
    assert_eq!(Setup::decode(&bytes).expect("the same").0, setup);
    for (changes, why) in [
        (
            json!([change(5, json!([2, 2, 1]), 1)]),
            "changes[0].configurations[0].sources: rack 2 is the source of two circuits",
        ),
        (
            json!([change(5, json!([1, 0]), 1)]),
            "the schedule is for 2 racks, the network has 3",
        ),
        (
            json!([change(5, json!([2, 0, 1]), 2)]),
            "circuits of plane 2, which does not exist",
        ),
        (
            json!([
                change(6, json!([2, 0, 1]), 1),
                change(5, json!([2, 0, 1]), 1)
            ]),
            "must be in order of time",
        ),
    ] {
        let error = changed(changes).expect_err("refused");
        assert!(error.0.contains(why), "{error}");
    }
}

#[test]
fn a_congestion_control_that_linux_has_no_room_for_is_refused() {
    let mut setup = setup(&dumbbell());
    setup.scenario.flows[0].cc = Arc::new("sixteen-letters-".to_owned());
    let bytes = setup.encode(b"").expect("bytes");
    let why = Setup::decode(&bytes).expect_err("refused").0;
    assert_eq!(
        why,
        "flow 0: the kernel has no congestion control 'sixteen-letters-'"
    );
}

/// Numbers lie where C has them: kernel/driver/core.h.
#[test]
fn the_first_process_is_told_in_numbers_and_texts() {
    let near = InitRoute {
        net: [10, 0, 1, 0],
        prefix_bits: 24,
        initcwnd: 4,
        max_cwnd: 5,
        rto_min_ms: 6,
        rto_init_ms: 7,
    };
    let init = Init {
        mode: Mode::Exec,
        routes: vec![Vec::new(), vec![InitRoute::default(), near]],
        sysctls: vec![(b"a.b".to_vec(), b"1 2".to_vec())],
        files: vec![(b"/proc/x".to_vec(), b"3".to_vec())],
        variables: vec![b"A=B".to_vec()],
        folder: Some(b"/a folder".to_vec()),
        control: true,
    };
    let bytes = init.encode(&read(&dumbbell())).expect("bytes");
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let head: Vec<u32> = (0..8).map(|n| word(4 * n)).collect();
    assert_eq!(head, [1, 9000, 4, 1, 1, 1, 1, 1]);
    assert_eq!([word(32), word(36), word(40), word(44)], [7, 0, 3, 3]);
    let host = [1u16.to_ne_bytes(), 1u16.to_ne_bytes()].concat();
    assert_eq!(
        bytes[96..108],
        [&host[..], &[10, 0, 1, 2, 172, 16, 1, 2]].concat()
    );
    let counts: Vec<u32> = (0..4).map(|n| word(60 + 16 * n)).collect();
    assert_eq!(counts, [0, 0, 2, 2]);
    assert_eq!(bytes[184..188], [10, 0, 1, 0]);
    let metrics: Vec<u32> = (47..52).map(|n| word(4 * n)).collect();
    assert_eq!(metrics, [24, 4, 5, 6, 7]);
    let texts = b"a.b\x001 2\0/proc/x\x003\0A=B\0/a folder\0echo\0two words\0\0";
    assert_eq!(bytes[208..], texts[..]);
}

#[test]
fn what_the_first_process_cannot_be_told_is_refused() {
    let refused = |init: &Init, value: &Value| init.encode(&read(value)).expect_err("refused").0;
    let mut value = dumbbell();
    value["programs"][0]["command"] = json!(["a\u{0}b"]);
    assert!(refused(&Init::default(), &value).contains("the text 'a\\x00b' has a zero byte"));
    let mut value = dumbbell();
    value["hosts"]["per_rack"] = json!(255);
    assert!(refused(&Init::default(), &value).contains("no address for host r0h254"));
}

proptest! {
    #[test]
    fn a_setup_that_is_cut_or_longer_is_refused(cut in any::<prop::sample::Index>()) {
        let mut bytes = setup(&rdcn()).encode(b"init").expect("bytes");
        prop_assert!(Setup::decode(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(Setup::decode(&bytes).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Setup::decode(&noise);
        let mut bytes = setup(&rdcn()).encode(b"").expect("bytes");
        let place = place.index(bytes.len());
        bytes[place] = value;
        // What is read of it is sound.
        if let Ok((setup, _)) = Setup::decode(&bytes) {
            prop_assert_eq!(setup.scenario.check(), Ok(()));
        }
    }
}
