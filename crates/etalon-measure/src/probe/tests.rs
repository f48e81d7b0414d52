// SPDX-License-Identifier: MIT OR Apache-2.0
use etalon_events::QueueId;
use proptest::prelude::*;

use super::*;
use crate::example::{
    BACK, CIRCUIT, FORTH, PACKET, circuit, departed, dequeue, dropped, enqueue, plan,
};

/// Metrics that have heard of these events, at these instants (ns).
fn heard(events: &[(u64, Event)]) -> Metrics {
    let mut metrics = Metrics::new(&plan());
    for &(time, event) in events {
        metrics.on(Time(time), event);
    }
    metrics
}

fn near(measured: f64, expected: f64) -> bool {
    (measured - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn latency_is_of_data_by_plane() {
    let metrics = heard(&[
        (10, departed(FORTH, 9014, 20_000, PACKET)),
        (20, departed(FORTH, 9014, 20_000, PACKET)),
        (30, departed(FORTH, 1001, 30_000, CIRCUIT)),
        (40, departed(FORTH, 1000, 40_000, CIRCUIT)), // an acknowledgement, as the papers have it
        (50, departed(BACK, 66, 50_000, PACKET)),
    ]);
    let forth = metrics.pair(FORTH).expect("the pair");
    assert_eq!((forth.latency.total(0), forth.latency.total(1)), (2, 1));
    let bins: Vec<_> = forth.latency.bins(1).collect();
    let [(lower, upper, 1)] = bins[..] else {
        panic!("{bins:?}");
    };
    assert!(lower <= 30_000 && 30_000 < upper);
    assert_eq!((forth.first, forth.last), (Some(Time(10)), Time(30)));
    assert_eq!(metrics.pair(BACK).map(|m| m.latency.total(0)), Some(0));
}

#[test]
fn small_packets_are_data_where_the_mtu_is_small() {
    let mut plan = plan();
    plan.hosts.mtu = 1500;
    let mut metrics = Metrics::new(&plan);
    metrics.on(Time(1), departed(FORTH, 750, 1000, PACKET));
    assert_eq!(metrics.pair(FORTH).map(|m| m.latency.total(0)), Some(0));
    metrics.on(Time(2), departed(FORTH, 751, 1000, PACKET));
    assert_eq!(metrics.pair(FORTH).map(|m| m.latency.total(0)), Some(1));
}

#[test]
fn voqs_are_averaged_over_departures_of_data() {
    let metrics = heard(&[
        (10, enqueue(FORTH, 3)),
        (11, departed(FORTH, 9014, 1000, PACKET)),
        (12, dequeue(FORTH, 2, 9014, PACKET)),
        (13, departed(FORTH, 9014, 1000, PACKET)),
        (14, departed(FORTH, 66, 1000, PACKET)),
        (15, dropped(FORTH, 16, DropReason::Full)),
        (16, departed(FORTH, 9014, 1000, CIRCUIT)),
        (17, enqueue(BACK, 9)),
    ]);
    assert_eq!(metrics.pair(FORTH).map(|m| m.voq_sum), Some(3 + 2 + 16));
}

#[test]
fn drops_go_by_reason_and_marks_by_pair() {
    let mark = Event::Marked {
        pair: BACK,
        queue: QueueId::voq(BACK),
        len: 4,
    };
    let metrics = heard(&[
        (1, dropped(FORTH, 16, DropReason::Full)),
        (2, dropped(FORTH, 16, DropReason::HoldFull)),
        (3, dropped(FORTH, 15, DropReason::Shrunk)),
        (3, dropped(FORTH, 14, DropReason::Shrunk)),
        (4, mark),
        (5, mark),
    ]);
    assert_eq!(
        metrics.pair(FORTH).map(|m| m.dropped),
        Some([1, 2, 1, 0, 0, 0, 0])
    );
    assert_eq!(metrics.pair(FORTH).map(|m| m.marked), Some(0));
    assert_eq!(metrics.pair(BACK).map(|m| m.marked), Some(2));
}

#[test]
fn the_warm_up_leaves_queues_and_circuits_but_no_counts() {
    let mut metrics = heard(&[
        (1, enqueue(FORTH, 7)),
        (2, dropped(FORTH, 7, DropReason::Full)),
        (3, departed(FORTH, 9014, 1000, PACKET)),
        (90_000, circuit(FORTH, true)),
    ]);
    metrics.begin();
    let m = metrics.pair(FORTH).expect("the pair");
    assert_eq!(
        (m.dropped, m.latency.total(0), m.days),
        ([0; DropReason::ALL.len()], 0, 0)
    );
    metrics.on(Time(150_000), circuit(FORTH, false));
    metrics.on(Time(150_001), departed(FORTH, 9014, 1000, PACKET));
    let m = metrics.pair(FORTH).expect("the pair");
    // Of the circuit's time that after the warm-up, which ends at 100 us.
    assert_eq!(m.up[CIRCUIT.index()], Span(50_000));
    assert_eq!(m.voq_sum, 7);
}

/// What waits in front of its host is counted when it comes out, so a capacity that begins meanwhile must know of it.
#[test]
fn what_waits_for_its_host_was_carried_before() {
    let mut plan = plan();
    plan.hosts.downlink_queue = Some(10);
    let mut metrics = Metrics::new(&plan);
    let out = |pair| Event::Passed {
        pair,
        bytes: 9014,
        plane: CIRCUIT,
    };
    for (time, event) in [
        (10_000, dequeue(FORTH, 0, 9014, CIRCUIT)),
        (11_000, dequeue(FORTH, 0, 9014, CIRCUIT)),
        (20_000, departed(FORTH, 9014, 10_000, CIRCUIT)),
        (21_000, departed(FORTH, 9014, 10_000, CIRCUIT)),
        (30_000, out(FORTH)),
    ] {
        metrics.on(Time(time), event);
    }
    metrics.begin(); // at 100 us, one waits
    metrics.on(Time(110_000), out(FORTH));
    metrics.finish(Time(200_000));
    let service = metrics.pair(FORTH).expect("the pair").services[CIRCUIT.index()];
    assert_eq!(service.capacity(etalon_units::Rate(1), Span::ZERO), 9014);
}

#[test]
fn a_circuit_that_is_up_at_the_end_counts_up_to_it() {
    let mut metrics = heard(&[
        (100_000, circuit(FORTH, true)),
        (180_000, circuit(FORTH, false)),
        (200_000, circuit(FORTH, true)),
        (240_000, enqueue(FORTH, 5)),
        (300_000, circuit(BACK, true)),
    ]);
    metrics.finish(Time(260_000));
    let m = metrics.pair(FORTH).expect("the pair");
    assert_eq!((m.up[CIRCUIT.index()], m.days), (Span(80_000 + 60_000), 2));
    // The VOQ was empty when each of its days began.
    assert_eq!(m.voq_at_day_start, 0);
}

#[test]
fn the_queue_at_the_start_of_a_day_is_what_waits_for_it() {
    let metrics = heard(&[
        (70_000, enqueue(FORTH, 6)),
        (100_000, circuit(FORTH, true)),
        (170_000, dequeue(FORTH, 1, 9014, CIRCUIT)),
        (180_000, circuit(FORTH, false)),
        (200_000, circuit(FORTH, true)),
    ]);
    let m = metrics.pair(FORTH).expect("the pair");
    assert_eq!((m.voq_at_day_start, m.days), (6 + 1, 2));
}

#[test]
fn days_and_weeks_are_timed_for_the_measured_pair() {
    let week = |week| Event::Week { week };
    let metrics = heard(&[
        (0, week(0)),
        (0, circuit(FORTH, true)),
        (0, circuit(BACK, true)),
        (80_000, circuit(FORTH, false)),
        (95_000, circuit(BACK, false)),
        (100_000, week(1)),
        (100_000, circuit(FORTH, true)),
        (190_000, circuit(FORTH, false)),
        (210_000, week(2)),
    ]);
    let days = &metrics.days;
    assert_eq!((days.day.count, days.day.mean), (2, 85_000.0));
    // Two values 5 us from their mean.
    assert!(near(days.day.std(), 5_000.0 * 2f64.sqrt()));
    assert_eq!((days.week.count, days.week.mean), (2, 105_000.0));
}

/// So many packets of 1000 bytes, one each `gap` ns.
fn burst(start: u64, gap: u64, count: u64, pair: Pair, plane: Plane) -> Vec<(u64, Event)> {
    let one = |i| (start + i * gap, dequeue(pair, 0, 1000, plane));
    (0..count).map(one).collect()
}

#[test]
fn a_plane_is_fed_at_the_rate_between_its_first_and_its_last_packet() {
    let mut events = burst(0, 800, 12, FORTH, PACKET);
    events.push((20_000, circuit(FORTH, true)));
    events.extend(burst(20_000, 100, 11, FORTH, CIRCUIT));
    events.extend(burst(20_000, 10, 11, BACK, CIRCUIT));
    events.push((100_000, circuit(FORTH, false)));
    let metrics = heard(&events);
    let rates: Vec<_> = metrics.days.feeds.iter().map(|feed| feed.rate).collect();
    // 1000 bytes in 800 ns, and in 100 ns.
    assert_eq!((rates[0].count, rates[1].count), (1, 1));
    assert!(near(rates[0].mean, 10e9), "{}", rates[0].mean);
    assert!(near(rates[1].mean, 80e9), "{}", rates[1].mean);
}

#[test]
fn nine_packets_tell_no_rate() {
    let mut events = vec![(0, circuit(FORTH, true))];
    events.extend(burst(0, 100, 9, FORTH, CIRCUIT));
    events.push((80_000, circuit(FORTH, false)));
    // What was fed before a day has nothing to do with what is fed in the next.
    events.push((100_000, circuit(FORTH, true)));
    events.extend(burst(100_000, 100, 9, FORTH, CIRCUIT));
    events.push((180_000, circuit(FORTH, false)));
    assert_eq!(heard(&events).days.feeds[1].rate.count, 0);
}

#[test]
fn the_digest_is_of_what_the_network_does_in_its_order() {
    let digest = |events: &[(u64, Event)]| heard(events).digest.value();
    let (a, b) = ((5, enqueue(FORTH, 1)), (5, enqueue(BACK, 1)));
    assert_eq!(digest(&[a, b]), digest(&[a, b]));
    assert_ne!(digest(&[a, b]), digest(&[b, a]));
    assert_ne!(digest(&[a]), digest(&[(6, a.1)]));
    let said_by_hosts = (5, Event::Started { flow: 0 });
    assert_eq!(digest(&[a, said_by_hosts, b]), digest(&[a, b]));
}

#[test]
fn the_digest_has_the_week_and_its_days_and_not_each_circuit() {
    let digest = |events: &[(u64, Event)]| heard(events).digest.value();
    let day = (5, Event::Day { day: 0 });
    assert_eq!(digest(&[day, (5, circuit(FORTH, true))]), digest(&[day]));
    assert_ne!(digest(&[day]), digest(&[]));
    let mut metrics = heard(&[day]);
    metrics.computed(Time(5), &[], &Schedule::idle(2));
    assert_ne!(metrics.digest.value(), digest(&[day]));
}

/// Any event of data, circuits, marks and drops.
fn event() -> impl Strategy<Value = Event> {
    let pair = || prop::sample::select(vec![FORTH, BACK]);
    let plane = || prop::sample::select(vec![PACKET, CIRCUIT]);
    let reason = prop::sample::select(DropReason::ALL);
    prop_oneof![
        (pair(), 0u32..20).prop_map(|(pair, len)| enqueue(pair, len)),
        (pair(), 0u32..20, plane()).prop_map(|(pair, len, plane)| dequeue(pair, len, 9014, plane)),
        (pair(), 0u32..20, reason).prop_map(|(pair, len, reason)| dropped(pair, len, reason)),
        (pair(), 60u32..9014, 0u64..1 << 30, plane())
            .prop_map(|(pair, bytes, latency, plane)| departed(pair, bytes, latency, plane)),
        (pair(), any::<bool>()).prop_map(|(pair, up)| circuit(pair, up)),
    ]
}

proptest! {
    /// What is summed up as it happens is what one counts afterwards.
    #[test]
    fn streams_are_what_one_counts_afterwards(
        events in prop::collection::vec((1u64..1000, event()), 1..200),
    ) {
        let mut now = 0;
        let timed: Vec<_> = events.iter().map(|&(gap, event)| { now += gap; (now, event) }).collect();
        let metrics = heard(&timed);
        for pair in [FORTH, BACK] {
            let of_pair = || timed.iter().filter(move |(_, event)| event.pair() == Some(pair));
            let data = |plane: Plane| of_pair().filter(move |(_, event)| {
                event.name() == "depart" && event.plane() == Some(plane) && event.bytes() > Some(1000)
            });
            let Some(m) = metrics.pair(pair) else {
                let is_circuit = |event: &Event| matches!(event, Event::Circuit { .. });
                prop_assert!(of_pair().all(|(_, event)| is_circuit(event)));
                continue;
            };
            for plane in [PACKET, CIRCUIT] {
                prop_assert_eq!(m.latency.total(plane.index()), data(plane).count() as u64);
                let mut latencies: Vec<u64> = data(plane).filter_map(|(_, e)| e.value()).collect();
                latencies.sort_unstable();
                let mut rest = &latencies[..];
                for (lower, upper, count) in m.latency.bins(plane.index()) {
                    let (bin, after) = rest.split_at(count as usize);
                    prop_assert!(bin.iter().all(|&value| lower <= value && value < upper));
                    rest = after;
                }
                prop_assert!(rest.is_empty());
            }
            for reason in DropReason::ALL {
                let dropped = of_pair().filter(
                    |(_, e)| matches!(e, Event::Dropped { reason: why, .. } if why == reason),
                );
                prop_assert_eq!(m.dropped[*reason as usize], dropped.count() as u64);
            }
            let first = data(PACKET).chain(data(CIRCUIT)).map(|(time, _)| Time(*time)).min();
            prop_assert_eq!(m.first, first);
            let days = of_pair().filter(|(_, e)| matches!(e, Event::Circuit { up: true, .. }));
            prop_assert_eq!(m.days, days.count() as u64);
        }
    }
}

/// Who hears of each week.
struct Patient(Metrics);

impl Probe for Patient {
    fn on(&mut self, time: Time, event: Event) {
        self.0.on(time, event);
    }
}

/// A gate opens or closes, or a circuit comes up or goes down.
fn turned(is_circuit: bool, on: bool) -> Event {
    match is_circuit {
        true => circuit(BACK, on),
        false => Event::Gate {
            pair: BACK,
            plane: PACKET,
            open: on,
        },
    }
}

/// All that is known of a quiet pair at the end.
fn known(mut metrics: Metrics, end: Time) -> String {
    metrics.on(end, departed(BACK, 9014, 1000, PACKET));
    metrics.finish(end);
    format!("{:?}", metrics.pair(BACK))
}

proptest! {
    #[test]
    fn weeks_that_nobody_tells_of_count_as_those_that_are_told(
        mut first in prop::collection::vec((0u64..1000, any::<bool>(), any::<bool>()), 0..6),
        mut steps in prop::collection::vec((0u64..=1000, any::<bool>(), any::<bool>()), 0..8),
        // Counting begins at 100 us.
        start in 1000u64..120_000,
        count in 0u64..150,
    ) {
        first.sort_unstable();
        steps.sort_unstable();
        let weeks = Weeks { start: Time(start), length: Span(1000), count };
        let end = Time(start + 1000 * count);
        let tell = |probe: &mut dyn FnMut(Time, Event), start: Time| {
            for &(at, is_circuit, on) in &steps {
                probe(start + Span(at), turned(is_circuit, on));
            }
        };
        let begun = || {
            let mut metrics = Metrics::new(&plan());
            if end >= metrics.measured_from {
                metrics.begin();
            }
            for &(at, is_circuit, on) in &first {
                metrics.on(Time(start - 1000 + at), turned(is_circuit, on));
            }
            metrics
        };
        let mut quick = begun();
        quick.on_weeks(BACK, weeks, |metrics, start| tell(&mut |t, e| metrics.on(t, e), start));
        let mut patient = Patient(begun());
        patient.on_weeks(BACK, weeks, |patient, start| tell(&mut |t, e| patient.on(t, e), start));
        prop_assert_eq!(known(quick, end), known(patient.0, end));
    }
}

#[test]
fn a_thousand_million_weeks_are_not_told_one_by_one() {
    let mut metrics = Metrics::new(&plan());
    metrics.begin();
    let weeks = Weeks {
        start: Time(100_000),
        length: Span(10),
        count: 1_000_000_000,
    };
    let mut told = 0;
    metrics.on_weeks(BACK, weeks, |metrics, start| {
        metrics.on(start + Span(2), circuit(BACK, true));
        metrics.on(start + Span(5), circuit(BACK, false));
        told += 1;
    });
    assert!(told < 5, "{told} weeks were told");
    metrics.on(Time(20_000_000_000), departed(BACK, 9014, 1000, PACKET));
    let m = metrics.pair(BACK).expect("the pair");
    assert_eq!(
        (m.days, m.up[CIRCUIT.index()]),
        (weeks.count, Span(3 * weeks.count))
    );
}
