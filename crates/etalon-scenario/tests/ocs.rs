// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of circuits come back as they were, and what is none is refused with a sentence.
#![cfg(feature = "json")]

use etalon_scenario::{Scenario, Setup};
use etalon_units::Time;
use serde_json::{Value, json};

/// Three racks and a relay with two uplinks each, staggered, and a packet network.
fn ocs() -> Value {
    let turn =
        |sources: [i32; 4]| json!({"sources": sources, "day_ns": 180, "night_ns": 20, "plane": 1});
    let switch = |offset: u64, rate: u64| {
        json!({"rate_bps": rate, "delay_ns": 500, "offset_ns": offset,
            "rotation": [turn([1, 0, 3, 2]), turn([2, 3, 0, 1])]})
    };
    let trim = json!({"trim": {"header_bytes": 64, "room_bytes": 12_000, "headers_per_packet": 10,
        "coin": true, "returns": true}});
    let network = json!({"ocs": {
        "access": {"rate_bps": 10_000_000_000u64, "delay_ns": 7},
        "host_queues": true, "relays": 1,
        "uplinks": [switch(0, 1), switch(100, 2)],
        "packet": {"rate_bps": 1, "delay_ns": 2, "queue_packets": 3, "mark_above_packets": 4},
        "classes": [
            {"name": "low", "queue": {"count": "packets", "room": 8, "mark_above": 3, "full": trim},
                "downlink": {"count": "bytes", "room": 9000, "mark_above": null, "full": "drop"},
                "routing": {"expander": {"paths": 5, "equal": true, "spray": true}}},
            {"name": "bulk", "queue": {"count": "bytes", "room": null, "mark_above": null, "full": "return"},
                "downlink": null, "routing": "direct"}],
        "cutoff_bytes": 15_000_000, "guard_ns": 5, "skew_ns": 4, "late": "completes", "most_hops": 9,
        "failures": [{"part": {"link": [2, 1]}, "from_ns": 1, "to_ns": 9, "locks_after_ns": 3},
            {"part": {"link": [2, 1]}, "from_ns": 9, "to_ns": null, "locks_after_ns": null}],
        "reroute_ns": 6, "hold": false, "asked": null, "ack_bypass_ns": 11, "ece_in_advance_ns": 20, "tdns": {"length": 3},
        "notify": {"before_ns": 5, "delay_ns": 7, "jitter_ns": 1, "lost_ppm": 3, "each_ns": 2}}});
    let mut value = scenario(&network);
    value["flows"][0]["priority"] = json!(1);
    value
}

