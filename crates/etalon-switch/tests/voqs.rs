// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capacities, resizing, marking, ECE.

use crate::common::*;
use etalon_switch::*;
use etalon_units::Span;

fn resizing(small: u32, big: u32, tau_us: u64) -> Rdcn {
    let mut config = config();
    config.voq.packets = small;
    config.voq.resize = Some(Resize {
        packets: big,
        in_advance: Span::from_micros(tau_us),
    });
    config
}

#[test]
fn a_voq_grows_tau_before_its_day_and_shrinks_after_it() {
    let mut bench = Bench::new(resizing(2, 5, 50), week(&[&[], &[(0, 1)]]));
    bench.run(149_999);
    assert_eq!(bench.switch.voq_capacity(pair(0, 1)), 2);
    bench.run(790_000);
    assert_eq!(
        bench.sizes(pair(0, 1)),
        [(150_000, 5), (380_000, 2), (550_000, 5), (780_000, 2)]
    );
    assert_eq!(bench.sizes(pair(1, 0)), []);
    assert_eq!(bench.sizes(pair(0, 2)), []);
}

#[test]
fn without_tau_a_voq_is_big_in_its_day_only() {
    let mut bench = Bench::new(resizing(2, 5, 0), week(&[&[], &[(0, 1)]]));
    bench.run(399_000);
    assert_eq!(bench.sizes(pair(0, 1)), [(200_000, 5), (380_000, 2)]);
}

#[test]
fn tau_reaches_over_the_roll_over() {
    let mut bench = Bench::new(resizing(2, 5, 50), week(&[&[(0, 1)], &[]]));
    bench.run(590_000);
    assert_eq!(
        bench.sizes(pair(0, 1)),
        [(0, 5), (180_000, 2), (350_000, 5), (580_000, 2)]
    );
    // Longer than the whole first configuration.
    let mut bench = Bench::new(resizing(2, 5, 210), week(&[&[], &[(0, 1)], &[]]));
    bench.run(990_000);
    assert_eq!(
        bench.sizes(pair(0, 1)),
        [(0, 5), (380_000, 2), (590_000, 5), (980_000, 2)]
    );
}

#[test]
fn a_voq_stays_big_if_its_next_day_is_within_tau() {
    // 220 us from the end of a day to the start of the next.
    let mut bench = Bench::new(resizing(2, 5, 220), week(&[&[(0, 1)], &[]]));
    bench.run(2_000_000);
    assert_eq!(bench.sizes(pair(0, 1)), [(0, 5)]);
    let mut bench = Bench::new(resizing(2, 5, 219), week(&[&[(0, 1)], &[]]));
    bench.run(399_000);
    assert_eq!(
        bench.sizes(pair(0, 1)),
        [(0, 5), (180_000, 2), (181_000, 5)]
    );
    // Longer than any week.
    let mut bench = Bench::new(resizing(2, 5, 1_000_000), week(&[&[], &[(0, 1)]]));
    bench.run(2_000_000);
    assert_eq!(bench.sizes(pair(0, 1)), [(0, 5)]);
    // Only some of the gaps are short.
    let mut bench = Bench::new(resizing(2, 5, 30), week(&[&[], &[(0, 1)], &[(0, 1)], &[]]));
    bench.run(799_000);
    assert_eq!(bench.sizes(pair(0, 1)), [(170_000, 5), (580_000, 2)]);
}

#[test]
fn shrinking_drops_the_newest() {
    let mut bench = Bench::new(resizing(2, 5, 0), week(&[&[(0, 1)], &[]]));
    for handle in 0..7 {
        bench.send(179_500, handle, pair(0, 1), 9014, false);
    }
    // One in transmission, five in the VOQ.
    assert_eq!(bench.discards(), [(179_500, (6, DropReason::Full))]);
    bench.run(399_000);
    let shrunk = DropReason::Shrunk;
    assert_eq!(
        bench.discards()[1..],
        [
            (180_000, (3, shrunk)),
            (180_000, (4, shrunk)),
            (180_000, (5, shrunk))
        ]
    );
    let lengths = bench.pick(|out| match out {
        Out::Event(Event::Dropped { len, .. }) => Some(len),
        _ => None,
    });
    assert_eq!(lengths[1..], [(180_000, 4), (180_000, 3), (180_000, 2)]);
    let mut handles: Vec<u32> = bench.deliveries().iter().map(|d| d.1.0).collect();
    handles.sort_unstable();
    assert_eq!(handles, [0, 1, 2]);
}

