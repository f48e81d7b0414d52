// SPDX-License-Identifier: MIT OR Apache-2.0
//! When hosts are told which TDN leads to which rack.

use crate::common::*;
use etalon_switch::*;
use etalon_units::{Span, Time};

const PACKET: Plane = Plane::PACKET;
const CIRCUIT: Plane = Plane::CIRCUIT;

fn run(before: u64, schedule: Schedule, until: u64) -> Bench {
    let mut bench = Bench::new(config_with_notify(before), schedule);
    bench.run(until);
    bench
}

#[test]
fn who_has_no_notify_tells_nobody() {
    let mut bench = Bench::new(config(), week(&[&[(0, 1)], &[(1, 0)]]));
    bench.run(2_000_000);
    assert_eq!([pair(0, 1), pair(1, 0)].map(|p| bench.told(p)), [[], []]);
}

#[test]
fn hosts_are_told_before_the_day_and_before_its_end() {
    let bench = run(5, week(&[&[], &[(0, 1)]]), 800_000);
    let told = [
        (195_000, CIRCUIT),
        (375_000, PACKET),
        (595_000, CIRCUIT),
        (775_000, PACKET),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
    assert_eq!(bench.told(pair(1, 0)), []);
}

#[test]
fn without_a_lead_they_are_told_after_the_circuit_is_set() {
    let bench = run(0, week(&[&[(0, 1)], &[]]), 400_000);
    let log = bench.pick(|out| match out {
        Out::Notified(_, tdn) => Some(tdn == CIRCUIT),
        Out::Event(Event::Circuit { up, .. }) => Some(up),
        _ => None,
    });
    assert_eq!(log[2..].len(), 4);
    assert_eq!(log[..2], [(0, true), (0, true)]);
    assert_eq!(log[2..4], [(180_000, false), (180_000, false)]);
    let at_180 = bench.pick(|out| match out {
        Out::Notified(..) => Some("told"),
        Out::Event(Event::Circuit { .. }) => Some("set"),
        _ => None,
    });
    assert_eq!(at_180[2..4], [(180_000, "set"), (180_000, "told")]);
}

#[test]
fn a_lead_reaches_over_the_roll_over_and_to_the_first_week() {
    // The first day begins with the week, the second is within the lead of the third's start.
    let bench = run(20, week(&[&[(0, 1)], &[(1, 2)]]), 800_000);
    let told = [
        (0, CIRCUIT), // the first week's: hosts learn what is
        (160_000, PACKET),
        (380_000, CIRCUIT),
        (560_000, PACKET),
        (780_000, CIRCUIT),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
    let told = [
        (180_000, CIRCUIT),
        (360_000, PACKET),
        (580_000, CIRCUIT),
        (760_000, PACKET),
    ];
    assert_eq!(bench.told(pair(1, 2)), told);
}

#[test]
fn a_day_that_ends_with_the_week_is_over_once() {
    let c = |circuits: &[_]| configuration(3, circuits, 200, 0);
    let schedule = Schedule::new(vec![c(&[]), c(&[(0, 1)])]).unwrap();
    let bench = run(0, schedule.clone(), 800_000);
    let told = [
        (200_000, CIRCUIT),
        (400_000, PACKET),
        (600_000, CIRCUIT),
        (800_000, PACKET),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
    // A lead as long as a configuration: what begins with the second is told with the first.
    let bench = run(200, schedule, 800_000);
    let told = [
        (0, CIRCUIT),
        (200_000, PACKET),
        (400_000, CIRCUIT),
        (600_000, PACKET),
        (800_000, CIRCUIT),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
}

#[test]
fn days_of_a_pair_that_follow_each_other_are_one() {
    let bench = run(5, week(&[&[(0, 1)], &[(0, 1)], &[]]), 600_000);
    let told = [(0, CIRCUIT), (375_000, PACKET), (595_000, CIRCUIT)];
    assert_eq!(bench.told(pair(0, 1)), told);
    // Over the roll-over, too; with all days, nothing ever changes.
    let bench = run(5, week(&[&[(0, 1)], &[], &[(0, 1)]]), 600_000);
    let told = [(0, CIRCUIT), (175_000, PACKET), (395_000, CIRCUIT)];
    assert_eq!(bench.told(pair(0, 1)), told);
    let bench = run(5, week(&[&[(0, 1)], &[(0, 1)]]), 2_000_000);
    assert_eq!(bench.told(pair(0, 1)), [(0, CIRCUIT)]);
}

#[test]
fn another_week_is_told_at_its_roll_over() {
    let mut bench = run(5, week(&[&[(0, 1)], &[(1, 2)]]), 50_000);
    bench
        .switch
        .adopt(week(&[&[(1, 2)], &[], &[(2, 0)]]))
        .unwrap();
    bench.run(1_000_000);
    // 0 -> 1 was told of a day that does not come.
    let told = [
        (0, CIRCUIT),
        (175_000, PACKET),
        (395_000, CIRCUIT),
        (400_000, PACKET),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
    // 1 -> 2 has a day at once that could not be told before.
    let told = [
        (195_000, CIRCUIT),
        (375_000, PACKET),
        (400_000, CIRCUIT),
        (575_000, PACKET),
        (995_000, CIRCUIT),
    ];
    assert_eq!(bench.told(pair(1, 2)), told);
    assert_eq!(
        bench.told(pair(2, 0)),
        [(795_000, CIRCUIT), (975_000, PACKET)]
    );
}

#[test]
fn a_week_that_goes_on_as_the_old_one_is_not_told_again() {
    let days: &[&[(u16, u16)]] = &[&[(0, 1)], &[(1, 2)]];
    let alone = run(5, week(days), 900_000);
    let mut bench = run(5, week(days), 50_000);
    bench.switch.adopt(week(days)).unwrap();
    bench.run(900_000);
    for pair in [pair(0, 1), pair(1, 2)] {
        assert_eq!(bench.told(pair), alone.told(pair));
    }
}

#[test]
fn a_week_shorter_than_the_lead_wraps() {
    let mut bench = run(200, week(&[&[(0, 1)], &[]]), 1_000);
    let c = |circuits: &[_]| configuration(3, circuits, 40, 0);
    let short = Schedule::new(vec![c(&[(0, 1)]), c(&[])]).unwrap();
    bench.switch.adopt(short).unwrap();
    bench.run(500_000);
    // 200 us are two weeks of 80 us and a half: at the roll-over, the packet network's half.
    let told = [
        (200_000, CIRCUIT),
        (380_000, PACKET),
        (440_000, CIRCUIT),
        (480_000, PACKET),
    ];
    assert_eq!(bench.told(pair(0, 1)), told);
}

#[test]
fn who_waits_for_deliveries_hears_of_changes_at_their_instant() {
    let mut bench = Bench::new(config_with_notify(5), week(&[&[], &[(0, 1)]]));
    bench.run(0);
    let mut heard = Vec::new();
    while bench.switch.next_departure() <= Time(800_000) {
        let now = bench.switch.next_departure();
        bench.run(now.as_nanos());
        heard.push(now.as_nanos());
    }
    for (at, _) in bench.told(pair(0, 1)) {
        assert!(heard.contains(&at), "{at}");
    }
    // Nobody is woken for a switch that tells nobody and has no packets before one could have passed.
    let mut bench = Bench::new(config(), week(&[&[], &[(0, 1)]]));
    bench.run(0);
    let first = bench.switch.next_event() + bench.switch.shortest_passage();
    assert_eq!(bench.switch.next_departure(), first);
    assert!(bench.switch.shortest_passage() > Span::ZERO);
}
