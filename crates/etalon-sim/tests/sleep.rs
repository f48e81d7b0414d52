// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs that have sent nothing sleep, unless somebody hears of all that the schedule does: nothing that is measured depends on it.

use crate::common::*;
use etalon_sim::results::Table;
use etalon_sim::{Control, Results, TraceRequest};
use etalon_units::Time;
use proptest::prelude::*;
use serde_json::{Value, json};

const RACKS: u16 = 4;
const END: u64 = 3_000_000;

/// A day of 4 racks: sources by destination, length, night, plane.
fn day() -> impl Strategy<Value = (Value, u64)> {
    let sources = Just(vec![0, 1, 2, 3]).prop_shuffle();
    let night = prop_oneof![Just(0u64), 1..20_000u64];
    (sources, 1_000..90_000u64, night, 1..3u8).prop_map(|(sources, day, night, plane)| {
        let racks = sources.into_iter().enumerate();
        let sources = racks.map(|(dst, src)| if src == dst as i32 { -1 } else { src });
        let sources: Vec<i32> = sources.collect();
        let value = json!({"sources": sources, "day_ns": day, "night_ns": night, "plane": plane});
        (value, day + night)
    })
}

fn week() -> impl Strategy<Value = (Vec<Value>, u64)> {
    prop::collection::vec(day(), 1..7).prop_map(|days| {
        let length = days.iter().map(|day| day.1).sum();
        (days.into_iter().map(|day| day.0).collect(), length)
    })
}

/// A flow with its start, bytes and congestion control.
fn flow() -> impl Strategy<Value = Value> {
    let bytes = prop_oneof![Just(Value::Null), (1..400_000u64).prop_map(Value::from)];
    let cc = prop::sample::select(vec!["reno", "cubic", "dctcp", "retcp"]);
    (0..RACKS, 1..RACKS, 0..END, bytes, cc).prop_map(|(src, to, start, bytes, cc)| {
        json!({"src_rack": src, "src_host": 0, "dst_rack": (src + to) % RACKS, "dst_host": 1, "cc": cc,
            "start_ns": start, "bytes": bytes})
    })
}

prop_compose! {
    fn any_plan()(
        (week, length) in week(),
        change in prop::option::weighted(0.3, (0..END, week())),
        flows in prop::collection::vec(flow(), 1..8),
        resize in prop::option::of((17..60u32, 0..200_000u64)),
        ece in prop::option::weighted(0.2, 0..100_000u64),
        bypass in prop::option::weighted(0.3, 0..20_000u64),
        downlink in prop::option::of(1..30u32),
        has_packet in prop::bool::weighted(0.8),
        // At a boundary of the week, just before or after one, or anywhere.
        (weeks, boundary, off, anywhere) in (0..4u64, 0..3usize, 0..3u64, prop::option::of(0..END)),
        measured in (0..RACKS, 1..RACKS),
    ) -> Value {
        let first = week[0]["day_ns"].as_u64().unwrap();
        let night = first + week[0]["night_ns"].as_u64().unwrap();
        let warmup = weeks * length + [0, first, night][boundary] + off;
        let mut plan = strobe(1, 16);
        plan["tdf"] = json!(1);
        plan["duration_ns"] = json!(END);
        plan["warmup_ns"] = json!(anywhere.unwrap_or(warmup.saturating_sub(1)).min(END - 1));
        plan["hosts"]["racks"] = json!(RACKS);
        plan["hosts"]["downlink_packets"] = json!(downlink);
        let rdcn = &mut plan["network"]["rdcn"];
        rdcn["circuits"] = json!([{"rate_bps": 80_000_000_000u64, "delay_ns": 3_000},
            {"rate_bps": 40_000_000_000u64, "delay_ns": 1_000}]);
        rdcn["voq"]["resize"] = json!(resize.map(|(packets, tau)| json!({"packets": packets, "in_advance_ns": tau})));
        rdcn["ece_in_advance_ns"] = json!(ece);
        rdcn["ack_bypass_ns"] = json!(bypass);
        if !has_packet {
            rdcn["packet"] = Value::Null;
        }
        let changes: Vec<Value> = change
            .into_iter()
            .map(|(at, (week, _))| json!({"at_ns": at, "configurations": week}))
            .collect();
        plan["schedule"] = json!({"configurations": week, "changes": changes});
        plan["flows"] = json!(flows);
        plan["measure"]["pair"] = json!([measured.0, (measured.0 + measured.1) % RACKS]);
        plan
    }
}

/// All that is measured.
fn tables(results: Results) -> [Table; 9] {
    [
        results.flows,
        results.pairs,
        results.latency,
        results.sequence,
        results.days,
        results.tcp,
        results.reordering,
        results.ports,
        results.writes,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_trace_measures_what_a_run_does(value in any_plan()) {
        let request = TraceRequest { start: Time(0), end: Time(END), pcapng: None };
        let (traced, _) = etalon_sim::trace(&plan(&value), &Control::default(), &request).unwrap();
        let ran = run(&value);
        prop_assert_eq!(&ran.meta.digest, &traced.meta.digest);
        prop_assert_eq!(ran.meta.packets_delivered, traced.meta.packets_delivered);
        prop_assert_eq!(ran.meta.sequence_runs, traced.meta.sequence_runs);
        prop_assert_eq!(format!("{:?}", tables(ran)), format!("{:?}", tables(traced)));
    }
}
