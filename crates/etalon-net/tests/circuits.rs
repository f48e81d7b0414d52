//! Networks of circuits: by hand, against the hybrid switch, and what holds of any.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use etalon_net::{Arrival, Circuits, Class, HostId, Hosts, Network, Packet, Transmission};
use etalon_scenario::{
    Access, CircuitFailure, CircuitSwitch, ClassOf, Count, Full, Late, Limit, Ocs, Part, Paths,
    QueueId, Routing, Trim,
};
use etalon_switch::{
    CircuitNetwork, Configuration, Departure, DropReason, Event, Marking, Matching, Night, Pair,
    Plane, Probe, Rdcn, Schedule, Sink, Switch, VoqConfig,
};
use etalon_units::{Rate, Span, Time};
use proptest::prelude::*;

/// A byte takes a nanosecond.
const RATE: Rate = Rate(8_000_000_000);
const DELAY: Span = Span(100);

/// What came out, and what happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Out {
    Delivered(u32, bool),
    Lost(u32, DropReason),
    Back(u32, DropReason),
    Slice(u64),
    Enqueue(Pair, QueueId, u32, u32),
    Dequeue(Pair, QueueId, u32, u32),
    Trimmed(Pair, QueueId, u32, u32),
    Dropped(Pair, QueueId, u32, DropReason),
    Departed(Pair, QueueId, Span),
    Marked(Pair, QueueId, u32),
    Rerouted,
}

#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(Time, Out)>>>, Rc<RefCell<Vec<(Time, u32)>>>);

impl Log {
    fn add(&self, time: Time, out: Out) {
        let mut all = self.0.borrow_mut();
        assert!(
            all.last().is_none_or(|last| last.0 <= time),
            "time goes back"
        );
        all.push((time, out));
    }
}

impl Sink<u32> for Log {
    fn deliver(&mut self, d: Departure<u32>) {
        self.add(d.time, Out::Delivered(d.packet.handle, d.trimmed));
    }

    fn discard(&mut self, now: Time, handle: u32, _: Pair, reason: DropReason) {
        self.add(now, Out::Lost(handle, reason));
    }

    fn give_back(&mut self, now: Time, handle: u32, _: Pair, why: DropReason) {
        self.add(now, Out::Back(handle, why));
    }

    fn dequeued(&mut self, now: Time, handle: u32, _: Transmission) {
        self.1.borrow_mut().push((now, handle));
    }
}

impl Probe for Log {
    fn on(&mut self, time: Time, event: Event) {
        self.add(
            time,
            match event {
                Event::Slice { slice } => Out::Slice(slice),
                Event::Rerouted {} => Out::Rerouted,
                Event::Enqueue {
                    pair,
                    queue,
                    len,
                    bytes,
                } => Out::Enqueue(pair, queue, len, bytes),
                Event::Dequeue {
                    pair,
                    queue,
                    len,
                    bytes,
                    ..
                } => Out::Dequeue(pair, queue, len, bytes),
                Event::Trimmed {
                    pair,
                    queue,
                    len,
                    bytes,
                } => Out::Trimmed(pair, queue, len, bytes),
                Event::Dropped {
                    pair,
                    queue,
                    len,
                    reason,
                    ..
                } => Out::Dropped(pair, queue, len, reason),
                Event::Departed {
                    pair,
                    queue,
                    latency,
                    ..
                } => Out::Departed(pair, queue, latency),
                Event::Marked { pair, queue, len } => Out::Marked(pair, queue, len),
                _ => return,
            },
        );
    }
}

fn hosts(racks: u16) -> Hosts {
    Hosts {
        racks,
        per_rack: 1,
        mtu: 9000,
        rate: RATE,
        delay: Span::ZERO,
        jitter: Span::ZERO,
        downlink_queue: None,
    }
}

fn arrival(handle: u32, (src, dst): (u16, u16), bytes: u32, class: u8) -> Arrival<u32> {
    Arrival {
        packet: Packet {
            handle,
            src: HostId::new(src, 0),
            dst: HostId::new(dst, 0),
            bytes,
        },
        ect: true,
        pure_ack: false,
        class: Class(class),
        label: handle as u16,
    }
}

fn limit(room: Option<u64>, full: Full) -> Limit {
    Limit {
        count: Count::Packets,
        room,
        mark_above: None,
        full,
    }
}

fn class(limit: Limit, routing: Routing) -> ClassOf {
    ClassOf {
        name: "class".into(),
        queue: limit,
        downlink: None,
        routing,
    }
}

/// A matching that joins these both ways.
fn matching(racks: u16, pairs: &[(u16, u16)]) -> Matching {
    let mut source_of = vec![None; racks.into()];
    for &(a, b) in pairs {
        source_of[usize::from(a)] = Some(b);
        source_of[usize::from(b)] = Some(a);
    }
    Matching::new(source_of).unwrap()
}

fn rotation(days: Vec<(Matching, u64, u64)>) -> Schedule {
    let configuration = |(matching, day, night)| Configuration {
        matching,
        day: Span(day),
        night: Span(night),
        plane: Plane::CIRCUIT,
    };
    Schedule::new(days.into_iter().map(configuration).collect()).unwrap()
}

