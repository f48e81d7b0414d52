// SPDX-License-Identifier: MIT OR Apache-2.0
use etalon_units::Span;

use super::*;
use crate::example::{BACK, CIRCUIT, FORTH, PACKET, plan};

fn meter() -> Meter {
    let plan = plan();
    Meter::new(&plan, &Metrics::new(&plan))
}

#[test]
fn payload_is_counted_by_flow_pair_and_plane() {
    let mut meter = meter();
    meter.data_left(Time(1), 0, 100, 100, PACKET);
    meter.data_left(Time(2), 0, 200, 300, CIRCUIT);
    meter.data_left(Time(3), 1, 400, 400, CIRCUIT);
    meter.other_left(BACK, 50, PACKET);
    meter.other_left(FORTH, 7, PACKET);
    let carried = |flow| [0, 1].map(|plane| meter.carried(flow, plane));
    assert_eq!([0, 1].map(carried), [[100, 200], [0, 400]]);
    // 0 to 0, 0 to 1, 1 to 0, 1 to 1; for each the packet network and circuits.
    assert_eq!(meter.payload(), [0, 0, 107, 600, 50, 0, 0, 0]);
    assert_eq!(meter.delivered, 5);
}

#[test]
fn the_warm_up_is_forgotten_but_for_where_streams_are() {
    let mut meter = meter();
    meter.set_first_byte(0, 1000);
    meter.data_left(Time(1), 0, 100, 1100, PACKET);
    meter.other_left(FORTH, 7, PACKET);
    meter.follow_cwnd(Time(0), 0, 10);
    let counters = Counters {
        received: 100,
        rtos: 1,
        ..Counters::default()
    };
    meter.begin(Time(100_000), |_| counters);
    assert_eq!(meter.payload(), [0; 8]);
    assert_eq!((meter.delivered, meter.flows[0].cwnd_time), (0, 0));
    assert_eq!(meter.baseline(0), counters);
    let measured = meter.flows[0].measured.as_ref().expect("of the pair");
    assert_eq!((measured.highest, meter.flows[0].cwnd), (100, 10));
}

#[test]
fn a_stream_goes_on_past_the_end_of_sequence_numbers() {
    let mut meter = meter();
    let first = u32::MAX - 99;
    meter.set_first_byte(0, first);
    let mut reach = |end: u32| {
        meter.data_left(Time(1), 0, 1, first.wrapping_add(end), PACKET);
        let measured = meter.flows[0].measured.as_ref();
        measured.map_or(0, |measured| measured.highest)
    };
    assert_eq!(reach(60), 60);
    assert_eq!(reach(160), 160); // 60 in numbers
    assert_eq!(reach(100), 160); // sent again
    let step = 1 << 30;
    for i in 1..=8u64 {
        let end = (160 + i * step) as u32;
        assert_eq!(reach(end), 160 + i * step);
    }
}

#[test]
fn a_flow_ends_once_with_its_last_byte() {
    let mut meter = meter();
    assert!(!meter.received(Time(10), 1, 9_999));
    assert!(meter.received(Time(20), 1, 10_000));
    assert!(!meter.received(Time(30), 1, 10_000));
    assert_eq!(meter.flows[1].end, Some(Time(20)));
    assert!(!meter.received(Time(40), 0, u64::MAX - 1));
    assert_eq!(meter.flows[0].end, None);
}

#[test]
fn a_flow_that_is_killed_never_ends() {
    let mut meter = meter();
    assert!(meter.kill(1));
    assert!(!meter.received(Time(20), 1, 10_000));
    assert_eq!(meter.flows[1].end, None);
    let mut meter = self::meter();
    meter.received(Time(20), 1, 10_000);
    assert!(!meter.kill(1));
    assert_eq!(meter.flows[1].end, Some(Time(20)));
}

#[test]
fn windows_are_summed_over_the_time_that_they_last() {
    let mut meter = meter();
    meter.follow_cwnd(Time(0), 0, 10);
    meter.begin(Time(100_000), |_| Counters::default());
    meter.follow_cwnd(Time(300_000), 0, 20);
    meter.follow_cwnd(Time(500_000), 0, 20);
    meter.follow_cwnd(Time(600_000), 0, 5);
    meter.finish(Time(1_000_000));
    let sum = 10 * 200_000 + 20 * 300_000 + 5 * 400_000;
    assert_eq!(meter.flows[0].cwnd_time, sum);
    // To be told the end twice changes nothing.
    meter.finish(Time(1_000_000));
    assert_eq!(meter.flows[0].cwnd_time, sum);
}

