// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks whose packets are followed by hand.

use etalon_net::Network;
use etalon_scenario::*;
use etalon_switch::DropReason;
use etalon_units::{Span, Time};

use super::bench::*;

#[test]
fn four_racks_and_two_switches_by_hand() {
    let direct = || vec![class(limit(None, Full::Drop), Routing::Direct)];
    let mut config = ocs(four_racks(), direct());
    for late in [Late::Lost, Late::Completes] {
        config.late = late;
        let mut bench = Bench::new(&config, 4);
        // Before its first day the second switch is where a cycle without beginning would be: 0-1 until 4,500.
        for (handle, dst) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3)] {
            bench.send(0, arrival(handle, (0, dst), 1000, 0));
        }
        // Transmitted from 9,500 to 10,500, while the circuit goes at 10,000.
        bench.send(9500, arrival(6, (0, 1), 1000, 0));
        // That is dark, and the other switch joins 0-3 until 15,500, 0-1 from 16,500.
        bench.send(10_600, arrival(7, (0, 1), 1000, 0));
        bench.run(40_000);
        let sixth = match late {
            Late::Lost => (10_500, Out::Lost(6, DropReason::Dark)),
            Late::Completes => (10_600, Out::Delivered(6, false)),
        };
        let expected = vec![
            (1100, Out::Delivered(1, false)), // over both switches at once
            (1100, Out::Delivered(2, false)),
            (2100, Out::Delivered(3, false)),
            (6600, Out::Delivered(5, false)),
            sixth,
            (12_100, Out::Delivered(4, false)),
            (17_600, Out::Delivered(7, false)),
        ];
        assert_eq!(bench.fates(), expected, "{late:?}");
        assert_eq!(bench.network.inside(), 0);
        // Days begin at 0, 11,000, ... and 5,500, 16,500, ...
        let log = bench.log.0.borrow();
        let slices = log.iter().filter_map(|(time, out)| match out {
            Out::Slice(number) => Some((time.0, *number)),
            _ => None,
        });
        let expected = (0..8).map(|n| (5500 * n, n));
        assert!(slices.eq(expected), "{log:?}");
    }
}

#[test]
fn a_guard_band_keeps_light_out_of_the_dark() {
    let mut config = ocs(
        four_racks(),
        vec![class(limit(None, Full::Drop), Routing::Direct)],
    );
    config.guard = Span(200);
    let mut bench = Bench::new(&config, 4);
    bench.send(5400, arrival(2, (0, 3), 1000, 0)); // the day begins at 5,500
    bench.send(9000, arrival(1, (0, 1), 801, 0)); // would end a nanosecond into the guard band
    bench.run(40_000);
    let delivered = [
        (5700 + 1100, Out::Delivered(2, false)),
        (16_700 + 901, Out::Delivered(1, false)),
    ];
    assert_eq!(bench.fates(), delivered);
}

#[test]
fn a_clock_that_is_wrong_loses_packets_which_a_guard_band_saves() {
    for (guard, loses) in [(0, true), (300, false)] {
        let mut config = ocs(
            four_racks(),
            vec![class(limit(None, Full::Drop), Routing::Direct)],
        );
        config.skew = Span(300);
        config.guard = Span(guard);
        let mut bench = Bench::new(&config, 4);
        for handle in 0..400 {
            let at = 200 * u64::from(handle);
            let (src, step) = (handle as u16 % 4, 1 + handle as u16 / 4 % 3);
            bench.send(at, arrival(handle, (src, (src + step) % 4), 150, 0));
        }
        bench.run(200_000);
        let fates = bench.fates();
        assert_eq!(fates.len(), 400);
        let lost = fates
            .iter()
            .filter(|(_, out)| matches!(out, Out::Lost(_, DropReason::Dark)))
            .count();
        assert_eq!(lost > 0, loses, "{lost} lost");
    }
}