/// What stands around a network.
fn scenario(network: &Value) -> Value {
    json!({"seed": 1, "tdf": 1, "duration_ns": 400_000, "warmup_ns": 0,
        "hosts": {"racks": 3, "per_rack": 2, "mtu": 9000, "rate_bps": 40_000_000_000u64, "delay_ns": 1000, "jitter_ns": 0},
        "network": network,
        "tcp": {"hz": 250, "min_rto_ns": 200_000_000, "initial_cwnd": 10,
            "min_delayed_ack_ns": 40_000_000, "max_delayed_ack_ns": 200_000_000,
            "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
            "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3},
        "flows": [{"src_rack": 0, "src_host": 1, "dst_rack": 1, "dst_host": 0, "cc": "cubic", "start_ns": 10, "bytes": 1000}],
        "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}

fn read(value: &Value) -> Scenario {
    Scenario::from_json(&value.to_string()).expect("a good scenario")
}

/// Changes one value, and says that the scenario is refused for this reason.
fn refused(mut value: Value, key: &str, wrong: Value, why: &str) {
    *value.pointer_mut(key).expect("a key") = wrong;
    let error = Scenario::from_json(&value.to_string()).expect_err("refused");
    assert!(error.0.contains(why), "{key}: {error}");
}

#[test]
fn it_comes_back_from_json_and_bytes() {
    let scenario = read(&ocs());
    let json = serde_json::to_value(&scenario).expect("JSON");
    assert_eq!(json["network"], ocs()["network"]);
    assert_eq!(read(&json), scenario);
    let setup = Setup {
        scenario,
        end: Time::MAX,
        capture: None,
    };
    let bytes = setup.encode(b"").expect("bytes");
    assert_eq!(Setup::decode(&bytes), Ok((setup, &b""[..])));
}

#[test]
fn ports_are_called_by_their_ends() {
    let scenario = read(&ocs());
    let ports = scenario.network.kind().ports(&scenario.hosts);
    let name = |port: &etalon_scenario::PortFacts| format!("{}>{}", port.from, port.to);
    let circuits: Vec<String> = ports.iter().map(name).collect();
    assert_eq!(circuits.len(), 6 + 4 * 3 + 6);
    for name in ["r2>r2h1", "r1>o1", "x0>o0", "r2>c0", "r2h1>r2"] {
        assert!(circuits.contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn a_network_of_circuits_that_contradicts_itself_is_refused() {
    let entry =
        json!({"here": 0, "arrival": 0, "destination": 1, "next": 1, "uplink": 0, "departure": 0});
    let mut with_table = ocs();
    with_table["network"]["ocs"]["classes"][1]["routing"] = json!({"table": [entry]});
    assert!(Scenario::from_json(&with_table.to_string()).is_ok());
    for (key, wrong, why) in [
        (
            "uplinks",
            json!([]),
            "1 to 64 uplinks to circuit switches, not 0",
        ),
        (
            "uplinks/1/rate_bps",
            json!(0),
            "the rate of circuit switch 1 must be positive",
        ),
        (
            "uplinks/0/offset_ns",
            json!(400),
            "begin within its first cycle of 400ns, not at 400ns",
        ),
        (
            "relays",
            json!(2),
            "circuit switch 0 joins 4 racks, the network has 5",
        ),
        (
            "guard_ns",
            json!(90),
            "guard bands of 90ns leave nothing of a day",
        ),
        (
            "uplinks/1/rotation/0/day_ns",
            json!(1_000_003),
            "until all circuit switches are where they began",
        ),
        ("classes", json!([]), "one class of traffic at least"),
    ] {
        refused(ocs(), &format!("/network/ocs/{key}"), wrong, why);
    }
}

#[test]
fn classes_that_contradict_themselves_are_refused() {
    for (key, wrong, why) in [
        (
            "classes/0/queue/room",
            json!(0),
            "the queue of the class 'low' must have room",
        ),
        (
            "classes/1/queue/room",
            json!(8999),
            "'bulk' has no room for a packet of 9000 bytes",
        ),
        (
            "classes/0/queue/full/trim/header_bytes",
            json!(9001),
            "cannot trim packets of 9000 bytes to 9001",
        ),
        (
            "classes/0/queue/full/trim/room_bytes",
            json!(63),
            "'low' has no room for a header",
        ),
        (
            "classes/0/routing/expander/paths",
            json!(0),
            "'low' cannot take 0 paths",
        ),
        (
            "classes/1/routing",
            json!({"earliest": {"hops_per_slice": 0}}),
            "one hop in a slice at least",
        ),
        (
            "classes/1/routing",
            json!("teleport"),
            "unknown variant `teleport`",
        ),
    ] {
        refused(ocs(), &format!("/network/ocs/{key}"), wrong, why);
    }
}

#[test]
fn parts_and_lists_that_there_are_not_are_refused() {
    for (key, wrong, why) in [
        (
            "failures/0/part",
            json!({"link": [4, 1]}),
            "failure 0: there is no such part",
        ),
        (
            "failures/1/part",
            json!({"switch": 2}),
            "failure 1: there is no such part",
        ),
        (
            "failures/1/from_ns",
            json!(8),
            "failure 1: the part has failed then already",
        ),
        (
            "failures/0/to_ns",
            json!(1),
            "failure 0: it must begin before it ends",
        ),
        (
            "access",
            Value::Null,
            "hosts that have queues need links to their racks",
        ),
        ("most_hops", json!(0), "packets must go one hop at least"),
    ] {
        refused(ocs(), &format!("/network/ocs/{key}"), wrong, why);
    }
    refused(
        ocs(),
        "/flows/0/priority",
        json!(2),
        "flow 0: there is no class 2, but 2 from 0 on",
    );
    let mut lists = ocs();
    let classes = &mut lists["network"]["ocs"]["classes"];
    *classes = json!([classes[0], classes[0], classes[1]]);
    let error = Scenario::from_json(&lists.to_string()).expect_err("refused");
    assert!(
        error
            .0
            .contains("4 lists at most, and these classes need 5"),
        "{error}"
    );
    let mut alone = ocs();
    alone["network"]["ocs"]["packet"] = Value::Null;
    refused(
        alone,
        "/network/ocs/classes/0/routing",
        json!("packet"),
        "there is none",
    );
}

#[test]
fn flows_are_of_the_class_of_their_bytes_unless_they_say() {
    let mut value = ocs();
    let class = |value: &Value| {
        let scenario = read(value);
        scenario.class_of(&scenario.flows[0]).0
    };
    assert_eq!(class(&value), 1, "as it says");
    value["flows"][0]["priority"] = Value::Null;
    assert_eq!(class(&value), 0, "short");
    value["flows"][0]["bytes"] = json!(15_000_000);
    assert_eq!(class(&value), 1);
    value["flows"][0]["bytes"] = Value::Null;
    assert_eq!(class(&value), 1, "without end");
    value["network"]["ocs"]["cutoff_bytes"] = Value::Null;
    assert_eq!(class(&value), 0);
    let layer = json!({"rate_bps": 1, "delay_ns": 2, "queue_packets": 3});
    let leaves = json!({"leaf-spine": {"spines": 1, "rack": layer, "spine": layer}});
    let mut other = scenario(&leaves);
    other["flows"][0]["priority"] = json!(0);
    let error = Scenario::from_json(&other.to_string()).expect_err("refused");
    assert!(
        error.0.contains("only networks of circuits have classes"),
        "{error}"
    );
}
