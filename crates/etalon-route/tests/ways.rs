// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways lead where they should: packets are sent over random networks by the tables' word, without queues, one circuit after the other.

use etalon_route::{At, Next, Rest, Rng, RouteError, Slices as Drawn, Ways, opera, regular, rotor};
use etalon_scenario::{
    CircuitSwitch, Class, ClassOf, Configuration, Count, Earliest, Entry, Full, Late, Limit,
    Matching, Ocs, Part, Paths, Plane, Routing, Schedule, Slices, Tdns, Ucmp,
};
use etalon_units::{Rate, Span};
use proptest::prelude::*;

const SLICE: u64 = 100;
const NIGHT: u64 = 10;

/// One uplink of a drawn network as a circuit switch: a configuration for as long as its matching stays.
fn switch(drawn: &Drawn, uplink: usize) -> CircuitSwitch {
    let racks = drawn.racks();
    let sources = |slice: usize| -> Vec<Option<u16>> {
        let mut sources = vec![None; racks];
        for rack in 0..racks {
            let peer = usize::from(drawn.peer(slice, rack, uplink));
            if peer != rack && peer < racks {
                sources[peer] = Some(rack as u16);
            }
        }
        sources
    };
    let slices = drawn.len();
    let begins = |slice: &usize| sources(*slice) != sources((slice + slices - 1) % slices);
    let mut starts: Vec<usize> = (0..slices).filter(begins).collect();
    let changes = !starts.is_empty();
    if !changes {
        starts.push(0);
    }
    let length = |index: usize| match starts.get(index + 1) {
        Some(next) => next - starts[index],
        None => slices - starts[index] + starts[0],
    };
    let night = if changes { NIGHT } else { 0 };
    let configurations = (0..starts.len()).map(|index| Configuration {
        matching: Matching::new(sources(starts[index])).expect("a matching"),
        day: Span(length(index) as u64 * SLICE - night),
        night: Span(night),
        plane: Plane::CIRCUIT,
    });
    CircuitSwitch {
        rate: Rate(10_000_000_000),
        delay: Span(1),
        offset: Span(starts[0] as u64 * SLICE),
        rotation: Schedule::new(configurations.collect()).expect("a schedule"),
    }
}

fn ocs(drawn: &Drawn, routing: Routing) -> Ocs {
    Ocs {
        access: None,
        host_queues: false,
        relays: 0,
        uplinks: (0..drawn.switches())
            .map(|uplink| switch(drawn, uplink))
            .collect(),
        packet: None,
        classes: vec![ClassOf {
            name: "all".into(),
            queue: Limit {
                count: Count::Packets,
                room: None,
                mark_above: None,
                full: Full::Drop,
            },
            downlink: None,
            routing,
        }],
        cutoff: None,
        guard: Span(0),
        skew: Span(0),
        late: Late::Lost,
        most_hops: 32,
        hold: false,
        failures: Vec::new(),
        reroute: Span(0),
        asked: None,
        ack_bypass: None,
        ece_in_advance: None,
        notify: None,
        tdns: Tdns::One,
    }
}

/// The slices and racks of a packet's way, of which the last is where it ends; none if it does not within `most` hops.
fn way(
    (ocs, slices, ways): (&Ocs, &Slices, &Ways),
    (entered, source, destination): (usize, u16, u16),
    label: u16,
    most: usize,
) -> Option<Vec<(usize, u16, u8)>> {
    let (mut slot, mut here, mut taken) = (entered, source, Vec::new());
    let mut rest = Rest::NONE;
    loop {
        let at = At {
            entered: entered as u32,
            slice: (slot % slices.len()) as u32,
            source,
            here,
            destination,
            hops: taken.len() as u8,
            class: Class(0),
            label,
        };
        let peer = |slot: usize, uplink: usize| slices.peer(slot % slices.len(), here, uplink);
        let (next, certain) = ways.way(&at);
        match rest.take().filter(|_| at.here != at.destination) {
            Some(uplink) => assert_eq!(next, Next::Now(uplink)),
            None => rest = certain,
        }
        let uplink = match next {
            Next::Deliver => return Some(taken),
            Next::Nowhere => return None,
            Next::Now(uplink) => uplink,
            Next::Await(next) => {
                let up = |slot: usize| {
                    let found = (0..ocs.uplinks.len()).find(|&u| peer(slot, u) == Some(next));
                    found.map(|uplink| (slot, uplink))
                };
                let (met, uplink) = (slot..slot + slices.len()).find_map(up)?;
                slot = met;
                uplink as u8
            }
        };
        here = peer(slot, uplink.into())?;
        taken.push((slot, here, uplink));
        if taken.len() > most {
            return None;
        }
    }
}