fn switch(offset: u64, rotation: Schedule) -> CircuitSwitch {
    CircuitSwitch {
        rate: RATE,
        delay: DELAY,
        offset: Span(offset),
        rotation,
    }
}

fn ocs(uplinks: Vec<CircuitSwitch>, classes: Vec<ClassOf>) -> Ocs {
    Ocs {
        access: None,
        host_queues: false,
        relays: 0,
        uplinks,
        packet: None,
        classes,
        cutoff: None,
        guard: Span::ZERO,
        skew: Span::ZERO,
        late: Late::Lost,
        most_hops: 8,
        failures: vec![],
        reroute: Span::ZERO,
    }
}

struct Bench {
    network: Circuits<u32>,
    log: Log,
}

impl Bench {
    fn new(config: &Ocs, racks: u16) -> Bench {
        etalon_scenario::NetworkKind::check(config, &hosts(racks)).unwrap();
        Bench {
            network: Circuits::new(config, hosts(racks), 1).unwrap(),
            log: Log::default(),
        }
    }

    fn run(&mut self, now: u64) {
        self.network
            .advance(Time(now), &mut self.log.clone(), &mut self.log);
    }

    fn send(&mut self, now: u64, arrival: Arrival<u32>) {
        self.run(now);
        self.network
            .enqueue(Time(now), arrival, &mut self.log.clone(), &mut self.log);
    }

    /// What became of packets, in order.
    fn fates(&self) -> Vec<(u64, Out)> {
        let log = self.log.0.borrow();
        let fates = log
            .iter()
            .filter(|(_, out)| matches!(out, Out::Delivered(..) | Out::Lost(..) | Out::Back(..)));
        fates.map(|(time, out)| (time.0, out.clone())).collect()
    }
}

/// Four racks, two switches that turn dark in turns: 0-1 2-3, then 0-2 1-3; 0-3 1-2, then 0-1 2-3.
fn four_racks() -> Vec<CircuitSwitch> {
    let four = |pairs: [(u16, u16); 2]| matching(4, &pairs);
    let first = [[(0, 1), (2, 3)], [(0, 2), (1, 3)]].map(|pairs| (four(pairs), 10_000, 1000));
    let second = [[(0, 3), (1, 2)], [(0, 1), (2, 3)]].map(|pairs| (four(pairs), 10_000, 1000));
    vec![
        switch(0, rotation(first.into())),
        switch(5500, rotation(second.into())),
    ]
}

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

/// All but slices, at one instant in the order of contents; queues of the switch's pairs as of these VOQs.
fn comparable(log: &Log) -> Vec<(Time, Out)> {
    let mut all: Vec<(Time, Out)> = log.0.borrow().clone();
    all.retain(|(_, out)| !matches!(out, Out::Slice(_)));
    all.sort();
    all
}