#[test]
fn a_pair_may_have_a_capacity_of_its_own() {
    let mut config = resizing(2, 5, 50);
    config.voq.pairs = [(0, 1, 3), (1, 2, 5), (2, 0, 8)].map(own).to_vec();
    let mut bench = Bench::new(config, week(&[&[], &[(0, 1), (1, 2), (2, 0)]]));
    bench.run(399_000);
    assert_eq!(bench.sizes(pair(0, 1)), [(150_000, 5), (380_000, 3)]);
    assert_eq!(bench.sizes(pair(1, 2)), []);
    assert_eq!(bench.switch.voq_capacity(pair(1, 2)), 5);
    assert_eq!(bench.sizes(pair(2, 0)), []);
    assert_eq!(bench.switch.voq_capacity(pair(2, 0)), 8);
}

/// The handles that are delivered with CE after ten arrivals at `now`.
fn marked(config: Rdcn, now: u64, ect: bool) -> Vec<u32> {
    let mut bench = Bench::new(config, week(&[&[], &[(0, 1)]]));
    for handle in 0..10 {
        bench.send(now, handle, pair(0, 1), 9014, ect);
    }
    bench.run(399_000);
    let marks = bench.pick(|out| match out {
        Out::Event(Event::Marked { len, .. }) => Some(len),
        _ => None,
    });
    let handles: Vec<u32> = bench
        .pick(|out| match out {
            Out::Deliver {
                handle, ce: true, ..
            } => Some(handle),
            _ => None,
        })
        .iter()
        .map(|m| m.1)
        .collect();
    assert_eq!(marks.len(), handles.len());
    handles
}

#[test]
fn packets_are_marked_above_the_threshold_of_the_present_size() {
    let mut config = resizing(16, 50, 50);
    config.marking = Some(Marking {
        threshold: 3,
        threshold_big: 6,
    });
    // The first goes straight into transmission: packet n finds n - 1 others in the VOQ and makes it n long.
    assert_eq!(marked(config.clone(), 0, true), [4, 5, 6, 7, 8, 9]);
    assert_eq!(marked(config.clone(), 150_000, true), [7, 8, 9]);
    assert!(marked(config.clone(), 0, false).is_empty());
    config.marking = None;
    assert!(marked(config, 0, true).is_empty());
}

/// Whether a packet of `pair` that leaves at `now` carries ECE.
fn ece_at(now: u64, pair: Pair, in_advance: Option<u64>) -> bool {
    let mut config = config();
    config.ece_in_advance = in_advance.map(Span::from_micros);
    let mut bench = Bench::new(config, week(&[&[], &[(0, 1)]]));
    bench.send(now - 10_200, 0, pair, 125, false); // 100 ns on each link
    bench.run(now);
    let ece = bench.pick(|out| match out {
        Out::Deliver { ece, .. } => Some(ece),
        _ => None,
    });
    assert_eq!(ece.len(), 1);
    assert_eq!(ece[0].0, now);
    ece[0].1
}

#[test]
fn announced_circuits_are_events() {
    let announced = |in_advance: Option<u64>| {
        let mut config = config();
        config.ece_in_advance = in_advance.map(Span::from_micros);
        let mut bench = Bench::new(config, week(&[&[], &[(0, 1)]]));
        bench.run(700_000);
        bench.pick(|out| match out {
            Out::Event(Event::Announced { pair, on }) => Some((pair, on)),
            _ => None,
        })
    };
    // Days of 180 us and nights of 20 us: the pair's are from 200 us and from 600 us on.
    let expected = [(150_000, true), (380_000, false), (550_000, true)];
    let of_pair = expected.map(|(time, on)| (time, (pair(0, 1), on)));
    assert_eq!(announced(Some(50)), of_pair);
    assert!(announced(None).is_empty());
}

#[test]
fn the_opposite_direction_carries_ece_from_in_advance_to_the_end_of_the_day() {
    let acks = pair(1, 0);
    for (now, expected) in [
        (149_999, false),
        (150_000, true),
        (379_999, true),
        (380_000, false),
        (549_999, false),
        (550_000, true),
    ] {
        assert_eq!(ece_at(now, acks, Some(50)), expected, "{now}");
    }
    assert!(!ece_at(199_999, acks, Some(0)));
    assert!(ece_at(200_000, acks, Some(0)));
    assert!(!ece_at(300_000, acks, None));
    assert!(!ece_at(170_000, pair(0, 1), Some(50)));
    assert!(!ece_at(170_000, pair(2, 0), Some(50)));
    assert!(ece_at(390_000, acks, Some(220)));
}
