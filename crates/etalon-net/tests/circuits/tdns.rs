// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hosts hear of TDNs: by hand, and what holds of any network.

use etalon_scenario::*;
use etalon_units::{Span, Time};
use proptest::prelude::*;

use super::bench::*;

fn ksp() -> Routing {
    Routing::Ksp(Paths {
        paths: 1,
        equal: false,
        spray: false,
    })
}

fn told(uplinks: Vec<CircuitSwitch>, routing: Routing, tdns: Tdns, before: u64) -> Ocs {
    let mut config = ocs(uplinks, vec![class(limit(None, Full::Drop), routing)]);
    (config.notify, config.tdns) = (Some(notify(before)), tdns);
    config
}

/// What is heard of these pairs until then.
fn heard(config: &Ocs, pairs: &[(u16, u16)], until: u64) -> Notifications {
    let mut bench = Bench::new(config, 4);
    bench.run(until);
    let mut all = bench.log.2.borrow().clone();
    all.retain(|(_, pair, _)| pairs.contains(pair));
    all
}

/// Slices of [`four_racks`] begin at 0, 5500, 11000 and 16500, and are again the same from 22000 on. Rack 0 meets 1, 1 and 3, 2 and 3, 2 and 1.
#[test]
fn of_four_racks_and_direct_ways() {
    let config = told(four_racks(), Routing::Direct, Tdns::Length(3), 0);
    let expected = [
        (0, (0, 1), 1),
        (5500, (0, 3), 1),
        (11_000, (0, 1), 0),
        (11_000, (0, 2), 1),
        (16_500, (0, 1), 1),
        (16_500, (0, 3), 0),
        (22_000, (0, 2), 0),
        (27_500, (0, 3), 1),
    ];
    let pairs = [(0, 1), (0, 2), (0, 3)];
    assert_eq!(heard(&config, &pairs, 30_000), expected);
    // Sooner by as much as they want, but not than time begins.
    let config = told(four_racks(), Routing::Direct, Tdns::Length(3), 5500);
    let sooner = expected.map(|(time, pair, tdn)| (time.saturating_sub(5500), pair, tdn));
    assert_eq!(heard(&config, &pairs, 30_000 - 5500), sooner);
}

#[test]
fn of_slices() {
    let config = told(four_racks(), Routing::Direct, Tdns::Slice, 300);
    let expected = [5200, 10_700, 16_200, 21_700, 27_200];
    let expected: Notifications = expected
        .into_iter()
        .zip([1, 2, 3, 0, 1])
        .map(|(time, tdn)| (time, (2, 1), tdn))
        .collect();
    assert_eq!(heard(&config, &[(2, 1)], 30_000), expected);
}

#[test]
fn nobody_hears_where_there_is_one() {
    let config = told(four_racks(), Routing::Direct, Tdns::One, 300);
    assert_eq!(heard(&config, &[(0, 1), (2, 1)], 30_000), []);
}

/// One switch joins neighbours of a ring for good, the other those of the other half or those across.
fn ring() -> Vec<CircuitSwitch> {
    let four = |pairs: [(u16, u16); 2]| matching(4, &pairs);
    let turns = [[(0, 1), (2, 3)], [(0, 2), (1, 3)]].map(|pairs| (four(pairs), 900, 100));
    vec![
        switch(0, rotation(vec![(four([(0, 3), (1, 2)]), 2000, 0)])),
        switch(0, rotation(turns.into())),
    ]
}

#[test]
fn of_paths_that_cross_two_circuits() {
    let pairs = [(0, 1), (0, 2), (0, 3)];
    let both = [
        (0, (0, 1), 1),
        (0, (0, 2), 2),
        (0, (0, 3), 1),
        (1000, (0, 1), 2),
        (1000, (0, 2), 1),
        (2000, (0, 1), 1),
        (2000, (0, 2), 2),
    ];
    let config = told(ring(), ksp(), Tdns::Length(2), 0);
    assert_eq!(heard(&config, &pairs, 2500), both);
    // Where longer paths share the last, all are one.
    let config = told(ring(), ksp(), Tdns::Length(1), 0);
    assert_eq!(heard(&config, &pairs, 2500), pairs.map(|pair| (0, pair, 1)));
}