proptest! {
    /// One circuit switch, direct ways and no packet network: the hybrid switch, event for event.
    #[test]
    fn one_switch_and_direct_ways_are_the_hybrid_switch(
        racks in 2u16..6,
        day in 500u64..6000,
        night in prop_oneof![Just(0u64), 1u64..1500],
        room in 1u32..8,
        threshold in 0u32..6,
        packets in prop::collection::vec((0u64..2500, any::<u16>(), any::<u16>(), 64u32..3000), 1..120),
    ) {
        let days: Vec<_> = (1..racks).map(|step| {
            let source_of = (0..racks).map(|dst| Some((dst + step) % racks)).collect();
            (Matching::new(source_of).unwrap(), day, night)
        }).collect();
        let week = rotation(days);
        let rdcn = Rdcn {
            packet: None,
            circuits: vec![CircuitNetwork { rate: RATE, delay: DELAY }],
            voq: VoqConfig { packets: room, pairs: vec![], resize: None },
            marking: Some(Marking { threshold, threshold_big: threshold }),
            ece_in_advance: None,
            night: Night::default(),
            notify: None,
            ack_bypass: None,
        };
        let mut of_class = limit(Some(room.into()), Full::Drop);
        of_class.mark_above = Some(threshold.into());
        let mut config = ocs(vec![switch(0, week.clone())], vec![class(of_class, Routing::Direct)]);
        config.late = Late::Completes;
        let mut circuits = Bench::new(&config, racks);
        let mut hybrid: Switch<u32> = Switch::new(&rdcn, &week, Time::ZERO).unwrap();
        let mut log = Log::default();
        let mut now = Time::ZERO;
        for (handle, (pause, src, step, bytes)) in packets.into_iter().enumerate() {
            // Half of them come together.
            now.0 += pause.saturating_sub(1250);
            let src = src % racks;
            let dst = (src + 1 + step % (racks - 1)) % racks;
            let packet = arrival(handle as u32, (src, dst), bytes, 0);
            circuits.send(now.0, packet);
            hybrid.advance(now, &mut log.clone(), &mut log);
            hybrid.enqueue(now, packet, &mut log.clone(), &mut log);
        }
        let end = Time(now.0 + 60 * (day + night) * u64::from(racks));
        circuits.run(end.0);
        hybrid.advance(end, &mut log.clone(), &mut log);
        // A queue for the same rack has another number.
        for (_, out) in &mut *log.0.borrow_mut() {
            match out {
                Out::Enqueue(_, queue, ..) | Out::Dequeue(_, queue, ..) | Out::Dropped(_, queue, ..)
                | Out::Departed(_, queue, _) | Out::Marked(_, queue, _) => {
                    queue.number = config.voq(&hosts(racks), queue.number);
                }
                _ => {}
            }
        }
        prop_assert_eq!(comparable(&circuits.log), comparable(&log));
    }
}

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
        const RACKS: u16 = 6;
        let routings = routings.map(|number| match number {
            0 => Routing::Direct,
            1 => Routing::Vlb,
            2 => Routing::Expander(Paths { paths: 2, equal: false, spray: true }),
            3 => Routing::Ksp(Paths { paths: 1, equal: true, spray: false }),
            _ => Routing::Earliest(etalon_scenario::Earliest { hops_per_slice: 2 }),
        });
        let trim = Trim { header_bytes: 64, room_bytes: 200, headers_per_packet: 2, coin: true, returns: true };
        let full = |number: usize, class: usize| match number {
            0 => Full::Drop,
            1 if class == 0 => Full::Trim(trim),
            _ => Full::Return,
        };
        let classes = [0, 1].map(|n| class(limit(room, full(fulls[n], n)), routings[n].clone()));
        // Two switches share out a one-factorization of six racks; each matching is joined by a third switch that stays.
        let factor = |n: u16| {
            let pairs = [(5, n), ((n + 1) % 5, (n + 4) % 5), ((n + 2) % 5, (n + 3) % 5)];
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
        let mut config = ocs(uplinks, classes.into());
        config.guard = Span(guard);
        config.late = if completes { Late::Completes } else { Late::Lost };
        if has_access {
            config.access = Some(Access { rate: RATE, delay: Span(7) });
        }
        if fails {
            let failure = |part, from, to| CircuitFailure { part, from: Time(from), to: Some(Time(to)), locks_after: None };
            config.failures = vec![
                failure(Part::Link(1, 0), 3000, 20_000),
                failure(Part::Switch(1), 10_000, 30_000),
                failure(Part::Rack(4), 5000, 15_000),
            ];
            config.reroute = Span(700);
        }
        let mut bench = Bench::new(&config, RACKS);
        let mut now = 0;
        let sent = packets.len();
        let mut class_of = BTreeMap::new();
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

        let mut fates = BTreeMap::new();
        let mut waiting: BTreeMap<(QueueId, u8), i64> = BTreeMap::new();
        for (time, out) in &*bench.log.0.borrow() {
            let class = |bytes: &u32| (bytes & 1) as u8;
            match out {
                Out::Delivered(handle, _) | Out::Lost(handle, _) | Out::Back(handle, _) => {
                    prop_assert!(fates.insert(*handle, out.clone()).is_none(), "{} came out twice", handle);
                }
                Out::Enqueue(_, queue, _, bytes) | Out::Trimmed(_, queue, _, bytes) => {
                    *waiting.entry((*queue, class(bytes))).or_default() += 1;
                }
                Out::Dequeue(_, queue, _, bytes) => {
                    *waiting.entry((*queue, class(bytes))).or_default() -= 1;
                    if class(bytes) == 1 && !fails {
                        // What a coin has trimmed was said to have joined twice.
                        let trims = matches!(config.classes[0].queue.full, Full::Trim(_));
                        let first = waiting.get(&(*queue, 0)).copied().unwrap_or(0);
                        prop_assert!(first <= 0 || trims, "inverted at {:?}", time);
                    }
                    let uplink = queue.number.checked_sub(hosts(RACKS).per_rack);
                    if let Some(uplink) = uplink {
                        let way = u32::from(uplink);
                        prop_assert!(is_lit(&config, *queue, way, *time, *bytes), "dark: {:?} at {:?}", queue, time);
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!(fates.len(), sent);
        for (handle, fate) in &fates {
            let class = usize::from(class_of[handle]);
            let returns = match config.classes[class].queue.full { Full::Drop => false, Full::Trim(_) | Full::Return => true };
            if let Out::Back(..) = fate {
                prop_assert!(returns);
            }
        }
        // Hops: over circuits a packet was dequeued as often, and once more for its host.
        if !fails {
            let mut hops: BTreeMap<u32, usize> = BTreeMap::new();
            for (_, handle) in &*bench.log.1.borrow() {
                *hops.entry(*handle).or_default() += 1;
            }
            for (handle, fate) in &fates {
                let of = &config.classes[usize::from(class_of[handle])];
                let most = match of.routing { Routing::Direct => 1, Routing::Vlb => 2, _ => continue };
                if let Out::Delivered(..) = fate {
                    prop_assert!(hops[handle] <= most + usize::from(has_access));
                }
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