/// All that enters a network, with some labels.
fn everywhere(slices: usize, racks: u16) -> impl Iterator<Item = ((usize, u16, u16), u16)> {
    (0..slices).flat_map(move |slice| {
        (0..racks).flat_map(move |from| {
            (0..racks)
                .filter(move |&to| to != from)
                .flat_map(move |to| [0, 1, 7, 0x6003].map(move |label| ((slice, from, to), label)))
        })
    })
}

/// Whether there is a way within a slice, over circuits that have not failed and, if asked, that stay: a search that shares nothing with the
/// tables.
fn is_reached(
    slices: &Slices,
    (slot, from, to): (usize, u16, u16),
    failed: Option<Part>,
    staying: bool,
) -> bool {
    let mut reached = vec![from];
    let mut looked = 0;
    while looked < reached.len() {
        let here = reached[looked];
        looked += 1;
        for uplink in 0..slices.switches() {
            let Some(there) = slices.peer(slot, here, uplink) else {
                continue;
            };
            let fails = failed.is_some_and(|part| {
                part.stops_sending(here, uplink as u8) || part.stops_receiving(there, uplink as u8)
            });
            let goes = staying && !slices.stays(slot, uplink);
            if !goes && !fails && !reached.contains(&there) {
                reached.push(there);
            }
        }
    }
    reached.contains(&to)
}