#[test]
fn the_packet_network_is_the_first() {
    let mut config = told(ring(), Routing::Packet, Tdns::Length(2), 0);
    config.packet = Some(Layer {
        rate: RATE,
        delay: Span(50),
        queue_packets: 10,
        mark_above_packets: None,
    });
    assert_eq!(heard(&config, &[(0, 1), (0, 2)], 2500), []);
}

#[test]
fn of_ways_that_are_chosen_anew() {
    let mut config = told(ring(), ksp(), Tdns::Length(3), 0);
    // Without 0-3 it is 0-1-2-3 in one half, and 0-2-1-3 in the other.
    config.failures = vec![CircuitFailure {
        part: Part::Link(0, 0),
        from: Time(300),
        to: Some(Time(1300)),
        locks_after: None,
    }];
    config.reroute = Span(50);
    let expected = [(0, (0, 3), 1), (350, (0, 3), 3), (1350, (0, 3), 1)];
    assert_eq!(heard(&config, &[(0, 3)], 1900), expected);
}

#[test]
fn more_than_can_be_numbered_or_foretold_is_refused() {
    let check = |config: &Ocs| NetworkKind::check(config, &hosts(4)).unwrap_err().0;
    let days = (0..256).map(|_| (matching(4, &[(0, 1), (2, 3)]), 20, 1));
    let many = told(
        vec![switch(0, rotation(days.collect()))],
        ksp(),
        Tdns::Slice,
        0,
    );
    assert_eq!(
        check(&many),
        "there are 255 TDNs at most, and 256 would be needed"
    );
    let early = told(ring(), ksp(), Tdns::Slice, 1001);
    assert!(check(&early).ends_with("before a change: the shortest slice lasts 1us"));
    let none = told(ring(), ksp(), Tdns::Length(0), 0);
    assert!(check(&none).starts_with("paths cross one circuit at least"));
}

/// In the second half of a cycle of [`ring`] racks 0 and 2 meet; otherwise packets of 50 bytes cross two circuits, which takes 300 ns.
#[test]
fn packets_announce_circuits_the_other_way() {
    let mut config = ocs(ring(), vec![class(limit(None, Full::Drop), ksp())]);
    config.ece_in_advance = Some(Span(250));
    let marked = |sent: u64, ends: (u16, u16)| {
        let mut bench = Bench::new(&config, 4);
        bench.send(sent, arrival(0, ends, 50, 0));
        bench.run(sent + 1000);
        let log = bench.log.3.borrow();
        log.first().map(|&(time, _)| time)
    };
    assert_eq!(marked(449, (2, 0)), None);
    assert_eq!(marked(450, (2, 0)), Some(750));
    assert_eq!(marked(1500, (2, 0)), Some(1650), "over one circuit");
    assert_eq!(marked(2000, (2, 0)), None);
    assert_eq!(marked(2450, (2, 0)), Some(2750));
    assert_eq!(marked(0, (3, 0)), Some(150), "they always meet");
    config.ece_in_advance = Some(Span(2001));
    let refused = NetworkKind::check(&config, &hosts(4)).unwrap_err();
    assert_eq!(
        refused.0,
        "ECE cannot announce circuits 2.001us ahead: the cycle lasts 2us"
    );
}

