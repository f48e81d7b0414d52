// SPDX-License-Identifier: MIT OR Apache-2.0
use proptest::prelude::*;

use super::*;

type Range = (u32, u32);

/// What a day of these packets comes to.
fn day(packets: &[Range]) -> Tally {
    let (mut order, mut pair) = (Order::default(), Days::default());
    for &(start, end) in packets {
        order.left(0, start, end - start, 1, &mut pair);
    }
    assert_eq!(order.days.tally, pair.tally);
    order.days.tally
}

#[test]
fn a_hole_is_an_event_and_what_is_missing_in_it_is_counted_once() {
    // 4 to 6 overtake 1 to 3, then 9 overtakes 7 and 8.
    let packets = [
        (0, 10),
        (40, 50),
        (50, 60),
        (60, 70),
        (10, 20),
        (20, 30),
        (30, 40),
        (90, 100),
        (70, 80),
        (80, 90),
    ]; // by tens
    let tally = Tally {
        events: 2,
        missing: 5,
        spurious: 0,
    };
    assert_eq!(day(&packets), tally);
}

#[test]
fn a_hole_below_one_that_was_shown_is_no_event() {
    let packets = [(0, 10), (40, 50), (20, 30), (10, 20), (30, 40)];
    assert_eq!((day(&packets).events, day(&packets).missing), (1, 3));
}

#[test]
fn a_packet_is_in_vain_only_if_all_of_it_has_left_before() {
    let packets = [
        (0, 10),
        (0, 10),
        (20, 30),
        (25, 30),
        (25, 35),
        (10, 20),
        (5, 15),
    ];
    assert_eq!(day(&packets).spurious, 3);
}

#[test]
fn subflows_have_their_own_numbers_and_numbers_begin_again() {
    let (mut order, mut pair) = (Order::default(), Days::default());
    let mut all = Tally::default();
    for (subflow, offset) in [(0, 0), (1, 0), (1, 10), (0, 30), (0, 10)] {
        order.left(subflow, offset, 10, 1, &mut pair);
    }
    all.events += 1;
    all.missing += 2;
    assert_eq!(order.days.tally, all);
    let mut stream = Stream::default();
    for offset in (0..=u32::MAX).step_by(1 << 30) {
        stream.left(offset, 1 << 30);
    }
    assert_eq!(stream.next, 1 << 32);
    assert_eq!(stream.left(0, 10), Tally::default());
    assert_eq!(stream.left(0, 10).spurious, 1);
}

#[test]
fn days_are_recorded_when_they_are_over_and_those_without_a_packet_count() {
    let mut flows = [Order::default(), Order::default()];
    let mut pair = Days::default();
    for (flow, packet, phase) in [
        (0, (10, 20), 0), // before measurement
        (0, (30, 40), 1), // in the first day
        (1, (50, 60), 1),
        (0, (60, 70), 2), // after it
        (0, (40, 60), 5), // the second had none, and the third is not over
    ] {
        let (start, end): Range = packet;
        flows[flow].left(0, start, end - start, phase, &mut pair);
    }
    flows[1].days.turn(5);
    let text = format!("{:?}", table(flows.iter(), Some(&pair), 2));
    // Both flows: two days without an event, two with one. A hole of one packet, one of five.
    for column in [
        r#"["flow", "flow", "flow", "flow", "flow", "flow", "pair", "pair", "pair", "pair", "pair"]"#,
        "[0, 1, 0, 1, 5, 0, 0, 2, 0, 6, 0]",
        "[2, 2, 2, 1, 1, 4, 1, 1, 1, 1, 2]",
    ] {
        assert!(text.contains(column), "{text}");
    }
}

proptest! {
    /// A set of bytes says the same.
    #[test]
    fn ranges_hold_what_a_set_of_bytes_would(
        packets in prop::collection::vec((0u32..60, 1u32..8), 1..60)
    ) {
        let (mut order, mut pair) = (Order::default(), Days::default());
        let mut bytes = std::collections::BTreeSet::new();
        let (mut events, mut spurious) = (0, 0);
        for (start, length) in packets {
            let range = start..start + length;
            events += u64::from(start > bytes.last().map_or(0, |last: &u32| last + 1));
            spurious += u64::from(range.clone().all(|byte| bytes.contains(&byte)));
            bytes.extend(range.clone());
            order.left(0, start, length, 1, &mut pair);
            let Stream { next, ref held, .. } = order.streams[0];
            let above: u64 = held.iter().map(|(a, b)| b - a).sum();
            prop_assert_eq!(next + above, bytes.len() as u64);
            prop_assert!(held.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
        let tally = order.days.tally;
        prop_assert_eq!((tally.events, tally.spurious), (events, spurious));
    }
}
