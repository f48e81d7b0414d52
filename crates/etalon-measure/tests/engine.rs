// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements as an engine uses them, with numbers that can be computed by hand.

use etalon_events::{DropReason, Event, Pair, Plane, Probe, QueueId};
use etalon_measure::results::{self, Column, Outcome, Results, Table};
use etalon_measure::{
    Capture, Counters, FlowFacts, HEADERS, IpPacket, Meter, Metrics, Recorder, TraceRequest,
};
use etalon_scenario::{Scenario, ScenarioError};
use etalon_units::{Span, Time};
use serde_json::{Value, json};

const FORTH: Pair = Pair { src: 0, dst: 1 };
const BACK: Pair = Pair { src: 1, dst: 0 };

/// Two flows from rack 0 to rack 1; a day of 80 us and a night of 20 us, the first 100 us are not measured.
fn value() -> Value {
    serde_json::from_str(include_str!("plan.json")).expect("JSON")
}

fn plan(value: &Value) -> Scenario {
    Scenario::from_json(&value.to_string()).expect("a good plan")
}

fn integers<'a>(table: &'a Table, name: &str) -> &'a [i64] {
    match &table.iter().find(|c| c.0 == name).expect("a column").1 {
        Column::Integers(values) => values,
        other => panic!("{name} holds {other:?}"),
    }
}

fn floats<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match &table.iter().find(|c| c.0 == name).expect("a column").1 {
        Column::Floats(values) => values,
        other => panic!("{name} holds {other:?}"),
    }
}

fn counters(received: u64, retransmits: u64) -> Counters {
    Counters {
        received,
        retransmits,
        ..Counters::default()
    }
}

fn circuit(up: bool) -> Event {
    let (pair, plane) = (FORTH, Plane::CIRCUIT);
    Event::Circuit { pair, plane, up }
}

fn departed(pair: Pair, bytes: u32, latency: Span, plane: Plane) -> Event {
    Event::Departed {
        pair,
        queue: QueueId::voq(pair),
        bytes,
        latency,
        plane,
    }
}

/// An engine that sends a segment of flow 0 each 10 us, whose stream starts just below 2^32.
fn run(plan: &Scenario) -> Results {
    let first = u32::MAX - 12_345;
    let mut metrics = Metrics::new(plan);
    let mut meter = Meter::new(plan, &metrics);
    meter.set_first_byte(0, first);
    meter.set_first_byte(1, 1);
    meter.follow_cwnd(Time(0), 0, 10);
    for step in 0..110u64 {
        let now = Time(step * 10_000);
        if step == 10 {
            metrics.begin();
            let counters = [counters(89_480, 2), counters(0, 0)];
            meter.begin(now, |flow| counters[flow]);
        }
        match step % 10 {
            0 => metrics.on(now, circuit(true)),
            8 => metrics.on(now, circuit(false)),
            _ => {}
        }
        meter.follow_runs(&metrics);
        let plane = if step % 10 < 8 {
            Plane::CIRCUIT
        } else {
            Plane::PACKET
        };
        metrics.on(now, departed(FORTH, 9014, Span(30_000), plane));
        let end = (step as u32 + 1) * 8948;
        meter.data_left(now, 0, 8948, first.wrapping_add(end), plane);
        if step == 60 {
            meter.follow_cwnd(now, 0, 20);
            // What a program sends the other way.
            metrics.on(now, departed(BACK, 1514, Span(20_000), Plane::PACKET));
            meter.other_left(BACK, 1448, Plane::PACKET);
        }
        meter.received(now, 1, 2000 * step);
    }
    let end = plan.end();
    metrics.finish(end);
    meter.finish(end);
    let facts = |counters| FlowFacts {
        ports: (40_001, 5001),
        counters,
        cwnd: 20,
        ssthresh: None,
        srtt_ns: 60_000,
    };
    results::collect(&Outcome {
        plan,
        metrics: &metrics,
        meter: &meter,
        flows: &[facts(counters(984_280, 5)), facts(counters(10_000, 0))],
        opened: &[],
        writes: &[],
        jobs: &etalon_measure::jobs::JobRows::default(),
        end,
        partial: false,
        events: 110,
        peak_in_network: 1,
    })
}

#[test]
fn flows_are_measured_after_the_warm_up() {
    let results = run(&plan(&value()));
    let flows = &results.flows;
    assert_eq!(integers(flows, "bytes_delivered"), [894_800, 10_000]);
    assert_eq!(integers(flows, "retransmits"), [3, 0]);
    assert_eq!(integers(flows, "circuit_bytes"), [80 * 8948, 0]);
    assert_eq!(integers(flows, "packet_bytes"), [20 * 8948, 0]);
    // Flow 1 is done when its 10000 bytes have come, at step 5.
    assert_eq!(integers(flows, "end_ns"), [-1, 50_000]);
    assert_eq!(integers(flows, "ssthresh"), [-1, -1]);
    // 10 segments for 500 us, 20 for the other 500 us.
    assert_eq!(floats(flows, "mean_cwnd"), [15.0, 0.0]);
    assert_eq!(results.meta.packets_delivered, 101);
}

