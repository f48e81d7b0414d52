// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds of any network of circuits.

use std::collections::BTreeMap;

use etalon_scenario::*;
use etalon_units::{Span, Time};
use proptest::prelude::*;

use super::bench::*;

const RACKS: u16 = 6;

/// The classes of packets, by handle.
type ClassOfPacket = BTreeMap<u32, u8>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Every packet comes out once, none over a dark circuit, priority is never inverted, by class nothing is lost that is not said to be,
    /// and VLB takes two hops.
    #[test]
    fn of_any_network(
        routings in prop::array::uniform2(0usize..5),
        fulls in prop::array::uniform2(0usize..3),
        room in prop::option::of(1u64..5),
        guard in prop_oneof![Just(0u64), 1u64..200],
        completes in any::<bool>(),
        day in 4000u64..9000,
        night in 1u64..1500,
        offset in 0u64..4000,
        (has_access, fails) in (any::<bool>(), any::<bool>()),
        packets in prop::collection::vec((0u64..2000, 0u16..6, 0u16..5, 32u32..1000, 0u8..2), 1..150),
    ) {
        let mut config = network(routings, fulls, room, (day, night, offset));
        config.guard = Span(guard);
        config.late = if completes { Late::Completes } else { Late::Lost };
        if has_access {
            config.access = Some(Access { rate: RATE, delay: Span(7) });
        }
        if fails {
            fail(&mut config);
        }
        let mut bench = Bench::new(&config, RACKS);
        let mut now = 0;
        let mut class_of = ClassOfPacket::new();
        for (handle, (pause, src, step, bytes, class)) in packets.into_iter().enumerate() {
            now += pause.saturating_sub(1000);
            let dst = (src + 1 + step) % RACKS;
            // A packet's length says its class; a header's is even, too, and of the first.
            let bytes = bytes * 2 + u32::from(class);
            class_of.insert(handle as u32, class);
            bench.send(now, arrival(handle as u32, (src, dst), bytes, class));
        }
        bench.run(now + 1_500_000);
        prop_assert_eq!(bench.network.inside(), 0);

        let fates = fates(&config, &bench.log, &class_of);
        hops(&config, &bench.log, &class_of, &fates);
    }
}

/// Two switches share out a one-factorization of six racks; two more keep a ring, and the ring the other way.
fn network(
    routings: [usize; 2],
    fulls: [usize; 2],
    room: Option<u64>,
    (day, night, offset): (u64, u64, u64),
) -> Ocs {
    let routings = routings.map(|number| match number {
        0 => Routing::Direct,
        1 => Routing::Vlb,
        2 => Routing::Expander(Paths {
            paths: 2,
            equal: false,
            spray: true,
        }),
        3 => Routing::Ksp(Paths {
            paths: 1,
            equal: true,
            spray: false,
        }),
        _ => Routing::Earliest(etalon_scenario::Earliest { hops_per_slice: 2 }),
    });
    let trim = Trim {
        header_bytes: 64,
        room_bytes: 200,
        headers_per_packet: 2,
        coin: true,
        returns: true,
    };
    let full = |number: usize, class: usize| match number {
        0 => Full::Drop,
        1 if class == 0 => Full::Trim(trim),
        _ => Full::Return,
    };
    let classes = [0, 1].map(|n| class(limit(room, full(fulls[n], n)), routings[n].clone()));
    // Two switches share out a one-factorization of six racks; each matching is joined by a third switch that stays.
    let factor = |n: u16| {
        let pairs = [
            (5, n),
            ((n + 1) % 5, (n + 4) % 5),
            ((n + 2) % 5, (n + 3) % 5),
        ];
        matching(RACKS, &pairs)
    };
    let turns = |of: [u16; 3]| rotation(of.map(|n| (factor(n), day, night)).into());
    let ring = Matching::new((0..RACKS).map(|dst| Some((dst + 1) % RACKS)).collect()).unwrap();
    let back = Matching::new((0..RACKS).map(|dst| Some((dst + 5) % RACKS)).collect()).unwrap();
    let uplinks = vec![
        switch(0, turns([0, 1, 2])),
        switch(offset, turns([3, 4, 0])),
        switch(0, rotation(vec![(ring, day + night, 0)])),
        switch(0, rotation(vec![(back, day + night, 0)])),
    ];
    ocs(uplinks, classes.into())
}