#[test]
fn a_full_queue_trims_and_headers_go_first() {
    let forever = |pairs| rotation(vec![(matching(2, pairs), 1000, 0)]);
    let trim = Trim {
        header_bytes: 64,
        room_bytes: 128,
        headers_per_packet: 0,
        coin: false,
        returns: true,
    };
    let classes = vec![class(
        limit(Some(2), Full::Trim(trim)),
        Routing::Ksp(Paths {
            paths: 1,
            equal: true,
            spray: false,
        }),
    )];
    let config = ocs(vec![switch(0, forever(&[(0, 1)]))], classes);
    let mut bench = Bench::new(&config, 2);
    for handle in 0..5 {
        bench.send(0, arrival(handle, (0, 1), 1000, 0));
    }
    bench.run(10_000);
    // The first is in transmission, the second waits, two are trimmed, and the fifth's header has no room.
    let expected = [
        (0, Out::Back(4, DropReason::Full)),
        (1100, Out::Delivered(0, false)),
        (1164, Out::Delivered(2, true)),
        (1228, Out::Delivered(3, true)),
        (2228, Out::Delivered(1, false)),
    ];
    assert_eq!(bench.fates(), expected);
    assert_eq!(
        bench.network.next_event(),
        Time::MAX,
        "a static graph is quiet"
    );
}

#[test]
fn what_a_class_returns_comes_back_over_the_link_of_its_host() {
    let mut config = ocs(
        four_racks(),
        vec![class(limit(Some(1), Full::Return), Routing::Direct)],
    );
    config.access = Some(Access {
        rate: RATE,
        delay: Span(10),
    });
    let mut bench = Bench::new(&config, 4);
    bench.send(0, arrival(0, (0, 2), 1000, 0));
    bench.send(0, arrival(1, (0, 2), 1000, 0));
    // Ends in the dark: at the ToR switch at 10,500, and then on the way down.
    bench.send(9500, arrival(2, (0, 1), 1000, 0));
    bench.run(40_000);
    let expected = [
        (1010, Out::Back(1, DropReason::Full)),
        (11_510, Out::Back(2, DropReason::Dark)),
        (13_110, Out::Delivered(0, false)),
    ];
    assert_eq!(bench.fates(), expected);
}

#[test]
fn a_failed_link_loses_packets_until_switches_choose_other_ways() {
    let ring = [[(0, 1), (2, 3)], [(1, 2), (3, 0)]];
    let uplinks = ring.map(|pairs| switch(0, rotation(vec![(matching(4, &pairs), 1000, 0)])));
    let shortest = Routing::Ksp(Paths {
        paths: 1,
        equal: true,
        spray: false,
    });
    let mut config = ocs(
        uplinks.into(),
        vec![class(limit(None, Full::Drop), shortest)],
    );
    config.reroute = Span(500);
    config.failures = vec![CircuitFailure {
        part: Part::Link(0, 0),
        from: Time(5000),
        to: Some(Time(20_000)),
        locks_after: None,
    }];
    let mut bench = Bench::new(&config, 4);
    bench.send(0, arrival(0, (0, 1), 1000, 0));
    bench.send(4500, arrival(1, (0, 1), 1000, 0)); // cut in its transmission
    bench.send(4600, arrival(2, (0, 1), 1000, 0)); // waits behind it
    bench.send(4900, arrival(9, (1, 0), 1000, 0)); // what rack 0 cannot receive
    bench.send(5100, arrival(3, (0, 1), 1000, 0));
    bench.send(5500, arrival(4, (0, 1), 1000, 0)); // 0-3-2-1
    bench.send(20_500, arrival(5, (0, 1), 1000, 0));
    bench.run(50_000);
    let lost = |handle| Out::Lost(handle, DropReason::LinkDown);
    let expected = [
        (1100, Out::Delivered(0, false)),
        (5000, lost(2)),
        (5100, lost(3)),
        (5500, lost(1)),
        (5900, lost(9)),
        (5500 + 3300, Out::Delivered(4, false)),
        (21_600, Out::Delivered(5, false)),
    ];
    assert_eq!(bench.fates(), expected);
    let log = bench.log.0.borrow();
    let rerouted = log.iter().filter(|(_, out)| *out == Out::Rerouted);
    let times: Vec<u64> = rerouted.map(|(time, _)| time.0).collect();
    assert_eq!(times, [5500, 20_500]);
}
