// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits and gates: who carries a packet, and when.

use crate::common::*;
use etalon_switch::*;

const PACKET: Plane = Plane::PACKET;
const CIRCUIT: Plane = Plane::CIRCUIT;

/// From the start of the transmission to the far end of the circuit: 9014 bytes at 80 Gb/s, and 30 us.
const OVER_CIRCUIT: u64 = 901 + 30_000;
/// The same over an idle packet network.
const OVER_PACKET: u64 = 24_422;

/// 0 -> 1 has the second day (200 us to 380 us) of a week of 400 us.
fn second_day() -> Schedule {
    week(&[&[], &[(0, 1)]])
}

#[test]
fn a_day_carries_packets_over_the_circuit() {
    let mut bench = Bench::new(config(), second_day());
    assert_eq!(bench.switch.plane(pair(0, 1)), Some(PACKET));
    for handle in 0..5 {
        bench.send(250_000, handle, pair(0, 1), 9014, false);
    }
    assert_eq!(bench.switch.plane(pair(0, 1)), Some(CIRCUIT));
    assert_eq!(bench.switch.plane(pair(1, 0)), Some(PACKET));
    bench.run(390_000);
    assert_eq!(bench.switch.plane(pair(0, 1)), Some(PACKET));
    let expected: Vec<_> = (1..=5u32)
        .map(|n| (280_000 + u64::from(n) * 9_014 / 10, (n - 1, CIRCUIT)))
        .collect();
    assert_eq!(bench.deliveries(), expected);
}

#[test]
fn the_gate_is_closed_in_the_night_before_the_day() {
    let mut bench = Bench::new(config(), second_day());
    bench.send(179_999, 0, pair(0, 1), 9014, false);
    bench.send(181_000, 1, pair(0, 1), 9014, false);
    bench.send(190_000, 2, pair(0, 2), 9014, false);
    bench.run(399_000);
    assert_eq!(
        bench.deliveries(),
        [
            (179_999 + OVER_PACKET, (0, PACKET)),
            (190_000 + OVER_PACKET, (2, PACKET)),
            (200_000 + OVER_CIRCUIT, (1, CIRCUIT)),
        ]
    );
}

#[test]
fn the_gate_closes_between_two_queued_packets() {
    let mut bench = Bench::new(config(), second_day());
    bench.send(179_000, 0, pair(0, 1), 9014, false);
    bench.send(179_000, 1, pair(0, 1), 9014, false);
    bench.run(399_000);
    assert_eq!(
        bench.deliveries(),
        [
            (179_000 + OVER_PACKET, (0, PACKET)),
            (200_000 + OVER_CIRCUIT, (1, CIRCUIT)),
        ]
    );
}

#[test]
fn a_transmission_outlives_the_day_and_the_night_after_belongs_to_the_packet_network() {
    let mut bench = Bench::new(config(), second_day());
    bench.send(379_500, 0, pair(0, 1), 9014, false);
    bench.send(379_600, 1, pair(0, 1), 9014, false); // the circuit is busy until 380 401 ns
    bench.run(399_000);
    let dequeued = bench.pick(|out| match out {
        Out::Event(Event::Dequeue { plane, .. }) => Some(plane),
        _ => None,
    });
    assert_eq!(dequeued, [(379_500, CIRCUIT), (380_000, PACKET)]);
    bench.run(420_000);
    assert_eq!(
        bench.deliveries(),
        [
            (380_000 + OVER_PACKET, (1, PACKET)),
            (379_500 + OVER_CIRCUIT, (0, CIRCUIT)),
        ]
    );
}

#[test]
fn a_day_covers_its_start_and_not_its_end() {
    // The first transmission ends with the day, to the nanosecond: 90 000 bytes at 80 Gb/s take 9 us.
    let mut bench = Bench::new(config(), second_day());
    bench.send(371_000, 0, pair(0, 1), 90_000, false);
    bench.send(371_000, 1, pair(0, 1), 9014, false);
    bench.run(399_000);
    let dequeued = bench.pick(|out| match out {
        Out::Event(Event::Dequeue { plane, .. }) => Some(plane),
        _ => None,
    });
    assert_eq!(dequeued, [(371_000, CIRCUIT), (380_000, PACKET)]);

    let mut bench = Bench::new(config(), second_day());
    bench.send(200_000, 0, pair(0, 1), 9014, false);
    bench.run(399_000);
    assert_eq!(bench.deliveries(), [(200_000 + OVER_CIRCUIT, (0, CIRCUIT))]);
}

#[test]
fn the_gate_of_the_first_day_closes_before_the_roll_over() {
    let mut bench = Bench::new(config(), week(&[&[(0, 1)], &[]]));
    bench.send(385_000, 0, pair(0, 1), 9014, false);
    bench.run(450_000);
    assert_eq!(bench.deliveries(), [(400_000 + OVER_CIRCUIT, (0, CIRCUIT))]);
}

#[test]
fn a_pair_with_two_days_in_a_row_waits_for_the_second() {
    let mut bench = Bench::new(config(), week(&[&[], &[(0, 1)], &[(0, 1)], &[]]));
    bench.send(385_000, 0, pair(0, 1), 9014, false);
    bench.run(790_000);
    assert_eq!(bench.deliveries(), [(400_000 + OVER_CIRCUIT, (0, CIRCUIT))]);
    assert_eq!(
        bench.circuits(pair(0, 1)),
        [
            (200_000, true),
            (380_000, false),
            (400_000, true),
            (580_000, false)
        ]
    );
}

fn without_nights(days: &[&[(u16, u16)]]) -> Schedule {
    Schedule::new(days.iter().map(|c| configuration(3, c, 180, 0)).collect()).unwrap()
}

#[test]
fn without_nights_the_gate_closes_with_the_day() {
    let mut bench = Bench::new(config(), without_nights(&[&[], &[(0, 1)]]));
    bench.send(179_999, 0, pair(0, 1), 9014, false);
    bench.send(180_000, 1, pair(0, 1), 9014, false);
    bench.run(359_999);
    assert_eq!(
        bench.deliveries(),
        [
            (179_999 + OVER_PACKET, (0, PACKET)),
            (180_000 + OVER_CIRCUIT, (1, CIRCUIT)),
        ]
    );
}

#[test]
fn without_a_night_a_circuit_that_goes_on_stays_up() {
    let mut bench = Bench::new(config(), without_nights(&[&[], &[(0, 1)], &[(0, 1)]]));
    bench.run(600_000);
    assert_eq!(
        bench.circuits(pair(0, 1)),
        [(180_000, true), (540_000, false)]
    );
    let mut bench = Bench::new(config(), without_nights(&[&[(0, 1)], &[(0, 1)]]));
    bench.run(5_000_000);
    assert_eq!(bench.circuits(pair(0, 1)), [(0, true)]);
}

#[test]
fn without_a_night_the_next_circuit_waits_for_the_transmitter() {
    // The same destination, then the same source.
    for next in [(2, 1), (0, 2)] {
        let mut bench = Bench::new(config(), without_nights(&[&[(0, 1)], &[next]]));
        bench.send(179_500, 0, pair(0, 1), 9014, false);
        bench.send(180_000, 1, pair(next.0, next.1), 9014, false);
        bench.run(359_000);
        let dequeued = bench.pick(|out| match out {
            Out::Event(Event::Dequeue { pair, plane, .. }) => Some((pair.src, pair.dst, plane)),
            _ => None,
        });
        assert_eq!(
            dequeued,
            [
                (179_500, (0, 1, CIRCUIT)),
                (180_401, (next.0, next.1, CIRCUIT))
            ]
        );
    }
}