/// A link, a circuit switch and a rack fail for a time.
fn fail(config: &mut Ocs) {
    let failure = |part, from, to| CircuitFailure {
        part,
        from: Time(from),
        to: Some(Time(to)),
        locks_after: None,
    };
    config.failures = vec![
        failure(Part::Link(1, 0), 3000, 20_000),
        failure(Part::Switch(1), 10_000, 30_000),
        failure(Part::Rack(4), 5000, 15_000),
    ];
    config.reroute = Span(700);
}

/// What became of each packet, once; that circuits were lit, and first classes first.
fn fates(config: &Ocs, log: &Log, class_of: &ClassOfPacket) -> BTreeMap<u32, Out> {
    let mut fates = BTreeMap::new();
    let mut waiting: BTreeMap<(QueueId, u8), i64> = BTreeMap::new();
    for (time, out) in &*log.0.borrow() {
        let class = |bytes: &u32| (bytes & 1) as u8;
        match out {
            Out::Delivered(handle, _) | Out::Lost(handle, _) | Out::Back(handle, _) => {
                assert!(
                    fates.insert(*handle, out.clone()).is_none(),
                    "{handle} came out twice"
                );
            }
            Out::Enqueue(_, queue, _, bytes) | Out::Trimmed(_, queue, _, bytes) => {
                *waiting.entry((*queue, class(bytes))).or_default() += 1;
            }
            Out::Dequeue(_, queue, _, bytes) => {
                *waiting.entry((*queue, class(bytes))).or_default() -= 1;
                if class(bytes) == 1 && config.failures.is_empty() {
                    // What a coin has trimmed was said to have joined twice.
                    let trims = matches!(config.classes[0].queue.full, Full::Trim(_));
                    let first = waiting.get(&(*queue, 0)).copied().unwrap_or(0);
                    assert!(first <= 0 || trims, "inverted at {time:?}");
                }
                let uplink = queue.number.checked_sub(hosts(RACKS).per_rack);
                if let Some(uplink) = uplink {
                    let way = u32::from(uplink);
                    assert!(
                        is_lit(config, *queue, way, *time, *bytes),
                        "dark: {queue:?} at {time:?}"
                    );
                }
            }
            _ => {}
        }
    }
    assert_eq!(fates.len(), class_of.len());
    for (handle, fate) in &fates {
        let class = usize::from(class_of[handle]);
        let returns = match config.classes[class].queue.full {
            Full::Drop => false,
            Full::Trim(_) | Full::Return => true,
        };
        if let Out::Back(..) = fate {
            assert!(returns);
        }
    }
    fates
}

/// That direct ways have one hop, and ways of VLB two at most.
fn hops(config: &Ocs, log: &Log, class_of: &ClassOfPacket, fates: &BTreeMap<u32, Out>) {
    // Hops: over circuits a packet was dequeued as often, and once more for its host.
    if config.failures.is_empty() {
        let mut hops: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, handle) in &*log.1.borrow() {
            *hops.entry(*handle).or_default() += 1;
        }
        for (handle, fate) in fates {
            let of = &config.classes[usize::from(class_of[handle])];
            let most = match of.routing {
                Routing::Direct => 1,
                Routing::Vlb => 2,
                _ => continue,
            };
            if let Out::Delivered(..) = fate {
                assert!(hops[handle] <= most + usize::from(config.access.is_some()));
            }
        }
    }
}

/// By the rotations alone: whether the circuit that a queue leads to is up, and a guard band is kept. Queues of uplinks come first, then, behind
/// that of a packet network, those for racks.
fn is_lit(config: &Ocs, queue: QueueId, way: u32, time: Time, bytes: u32) -> bool {
    let count = config.uplinks.len() as u32;
    let lit = |switch: &CircuitSwitch, next: Option<u16>| {
        let week = switch.rotation.week().0;
        let mut into = (time.0 + week - switch.offset.0) % week;
        for one in switch.rotation.configurations() {
            if into < one.day.0 + one.night.0 {
                let dst = one.matching.pairs().find(|pair| pair.src == queue.at);
                let stays = switch.rotation.configurations().len() == 1;
                let begun = time.0 < one.day.0 || into >= config.guard.0;
                let guarded = config.guard.0 == 0
                    || begun && into + u64::from(bytes) + config.guard.0 <= one.day.0;
                return dst.is_some_and(|pair| next.is_none_or(|next| pair.dst == next))
                    && into < one.day.0
                    && (stays || guarded);
            }
            into -= one.day.0 + one.night.0;
        }
        false
    };
    match way.checked_sub(count + 1) {
        None => lit(&config.uplinks[way as usize], None),
        Some(next) => config
            .uplinks
            .iter()
            .any(|switch| lit(switch, Some(next as u16))),
    }
}