#[test]
fn pairs_count_what_belongs_to_no_flow() {
    let results = run(&plan(&value()));
    assert_eq!(integers(&results.pairs, "src"), [0, 1]);
    let circuit = integers(&results.pairs, "circuit_payload_bytes");
    assert_eq!(circuit, [80 * 8948, 0]);
    let packet = integers(&results.pairs, "packet_payload_bytes");
    assert_eq!(packet, [20 * 8948, 1448]);
}

#[test]
fn the_sequence_graph_follows_the_stream_over_the_end_of_its_numbers() {
    let results = run(&plan(&value()));
    // Runs of two weeks start at the ends of days: at 180 us, 380 us, 580 us and 780 us.
    assert_eq!(results.meta.sequence_runs, 4);
    // Two flows are averaged over, one of which stands still.
    let rate = 8948.0 / 10.0 / 2.0;
    for (us, bytes) in floats(&results.sequence, "bytes").iter().enumerate() {
        assert!((bytes - rate * us as f64).abs() < 1.0, "{us}: {bytes}");
    }
}

#[test]
fn a_digest_tells_runs_apart() {
    let digest = |value: &Value| run(&plan(value)).meta.digest;
    let mut other = value();
    assert_eq!(digest(&value()), digest(&other));
    other["flows"][1]["bytes"] = json!(12_000);
    assert_ne!(digest(&value()), digest(&other));
}

#[test]
fn a_trace_records_its_part_of_the_run() {
    let plan = plan(&value());
    let request = TraceRequest {
        start: Time(20),
        end: Time(300_000),
        pcapng: None,
    };
    assert_eq!(request.shorten(&plan).duration, Span(300_000));
    let mut recorder = Recorder::new(&plan, Metrics::new(&plan), request.window());
    let enqueue = |len| Event::Enqueue {
        pair: FORTH,
        queue: QueueId::voq(FORTH),
        len,
        bytes: 9014,
    };
    recorder.on(Time(19), enqueue(1));
    recorder.on(Time(20), enqueue(2));
    // Nobody queues or carries anything.
    recorder.on(Time(21), Event::Started { flow: 0 });
    let leaves = departed(FORTH, 9014, Span(299_980), Plane::CIRCUIT);
    recorder.on(Time(299_999), leaves);
    recorder.on(Time(300_000), Event::Week { week: 3 });
    let table = recorder.into_table();
    assert_eq!(integers(&table, "t_ns"), [20, 299_999]);
    assert_eq!(integers(&table, "value"), [2, 299_980]);
    assert_eq!(integers(&table, "bytes"), [9014, 9014]);
}

#[test]
fn a_capture_holds_the_packets_of_its_part_of_the_run() {
    let path = std::env::temp_dir().join(format!("etalon-measure-{}.pcapng", std::process::id()));
    let window = TraceRequest {
        start: Time(10),
        end: Time(20),
        pcapng: None,
    }
    .window();
    let mut capture = Capture::create(&path, 2, window, HEADERS).unwrap();
    assert!(!capture.wants(Time(9)) && capture.wants(Time(10)) && !capture.wants(Time(20)));
    let packet = |len: u32| IpPacket {
        src: (0, 1),
        dst: (1, 0),
        bytes: &[0x45; 20],
        len,
    };
    capture.entered(Time(9), &packet(100));
    capture.entered(Time(10), &packet(101));
    capture.left(Time(11), &packet(102));
    capture.lost(Time(12), &packet(103), DropReason::Shrunk);
    capture.left(Time(20), &packet(104));
    capture.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(&bytes[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push((packet.interface_id, packet.original_len, packet.data.len()));
        }
    }
    // In at rack 0, out at rack 1, dropped; with 14 bytes of Ethernet header.
    assert_eq!(packets, [(0, 115, 34), (3, 116, 34), (4, 117, 34)]);
}

#[test]
fn what_could_not_be_captured_comes_out_at_the_end() {
    let path = std::env::temp_dir().join(format!("etalon-failed-{}.pcapng", std::process::id()));
    let window = TraceRequest {
        start: Time(0),
        end: Time::MAX,
        pcapng: None,
    }
    .window();
    let mut capture = Capture::create(&path, 2, window, HEADERS).unwrap();
    capture.fail(std::io::Error::other("the first"));
    capture.fail(std::io::Error::other("the second"));
    assert!(!capture.wants(Time(0)));
    let error = capture.finish().unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(error.to_string(), "the first");
}

#[test]
fn programs_are_checked() {
    let program = |rack: u16, command: &[&str]| {
        let mut value = value();
        value["programs"] = json!([{"rack": rack, "host": 1, "command": command, "start_ns": 5}]);
        Scenario::from_json(&value.to_string())
    };
    assert_eq!(program(1, &["ping"]).unwrap().programs[0].start, Time(5));
    let refused = |result: Result<Scenario, ScenarioError>, why| {
        let error = result.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(program(2, &["ping"]), "no host r2h1");
    refused(program(1, &[]), "no command");
}
