// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of other planes than packet network and one kind of circuits.

use crate::common::*;
use etalon_switch::*;
use etalon_units::{Span, Time};

const SLOW: Plane = Plane(2);

fn day(circuits: &[(u16, u16)], plane: u8, night: u64) -> Configuration {
    Configuration {
        plane: Plane(plane),
        ..configuration(3, circuits, 180, night)
    }
}

fn schedule(days: Vec<Configuration>) -> Schedule {
    Schedule::new(days).unwrap()
}

fn circuits(bench: &Bench) -> Vec<(u64, (Plane, bool))> {
    bench.pick(|out| match out {
        Out::Event(Event::Circuit { plane, up, .. }) => Some((plane, up)),
        _ => None,
    })
}

#[test]
fn each_kind_of_circuit_has_its_rate_and_delay() {
    let week = schedule(vec![day(&[(0, 1)], 1, 20), day(&[(0, 1)], 2, 20)]);
    let mut bench = Bench::new(two_kinds(), week);
    bench.send(10_000, 0, pair(0, 1), 10_000, false);
    assert_eq!(bench.switch.plane(pair(0, 1)), Some(Plane::CIRCUIT));
    bench.send(210_000, 1, pair(0, 1), 10_000, false);
    assert_eq!(bench.switch.plane(pair(0, 1)), Some(SLOW));
    bench.run(399_999);
    let expected = [
        (10_000 + 1_000 + 30_000, (0, Plane::CIRCUIT)),
        (210_000 + 2_000 + 10_000, (1, SLOW)),
    ];
    assert_eq!(bench.deliveries(), expected);
}

#[test]
fn without_a_night_one_kind_takes_over_from_another() {
    let week = schedule(vec![day(&[(0, 1)], 1, 0), day(&[(0, 1)], 2, 0)]);
    let mut config = two_kinds();
    config.notify = config_with_notify(5).notify;
    let mut bench = Bench::new(config, week);
    // A packet that is being sent as the first day ends completes; the other port does not wait for it.
    bench.send(179_500, 0, pair(0, 1), 10_000, false);
    bench.send(179_500, 1, pair(0, 1), 10_000, false);
    bench.run(359_999);
    let expected = [
        (180_000 + 2_000 + 10_000, (1, SLOW)),
        (179_500 + 1_000 + 30_000, (0, Plane::CIRCUIT)),
    ];
    assert_eq!(bench.deliveries(), expected);
    let first = [
        (0, (Plane::CIRCUIT, true)),
        (180_000, (Plane::CIRCUIT, false)),
        (180_000, (SLOW, true)),
    ];
    assert_eq!(circuits(&bench), first);
    let told = [
        (0, Plane::CIRCUIT),
        (175_000, SLOW),
        (355_000, Plane::CIRCUIT),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
    // Over the roll-over, too.
    bench.run(360_000);
    let second = [(360_000, (SLOW, false)), (360_000, (Plane::CIRCUIT, true))];
    assert_eq!(circuits(&bench)[3..], second);
}

#[test]
fn another_week_may_have_the_same_circuit_of_another_kind() {
    let mut bench = Bench::new(two_kinds(), schedule(vec![day(&[(0, 1)], 1, 0)]));
    bench.run(10_000);
    bench
        .switch
        .adopt(schedule(vec![day(&[(0, 1)], 2, 0)]))
        .unwrap();
    bench.run(400_000);
    let expected = [
        (0, (Plane::CIRCUIT, true)),
        (180_000, (Plane::CIRCUIT, false)),
        (180_000, (SLOW, true)),
    ];
    assert_eq!(circuits(&bench), expected);
    let unknown = schedule(vec![day(&[(0, 1)], 3, 0)]);
    let error = bench.switch.adopt(unknown).unwrap_err().to_string();
    assert!(error.contains("plane 3, which does not exist"), "{error}");
}

#[test]
fn without_a_packet_network_packets_wait_for_circuits() {
    let mut config = config_with_notify(5);
    config.packet = None;
    let mut bench = Bench::new(config, week(&[&[(0, 1)], &[(1, 0)]]));
    bench.send(190_000, 0, pair(0, 1), 10_000, false);
    assert_eq!(bench.switch.plane(pair(0, 1)), None);
    bench.send(190_000, 1, pair(0, 2), 10_000, false); // which never has a circuit
    bench.run(2_000_000);
    let delivered = [(400_000 + 1_000 + 30_000, (0, Plane::CIRCUIT))];
    assert_eq!(bench.deliveries(), delivered);
    assert_eq!(bench.switch.queued(), 1);
    let gates = bench.pick(|out| match out {
        Out::Event(Event::Gate { .. }) => Some(()),
        _ => None,
    });
    assert_eq!(gates, []);
    // Nothing leads there when its circuit does not: its circuits are all that hosts hear of.
    assert_eq!(bench.told(pair(0, 1)), [(0, Plane::CIRCUIT)]);
    assert_eq!(bench.switch.shortest_passage(), Span::from_micros(30));
}

#[test]
fn the_packet_network_is_dark_in_all_nights_where_it_is_to_be() {
    let mut config = config();
    config.night = Night::All;
    let mut bench = Bench::new(config, week(&[&[], &[(0, 1)], &[]]));
    bench.send(179_000, 0, pair(0, 2), 10_000, false); // completes
    bench.send(179_100, 1, pair(0, 2), 10_000, false);
    bench.send(385_000, 2, pair(0, 1), 10_000, false); // after the pair's own day
    bench.run(1_200_000);
    let dequeued = bench.pick(|out| match out {
        Out::Event(Event::Dequeue { plane, .. }) => Some(plane),
        _ => None,
    });
    let at = [179_000, 200_000, 400_000].map(|at| (at, Plane::PACKET));
    assert_eq!(dequeued, at);
    let gates = |p| {
        bench.pick(move |out| match out {
            Out::Event(Event::Gate { pair, open, .. }) if pair == p => Some(open),
            _ => None,
        })
    };
    let nights = [180_000, 380_000, 580_000].map(|at| [(at, false), (at + 20_000, true)]);
    assert_eq!(gates(pair(0, 2))[..6], nights.concat());
    // The gate of 0 -> 1 opens after the night that follows its day.
    let own = [
        (180_000, false),
        (400_000, true),
        (580_000, false),
        (600_000, true),
    ];
    assert_eq!(gates(pair(0, 1))[..4], own);
}

#[test]
fn nights_without_length_are_not_dark() {
    let mut config = config();
    config.night = Night::All;
    let mut bench = Bench::new(config, schedule(vec![day(&[], 1, 0), day(&[(0, 1)], 1, 0)]));
    bench.run(1_000_000);
    let gates = bench.pick(|out| match out {
        Out::Event(Event::Gate { pair, .. }) => Some(pair),
        _ => None,
    });
    assert!(gates.iter().all(|gate| gate.1 == pair(0, 1)));
}

#[test]
fn another_week_after_a_dark_night_has_the_packet_network_again() {
    let mut config = config();
    config.night = Night::All;
    let mut bench = Bench::new(config, week(&[&[]]));
    bench.run(190_000);
    let dark = bench.switch.plane(pair(0, 1));
    bench.switch.adopt(schedule(vec![day(&[], 1, 0)])).unwrap();
    bench.run(200_000);
    assert_eq!(
        (dark, bench.switch.plane(pair(0, 1))),
        (None, Some(Plane::PACKET))
    );
    assert_eq!(bench.switch.next_event(), Time(380_000));
}