const FIVE: Paths = Paths {
    paths: 5,
    equal: false,
    spray: true,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn direct_is_one_hop_and_vlb_two_at_most(each in 1usize..4, switches in 1usize..4, seed in any::<u64>()) {
        let racks = each * switches;
        prop_assume!(racks >= 2);
        for staggered in [false, true] {
            let draw = if staggered { opera } else { rotor };
            let drawn = draw(racks, switches, &mut Rng::new(seed)).unwrap();
            for (routing, most) in [(Routing::Direct, 1), (Routing::Vlb, 2)] {
                let ocs = ocs(&drawn, routing);
                let slices = Slices::of(&ocs.uplinks).unwrap();
                let ways = Ways::new(&ocs, racks as u16, &slices, seed, &[]).unwrap();
                for (entering, label) in everywhere(slices.len(), racks as u16) {
                    let taken = way((&ocs, &slices, &ways), entering, label, most);
                    prop_assert!(taken.is_some_and(|taken| taken.len() <= most));
                }
            }
        }
    }

    #[test]
    fn paths_stay_in_their_slice_and_off_what_goes(seed in prop_oneof![any::<u64>(), Just(6_124_006_847_965_804_174)]) {
        let drawn = opera(24, 4, &mut Rng::new(seed)).unwrap();
        for (routing, staying) in [(Routing::Expander(FIVE), true), (Routing::Ksp(FIVE), false)] {
            let ocs = ocs(&drawn, routing);
            let slices = Slices::of(&ocs.uplinks).unwrap();
            let ways = match Ways::new(&ocs, 24, &slices, seed, &[]) {
                // A draw may fall apart while a switch turns.
                Err(RouteError::NoWay { slice, from, to, .. }) => {
                    let apart = (slice, from as u16, to as u16);
                    prop_assert!(!is_reached(&slices, apart, None, staying));
                    continue;
                }
                ways => ways.unwrap(),
            };
            prop_assert!(ocs.classes[0].routing.sprays());
            for (entering, label) in everywhere(slices.len(), 24) {
                let taken = way((&ocs, &slices, &ways), entering, label, 24);
                let taken = taken.expect("a way");
                let mut visited: Vec<u16> = taken.iter().map(|hop| hop.1).collect();
                visited.push(entering.1);
                visited.sort_unstable();
                visited.dedup();
                prop_assert_eq!(visited.len(), taken.len() + 1, "no loop");
                for &(slot, _, uplink) in &taken {
                    prop_assert_eq!(slot, entering.0);
                    prop_assert!(!staying || slices.stays(slot, uplink.into()));
                }
            }
        }
    }

    #[test]
    fn the_shortest_way_has_as_few_hops_as_the_shortest_path(seed in any::<u64>()) {
        let drawn = opera(16, 4, &mut Rng::new(seed)).unwrap();
        let equal = Routing::Ksp(Paths { paths: 1, equal: true, spray: false });
        let (paths, shortest) = (ocs(&drawn, equal), ocs(&drawn, Routing::Shortest));
        let slices = Slices::of(&paths.uplinks).unwrap();
        let by_path = Ways::new(&paths, 16, &slices, seed, &[]);
        let by_hop = Ways::new(&shortest, 16, &slices, seed, &[]).expect("all racks meet");
        if let Ok(by_path) = by_path {
            for (entering, label) in everywhere(slices.len(), 16) {
                let path = way((&paths, &slices, &by_path), entering, label, 16).expect("a path");
                let taken = way((&shortest, &slices, &by_hop), entering, label, 16).expect("a way");
                prop_assert_eq!(taken.len(), path.len());
                prop_assert!(taken.iter().all(|hop| hop.0 == entering.0), "within the slice");
            }
        }
    }

    #[test]
    fn time_expanded_ways_end_and_grow_shorter_in_hops_for_longer_flows(seed in any::<u64>()) {
        let drawn = rotor(12, 3, &mut Rng::new(seed)).unwrap();
        let settings = Ucmp { alpha_milli: 500, hops: 3, hops_per_slice: 1 };
        for (routing, most) in [
            (Routing::Earliest(Earliest { hops_per_slice: 1 }), 8),
            (Routing::Earliest(Earliest { hops_per_slice: 3 }), 8),
            (Routing::Ucmp(settings), 3),
        ] {
            let ocs = ocs(&drawn, routing.clone());
            let slices = Slices::of(&ocs.uplinks).unwrap();
            let ways = Ways::new(&ocs, 12, &slices, seed, &[]).unwrap();
            for (entering, label) in everywhere(slices.len(), 12) {
                let taken = way((&ocs, &slices, &ways), entering, label, most);
                prop_assert!(taken.is_some(), "{:?} {:?}", routing, entering);
                if matches!(routing, Routing::Ucmp(_)) {
                    let long = way((&ocs, &slices, &ways), entering, label | 0xe000, most).unwrap();
                    prop_assert_eq!(long.len(), 1, "a long flow waits for its circuit");
                }
            }
        }
    }

    #[test]
    fn nothing_goes_over_what_has_failed(seed in any::<u64>(), rack in 0u16..12, uplink in 0u8..3) {
        let drawn = opera(12, 3, &mut Rng::new(seed)).unwrap();
        for part in [Part::Link(rack, uplink), Part::Rack(rack), Part::Switch(uplink), Part::Sender(rack, uplink)] {
            for routing in [Routing::Expander(FIVE), Routing::Vlb, Routing::Direct] {
                let ocs = ocs(&drawn, routing);
                let slices = Slices::of(&ocs.uplinks).unwrap();
                let ways = Ways::new(&ocs, 12, &slices, seed, &[part]).unwrap();
                // What waits for a rack takes the first circuit there: only ways of this slice are chosen link by link.
                let chosen = matches!(ocs.classes[0].routing, Routing::Expander(_));
                for (entering, label) in everywhere(slices.len(), 12) {
                    let taken = way((&ocs, &slices, &ways), entering, label, 12);
                    if chosen {
                        prop_assert_eq!(taken.is_some(), is_reached(&slices, entering, Some(part), true));
                    }
                    let mut here = entering.1;
                    for (_, next, uplink) in taken.unwrap_or_default() {
                        prop_assert!(!chosen || !part.stops_sending(here, uplink) && !part.stops_receiving(next, uplink));
                        here = next;
                    }
                }
            }
        }
    }
}

#[test]
fn k_shortest_paths_are_those_of_a_ring_by_hand() {
    // 0-1-2-3-0, each with an uplink to the next and one to the last.
    let peers = vec![1, 3, 2, 0, 3, 1, 0, 2];
    let ring = Drawn::new(4, 2, peers, vec![2]).unwrap();
    let made = |paths: u8, equal: bool| {
        let paths = Paths {
            paths,
            equal,
            spray: false,
        };
        let ocs = ocs(&ring, Routing::Ksp(paths));
        let slices = Slices::of(&ocs.uplinks).unwrap();
        assert!(slices.are_static());
        let ways = Ways::new(&ocs, 4, &slices, 1, &[]).unwrap();
        let racks = |to: u16, label: u16| {
            let taken = way((&ocs, &slices, &ways), (0, 0, to), label, 4).unwrap();
            taken.iter().map(|hop| hop.1).collect::<Vec<_>>()
        };
        [(1, 0), (1, 1), (2, 0), (2, 1)].map(|(to, label)| racks(to, label))
    };
    let all = made(5, false);
    assert_eq!(all[..2], [vec![1], vec![3, 2, 1]]);
    let mut around = [all[2].clone(), all[3].clone()];
    around.sort();
    assert_eq!(around, [[1, 2], [3, 2]]);
    assert_eq!(made(5, true)[..2], [vec![1], vec![1]], "only the shortest");
    let one = made(1, false);
    assert_eq!(one[2], one[3]);
}