#[test]
fn only_chosen_senders_are_followed() {
    let mut plan = plan();
    assert!(!meter().follows_senders());
    plan.measure.flows = vec![1];
    let mut meter = Meter::new(&plan, &Metrics::new(&plan));
    assert!(meter.follows_senders());
    let sender = Sender {
        cwnd: 7,
        ..Sender::default()
    };
    for flow in [0, 1] {
        meter.follow_sender(Time(5), flow, sender);
    }
    assert!(meter.flows[0].samples.is_empty());
    assert_eq!(meter.flows[1].samples[0].rows(), [(Time(5), sender)]);
}

#[test]
fn flows_that_are_opened_later_are_numbered_after_the_plans() {
    let mut meter = meter();
    let mut flow = plan().flows[1].clone();
    (flow.src_rack, flow.dst_rack) = (1, 0);
    meter.add_flow(&flow);
    meter.data_left(Time(1), 2, 30, 30, CIRCUIT);
    assert!(meter.received(Time(2), 2, 10_000));
    assert_eq!((meter.carried(2, 0), meter.carried(2, 1)), (0, 30));
    assert_eq!(meter.payload(), [0, 0, 0, 0, 0, 30, 0, 0]);
    // The sequence graph is of the measured pair, 0 to 1.
    assert_eq!(meter.measured_flows(), 2);
}

#[test]
fn flows_that_are_parts_of_others_can_be_left_out() {
    let mut meter = meter();
    let flow = plan().flows[1].clone();
    for _ in 0..3 {
        meter.add_flow(&flow);
    }
    meter.data_left(Time(1), 2, 30, 30, CIRCUIT);
    meter.data_left(Time(1), 4, 50, 50, CIRCUIT);
    meter.leave_out([3, 9].into_iter());
    assert_eq!((meter.carried(2, 1), meter.carried(3, 1)), (30, 50));
    assert_eq!((meter.flows.len(), meter.carried.len()), (4, 8));
}

#[test]
fn counters_are_what_was_added() {
    let then = Counters {
        received: 10,
        retransmits: 1,
        rtos: 2,
        tlps: 3,
        recoveries: 4,
        undos: 5,
    };
    let now = Counters {
        received: 110,
        retransmits: 3,
        rtos: 5,
        tlps: 7,
        recoveries: 9,
        undos: 4, // a socket that was replaced
    };
    let added = Counters {
        received: 100,
        retransmits: 2,
        rtos: 3,
        tlps: 4,
        recoveries: 5,
        undos: 0,
    };
    assert_eq!(now.since(&then), added);
}

/// Data at a constant rate comes out as a line with that slope, in each run and for each flow.
#[test]
fn the_sequence_graph_is_the_mean_over_flows_and_runs() {
    let plan = plan();
    let mut metrics = Metrics::new(&plan);
    let mut meter = Meter::new(&plan, &metrics);
    metrics.begin();
    // A run is two weeks of 100 us.
    for start in [100_000, 300_000] {
        metrics.runs.cut(Time(start));
    }
    meter.follow_runs(&metrics);
    for step in 0..=50u32 {
        let now = Time::ZERO + Span(u64::from(step) * 10_000);
        meter.data_left(now, 0, 300, step * 300, PACKET);
        meter.data_left(now, 1, 100, step * 100, PACKET);
    }
    meter.finish(Time(500_000));
    let reached = metrics.runs.reached(Time(500_000));
    assert_eq!(reached, [2; 200]);
    let counts: Vec<usize> = reached.iter().map(|runs| 2 * runs).collect();
    for (us, bytes) in meter.sequence.mean(&counts).into_iter().enumerate().skip(1) {
        // 300 and 100 bytes in 10 us.
        assert!((bytes - 20.0 * us as f64).abs() < 0.5, "{us}: {bytes}");
    }
}
