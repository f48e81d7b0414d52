// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts that fail, and circuits that lock late: worked out by hand.

use crate::common::*;
use etalon_scenario::{CircuitFailure, Part};
use etalon_switch::*;
use etalon_units::{Span, Time};

/// Takes 0.9 us over a circuit and 7.2 us over the packet network.
const BYTES: u32 = 9000;

fn fails(part: Part, from: u64, to: u64) -> CircuitFailure {
    CircuitFailure {
        part,
        from: Time(from),
        to: Some(Time(to)),
        locks_after: None,
    }
}

/// A switch in which this fails, with a circuit from rack 0 to rack 1 from 0 to 180 us, and every 400 us after.
fn bench(failure: CircuitFailure, reroute_us: u64) -> Bench {
    let config = Rdcn {
        failures: vec![failure],
        reroute: Span::from_micros(reroute_us),
        ..config()
    };
    Bench::new(config, week(&[&[(0, 1)], &[(1, 2)]]))
}

const CIRCUIT: Plane = Plane::CIRCUIT;
const NEVER: u64 = 1_000_000;

#[test]
fn what_is_on_a_link_that_fails_is_lost_and_what_waits_goes_later() {
    let parts = [
        Part::Sender(0, 1),
        Part::Receiver(1, 1),
        Part::Link(0, 1),
        Part::Rack(1),
        Part::Switch(1),
    ];
    for part in parts {
        // One packet is on its way at 1 us, one in transmission, one waits.
        let mut bench = bench(fails(part, 1_000, 10_000), NEVER);
        for handle in 0..3 {
            bench.send(0, handle, pair(0, 1), BYTES, false);
        }
        bench.run(100_000);
        let lost = |handle| (1_000, (handle, DropReason::LinkDown));
        assert_eq!(bench.discards(), [lost(0), lost(1)], "{part:?}");
        assert_eq!(bench.deliveries(), [(40_900, (2, CIRCUIT))], "{part:?}");
        assert_eq!(bench.switch.queued(), 0);
    }
}

#[test]
fn others_do_not_notice() {
    let parts = [
        Part::Sender(1, 1),
        Part::Receiver(0, 1),
        Part::Link(2, 1),
        Part::Rack(2),
        Part::Switch(0),
    ];
    for part in parts {
        let mut bench = bench(fails(part, 1_000, 10_000), 0);
        for handle in 0..3 {
            bench.send(0, handle, pair(0, 1), BYTES, false);
        }
        bench.run(100_000);
        let all = [30_900, 31_800, 32_700].into_iter().zip(0..);
        let all: Vec<_> = all.map(|(time, n)| (time, (n, CIRCUIT))).collect();
        assert_eq!(bench.deliveries(), all, "{part:?}");
    }
}

#[test]
fn a_packet_that_arrives_as_its_link_fails_is_lost_and_one_that_starts_as_it_returns_is_not() {
    let mut bench = bench(fails(Part::Switch(1), 30_900, 31_000), NEVER);
    bench.send(0, 0, pair(0, 1), BYTES, false);
    bench.send(31_000, 1, pair(0, 1), BYTES, false);
    bench.run(100_000);
    assert_eq!(bench.discards(), [(30_900, (0, DropReason::LinkDown))]);
    assert_eq!(bench.deliveries(), [(61_900, (1, CIRCUIT))]);
}

#[test]
fn the_packet_network_fails_too() {
    // Two packets reach the packet switch at 12.2 and 19.4 us; the first is on its way down when the link fails.
    let mut bench = bench(fails(Part::Receiver(2, 0), 13_000, 20_000), 0);
    for handle in 0..2 {
        bench.send(0, handle, pair(0, 2), BYTES, false);
    }
    bench.run(100_000);
    assert_eq!(bench.discards(), [(13_000, (0, DropReason::LinkDown))]);
    assert_eq!(bench.deliveries(), [(32_200, (1, Plane::PACKET))]);
}

#[test]
fn a_circuit_that_locks_late_waits_each_day() {
    for part in [Part::Sender(0, 1), Part::Receiver(1, 1)] {
        let late = CircuitFailure {
            locks_after: Some(Span::from_micros(50)),
            ..fails(part, 0, 700_000)
        };
        let mut bench = bench(late, 0);
        for (handle, day) in [0, 400_000, 800_000].into_iter().enumerate() {
            bench.send(day, handle as u32, pair(0, 1), BYTES, false);
        }
        bench.run(1_000_000);
        let expected = [(80_900, 0), (480_900, 1), (830_900, 2)];
        let expected = expected.map(|(time, handle)| (time, (handle, CIRCUIT)));
        assert_eq!(bench.deliveries(), expected);
    }
}

#[test]
fn the_packet_network_serves_whom_no_circuit_can_join_once_that_is_known() {
    // Nobody knows: the gate opens when the day is over.
    let mut unknown = bench(fails(Part::Switch(1), 0, 900_000), NEVER);
    unknown.send(1_000, 0, pair(0, 1), BYTES, false);
    unknown.run(390_000);
    assert_eq!(unknown.deliveries(), [(204_400, (0, Plane::PACKET))]);

    let mut known = bench(fails(Part::Switch(1), 0, 900_000), 10);
    known.send(1_000, 0, pair(0, 1), BYTES, false);
    // In the next day the gate stays open, and no circuit comes up.
    known.send(410_000, 1, pair(0, 1), BYTES, false);
    // From 910 us on all know that it is back: so in the day that begins at 1.2 ms.
    known.send(1_200_000, 2, pair(0, 1), BYTES, false);
    known.run(1_300_000);
    let expected = [
        (34_400, (0, Plane::PACKET)),
        (434_400, (1, Plane::PACKET)),
        (1_230_900, (2, CIRCUIT)),
    ];
    assert_eq!(known.deliveries(), expected);
    let ups = known.circuits(pair(0, 1));
    assert_eq!(ups, [(0, true), (10_000, false), (1_200_000, true)]);
}

#[test]
fn a_failure_of_nothing_or_of_no_time_is_refused() {
    let error = |failure| {
        let config = Rdcn {
            failures: vec![failure],
            ..config()
        };
        config.check(3).unwrap_err().to_string()
    };
    for part in [Part::Rack(3), Part::Link(0, 2), Part::Switch(2)] {
        assert_eq!(error(fails(part, 0, 1)), "failure 0: there is no such part");
    }
    assert_eq!(
        error(fails(Part::Rack(0), 1, 1)),
        "failure 0: it must begin before it ends"
    );
    let late = CircuitFailure {
        locks_after: Some(Span(1)),
        ..fails(Part::Switch(0), 0, 1)
    };
    assert_eq!(
        error(late),
        "failure 0: the packet network has no circuits that could lock late"
    );
}