#[test]
fn a_network_without_a_way_is_refused() {
    // Matchings that change together leave nothing that stays.
    let together = rotor(6, 2, &mut Rng::new(1)).unwrap();
    let of = ocs(&together, Routing::Expander(FIVE));
    let slices = Slices::of(&of.uplinks).unwrap();
    let refused = Ways::new(&of, 6, &slices, 1, &[]).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "packets of class 0 that are at rack 0 in slice 0 have no way to rack 1"
    );
    let ring = Drawn::new(4, 2, vec![1, 3, 2, 0, 3, 1, 0, 2], vec![2]).unwrap();
    let of = ocs(&ring, Routing::Direct);
    let slices = Slices::of(&of.uplinks).unwrap();
    let refused = Ways::new(&of, 4, &slices, 1, &[]).expect_err("0 and 2 never meet");
    let expected = RouteError::NoWay {
        class: 0,
        slice: 0,
        from: 0,
        to: 2,
    };
    assert_eq!(refused, expected);
}

#[test]
fn a_time_flow_table_is_followed_and_checked() {
    // Two slices of four racks: 0-1 2-3, then 0-2 1-3.
    let drawn = Drawn::new(4, 1, vec![1, 0, 3, 2, 2, 3, 0, 1], vec![0, 0]).unwrap();
    let entry = |arrival, here, destination, next, departure| Entry {
        here,
        arrival,
        destination,
        next,
        uplink: 0,
        departure,
    };
    let with = |entries: Vec<Entry>| {
        let ocs = ocs(&drawn, Routing::Table(entries));
        let slices = Slices::of(&ocs.uplinks).unwrap();
        let ways = Ways::new(&ocs, 4, &slices, 1, &[]);
        ways.map(|ways| way((&ocs, &slices, &ways), (0, 0, 3), 0, 4))
    };
    let good = vec![entry(0, 0, 3, 1, 0), entry(0, 1, 3, 3, 1)];
    assert_eq!(with(good).unwrap(), Some(vec![(0, 1, 0), (1, 3, 0)]));
    let refused = |entries: Vec<Entry>| with(entries).expect_err("refused").to_string();
    for (entries, why) in [
        (vec![entry(2, 0, 3, 1, 0)], "there is no such slice"),
        (vec![entry(0, 0, 4, 1, 0)], "there is no such rack"),
        (vec![entry(0, 3, 3, 1, 0)], "from a rack to itself"),
        (
            vec![entry(0, 0, 1, 3, 0)],
            "no such circuit in the slice of departure",
        ),
        (vec![entry(0, 0, 1, 1, 0); 2], "come twice"),
        (vec![entry(0, 0, 3, 1, 0)], "to where no entry leads on"),
        (
            vec![entry(0, 0, 3, 1, 0), entry(0, 1, 3, 0, 0)],
            "its way is a loop",
        ),
    ] {
        let sentence = refused(entries);
        assert!(sentence.contains(why), "{sentence}");
    }
}

#[test]
fn tables_of_a_hundred_and_eight_racks_take_forty_megabytes() {
    let drawn = opera(108, 6, &mut Rng::new(1)).unwrap();
    let mut ocs = ocs(&drawn, Routing::Expander(FIVE));
    let direct = ClassOf {
        routing: Routing::Direct,
        ..ocs.classes[0].clone()
    };
    ocs.classes.push(direct);
    let slices = Slices::of(&ocs.uplinks).unwrap();
    let begin = std::time::Instant::now();
    let ways = Ways::new(&ocs, 108, &slices, 1, &[]).unwrap();
    println!("{} bytes in {:?}", ways.bytes(), begin.elapsed());
    assert!(
        (30_000_000..42_000_000).contains(&ways.bytes()),
        "{}",
        ways.bytes()
    );
}

#[test]
fn every_node_of_a_static_graph_is_reached() {
    let graph = regular(20, 3, &mut Rng::new(3)).unwrap();
    // As matchings: each rack's uplinks lead to its neighbours, each rack is reached over each uplink once.
    let matched = etalon_route::matched(
        20,
        &(0..20)
            .map(|rack| {
                graph
                    .neighbours(0, rack)
                    .map(|(_, peer)| peer as u16)
                    .collect()
            })
            .collect::<Vec<Vec<u16>>>(),
    );
    assert_eq!(matched.len(), 3);
    for leads in &matched {
        let mut reached = leads.clone();
        reached.sort_unstable();
        reached.dedup();
        assert_eq!(reached.len(), 20);
    }
}