/// The rack that `from` meets over a switch then, looked up in its rotation.
fn meets(switch: &CircuitSwitch, from: u16, time: u64) -> Option<u16> {
    let week = switch.rotation.week().0;
    let mut into = (time + week - switch.offset.0) % week;
    let mut days = switch.rotation.configurations().iter();
    let day = days.find(|day| {
        let length = day.day.0 + day.night.0;
        let is_it = into < length;
        into = into.wrapping_sub(if is_it { 0 } else { length });
        is_it
    })?;
    let mut pairs = day.matching.pairs().filter(|pair| pair.src == from);
    pairs.next().map(|pair| pair.dst)
}

/// Circuits from rack to rack then, by breadth-first search over rotations.
fn distance(uplinks: &[CircuitSwitch], (from, to): (u16, u16), time: u64) -> u8 {
    let (mut reached, mut hops) = (vec![from], 0);
    while !reached.contains(&to) {
        let next = reached.iter().flat_map(|&rack| {
            let over = uplinks.iter();
            over.filter_map(move |switch| meets(switch, rack, time))
        });
        let next: Vec<u16> = next.collect();
        reached.extend(next);
        hops += 1;
    }
    hops
}

proptest! {
    /// At every instant what was heard last is what is the case then.
    #[test]
    fn what_is_heard_is_so(
        lengths in prop::collection::vec((100u64..300, 0u64..50), 1..6),
        offset in 0u64..100,
        shuffle in any::<u64>(),
        (longest, by_slice) in (1u8..5, any::<bool>()),
    ) {
        const RACKS: u16 = 6;
        // A ring that stays, so that there always is a way, and matchings that come and go.
        let ring = Matching::new((0..RACKS).map(|dst| Some((dst + 1) % RACKS)).collect()).unwrap();
        let back = Matching::new((0..RACKS).map(|dst| Some((dst + 5) % RACKS)).collect()).unwrap();
        let days: Vec<_> = lengths.iter().enumerate().map(|(n, &(day, night))| {
            let step = 2 + (shuffle >> (2 * n)) as u16 % 3;
            let source_of = (0..RACKS).map(|dst| Some((dst + step) % RACKS)).collect();
            (Matching::new(source_of).unwrap(), day, night)
        }).collect();
        let turns = rotation(days);
        let offset = offset % turns.week().0;
        let uplinks = vec![
            switch(0, rotation(vec![(ring, turns.week().0, 0)])),
            switch(0, rotation(vec![(back, turns.week().0, 0)])),
            switch(offset, turns.clone()),
        ];
        let tdns = if by_slice { Tdns::Slice } else { Tdns::Length(longest) };
        let config = told(uplinks.clone(), ksp(), tdns, 0);
        let mut bench = Bench::new(&config, RACKS);
        let mut known = [[0u8; RACKS as usize]; RACKS as usize];
        let mut numbers = std::collections::BTreeMap::new();
        let week = turns.week().0;
        for time in (0..2 * week).step_by(7) {
            bench.run(time);
            for (when, (src, dst), tdn) in bench.log.2.borrow_mut().drain(..) {
                prop_assert!(when <= time);
                known[usize::from(src)][usize::from(dst)] = tdn;
            }
            // Slices begin at days of the switches, whatever is in them; the number names when in the cycle that was.
            let mut starts: Vec<u64> = vec![0];
            starts.extend(turns.configurations().iter().scan(offset, |at, day| {
                let start = *at % week;
                *at += day.day.0 + day.night.0;
                Some(start)
            }));
            starts.sort_unstable();
            starts.dedup();
            let slice = starts.partition_point(|&start| start <= time % week) as u8 - 1;
            for (src, row) in (0..).zip(&known) {
                for (dst, &tdn) in (0..).zip(row) {
                    if src == dst {
                        continue;
                    }
                    let expected = match tdns {
                        Tdns::Slice => slice,
                        _ => distance(&uplinks, (src, dst), starts[usize::from(slice)] + week).min(longest),
                    };
                    prop_assert_eq!(tdn, expected, "{} to {} at {}", src, dst, time);
                    numbers.insert(tdn, ());
                }
            }
        }
        prop_assert!(!numbers.is_empty());
    }
}
