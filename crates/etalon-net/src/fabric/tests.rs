// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_scenario::{Egress, HostId, Link, Place};
use etalon_switch::{Class, Pair};
use etalon_units::Rate;
use proptest::prelude::*;

use super::*;

/// A link that takes 1 ns for a byte.
const fn link(delay: u64, queue: u32) -> Link {
    Link {
        rate: Rate(8_000_000_000),
        delay: Span(delay),
        queue,
        mark_above: None,
    }
}

fn hosts(racks: u16, per_rack: u16) -> Hosts {
    Hosts {
        racks,
        per_rack,
        mtu: 9000,
        rate: Rate(8_000_000_000),
        delay: Span(0),
        jitter: Span(0),
        downlink_queue: None,
    }
}

/// Two racks of two hosts below so many spines.
fn leaf_spine(spines: u16, up: Link, host_ports: bool) -> Topology {
    let mut topology = Topology::new(hosts(2, 2), link(100, 3), host_ports);
    for number in 0..spines {
        let spine = topology.add_switch(Place::Spine(number));
        topology.connect(0, spine, up);
        topology.connect(1, spine, up);
    }
    topology
}

fn packet(handle: u32, (src, dst): (HostId, HostId), bytes: u32, label: u16) -> Arrival<u32> {
    Arrival {
        packet: Packet {
            handle,
            src,
            dst,
            bytes,
        },
        ect: true,
        pure_ack: false,
        class: Class::default(),
        label,
    }
}

const A: HostId = HostId::new(0, 0);
const B: HostId = HostId::new(0, 1);
const C: HostId = HostId::new(1, 0);

/// What came out, and what was heard.
#[derive(Default)]
struct Out {
    delivered: Vec<Departure<u32>>,
    lost: Vec<(Time, u32, DropReason)>,
    events: Vec<(Time, Event)>,
}

impl Sink<u32> for Out {
    fn deliver(&mut self, departure: Departure<u32>) {
        self.delivered.push(departure);
    }

    fn discard(&mut self, now: Time, handle: u32, _pair: Pair, reason: DropReason) {
        self.lost.push((now, handle, reason));
    }
}

struct Heard<'a>(&'a mut Vec<(Time, Event)>);

impl Probe for Heard<'_> {
    fn on(&mut self, time: Time, event: Event) {
        self.0.push((time, event));
    }
}

/// Sends packets at their times and drains the fabric.
fn run(mut fabric: Fabric<u32>, sends: impl IntoIterator<Item = (u64, Arrival<u32>)>) -> Out {
    let mut out = Out::default();
    let mut events = Vec::new();
    for (time, arrival) in sends {
        fabric.advance(Time(time), &mut out, &mut Heard(&mut events));
        fabric.enqueue(Time(time), arrival, &mut out, &mut Heard(&mut events));
    }
    while fabric.next_event() < Time::MAX {
        let (now, before) = (fabric.next_event(), out.delivered.len());
        let heard = fabric.next_departure();
        fabric.advance(now, &mut out, &mut Heard(&mut events));
        assert!(
            heard <= now || out.delivered.len() == before,
            "a packet left earlier than was said"
        );
    }
    Out { events, ..out }
}

fn fabric(topology: Topology) -> Fabric<u32> {
    Fabric::new(topology, Delay::OnWire, Vec::new(), 1)
}

fn times(out: &Out) -> Vec<(u32, u64)> {
    let one = |d: &Departure<u32>| (d.packet.handle, d.time.0);
    out.delivered.iter().map(one).collect()
}

#[test]
fn a_rack_is_one_hop_and_its_port_a_queue() {
    let sends = (0..5).map(|handle| (0, packet(handle, (A, B), 1000, 0)));
    let out = run(fabric(leaf_spine(1, link(500, 9), false)), sends);
    // The port to B has room for three, the one in transmission included.
    assert_eq!(times(&out), [(0, 1100), (1, 2100), (2, 3100)]);
    assert_eq!(
        out.lost,
        [
            (Time(0), 3, DropReason::Full),
            (Time(0), 4, DropReason::Full)
        ]
    );
    let departed = out.delivered[0];
    assert_eq!((departed.queue.at, departed.queue.number), (0, 1));
    assert_eq!(departed.latency, Span(1100));
}

#[test]
fn another_rack_is_three_hops() {
    let out = run(
        fabric(leaf_spine(1, link(500, 9), false)),
        [
            (0, packet(0, (A, C), 1000, 0)),
            (0, packet(1, (B, C), 500, 0)),
        ],
    );
    // ToR, spine, ToR: each takes the whole packet before it sends it on.
    assert_eq!(times(&out), [(0, 4100), (1, 4600)]);
    let queues: Vec<_> = out
        .events
        .iter()
        .filter_map(|(time, event)| match event {
            Event::Enqueue { queue, len, .. } => Some((time.0, queue.at, queue.number, *len)),
            _ => None,
        })
        .collect();
    assert_eq!(
        queues,
        [
            (0, 0, 2, 1),
            (0, 0, 2, 2),
            (1500, 2, 1, 1),
            (2000, 2, 1, 2),
            (3000, 1, 0, 1),
            (3500, 1, 0, 2)
        ]
    );
}

#[test]
fn delays_in_queues_come_first_and_take_their_places() {
    let topology = leaf_spine(1, link(500, 2), true);
    let fabric = Fabric::new(topology, Delay::InQueue, Vec::new(), 1);
    let sends = (0..4).map(|handle| (0, packet(handle, (A, B), 100, 0)));
    let out = run(fabric, sends);
    // Room for three at the host, who sends them 100 ns later, one after the other; then again.
    assert_eq!(times(&out), [(0, 400), (1, 500), (2, 600)]);
    assert_eq!(out.lost, [(Time(0), 3, DropReason::Full)]);
    let out = run(
        Fabric::new(
            leaf_spine(1, link(500, 2), true),
            Delay::InQueue,
            Vec::new(),
            1,
        ),
        (0..3).map(|handle| (150 * u64::from(handle), packet(handle, (A, C), 100, 0))),
    );
    // The uplink has room for two in 500 ns of delay.
    assert_eq!(out.lost, [(Time(500), 2, DropReason::Full)]);
}

#[test]
fn what_is_longer_than_the_threshold_is_marked() {
    let marking = Link {
        mark_above: Some(2),
        ..link(500, 9)
    };
    let sends = (0..4).map(|handle| (0, packet(handle, (A, C), 100, 0)));
    let out = run(fabric(leaf_spine(1, marking, false)), sends);
    let marked: Vec<bool> = out.delivered.iter().map(|d| d.ce).collect();
    assert_eq!(marked, [false, false, true, true]);
    let marks = out
        .events
        .iter()
        .filter(|e| matches!(e.1, Event::Marked { len: 3 | 4, .. }));
    assert_eq!(marks.count(), 2);
}

/// The spines that flows of these labels take.
fn spines_of(labels: impl Iterator<Item = u16>, spines: u16, seed: u64) -> Vec<u16> {
    let mut fabric = Fabric::new(
        leaf_spine(spines, link(500, 9), false),
        Delay::OnWire,
        Vec::new(),
        seed,
    );
    let mut taken = Vec::new();
    for label in labels {
        let mut events = Vec::new();
        let now = Time(u64::from(label) * 100_000);
        fabric.enqueue(
            now,
            packet(0, (A, C), 100, label),
            &mut Out::default(),
            &mut Heard(&mut events),
        );
        while fabric.next_event() < Time::MAX {
            fabric.advance(
                fabric.next_event(),
                &mut Out::default(),
                &mut Heard(&mut events),
            );
        }
        taken.extend(events.iter().find_map(|(_, event)| match event {
            Event::Enqueue { queue, .. } if queue.at >= 2 => Some(queue.at - 2),
            _ => None,
        }));
    }
    taken
}

#[test]
fn flows_are_spread_over_equal_ways_by_the_seed() {
    let taken = spines_of(0..4000, 4, 1);
    for spine in 0..4 {
        let share = taken.iter().filter(|&&s| s == spine).count();
        assert!(
            (900..1100).contains(&share),
            "{share} of 4000 take spine {spine}"
        );
    }
    assert_eq!(taken, spines_of(0..4000, 4, 1));
    let same = taken
        .iter()
        .zip(spines_of(0..4000, 4, 2))
        .filter(|(a, b)| **a == *b);
    assert!((900..1100).contains(&same.count()));
}

#[test]
fn a_failed_link_loses_what_is_on_it_and_is_gone_around() {
    let failure = |reroute| Failure {
        one: Node::Switch(0),
        other: Node::Switch(2),
        from: Time(1500),
        to: Time(50_000),
        reroute: Span(reroute),
    };
    let label = (0..).find(|&label| spines_of(core::iter::once(label), 2, 1) == [0]);
    let label = label.expect("a flow over the first spine");
    // One on the wire, one in transmission, one in the queue; then while switches do not know, while they do, and again.
    let sends = [0, 0, 0, 2000, 8000, 60_000].into_iter().zip(0..);
    let sends = sends.map(|(time, handle)| (time, packet(handle, (A, C), 1000, label)));
    let topology = leaf_spine(2, link(600, 9), false);
    let out = run(
        Fabric::new(topology, Delay::OnWire, [failure(5000)].into(), 1),
        sends,
    );
    let lost: Vec<_> = out
        .lost
        .iter()
        .map(|&(time, handle, reason)| (time.0, handle, reason))
        .collect();
    let down = DropReason::LinkDown;
    assert_eq!(
        lost,
        [
            (1500, 1, down),
            (1500, 2, down),
            (1500, 0, down),
            (2000, 3, down)
        ]
    );
    assert_eq!(times(&out), [(4, 12_300), (5, 64_300)]);
    let spines: Vec<u16> = out
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Enqueue { queue, .. } if queue.at >= 2 => Some(queue.at),
            _ => None,
        })
        .collect();
    assert_eq!(spines, [3, 2]);
}

#[test]
fn without_a_way_packets_are_lost() {
    let failure = Failure {
        one: Node::Switch(1),
        other: Node::Switch(2),
        from: Time(0),
        to: Time::MAX,
        reroute: Span(0),
    };
    let topology = leaf_spine(1, link(600, 9), false);
    let out = run(
        Fabric::new(topology, Delay::OnWire, [failure].into(), 1),
        [
            (10, packet(0, (A, C), 1000, 0)),
            (10, packet(1, (A, B), 1000, 0)),
        ],
    );
    assert_eq!(out.lost, [(Time(10), 0, DropReason::LinkDown)]);
    assert_eq!(times(&out), [(1, 1110)]);
}

/// Pods of racks below aggregation switches below core switches.
fn tree(
    [pods, racks, per_rack]: [u16; 3],
    [aggregation, core]: [u16; 2],
    links: [Link; 3],
    own: bool,
) -> Topology {
    let mut topology = Topology::new(hosts(pods * racks, per_rack), links[0], own);
    let mut uppers = Vec::new();
    for pod in 0..pods {
        for number in 0..aggregation {
            let switch = topology.add_switch(Place::Aggregation(pod, number));
            (0..racks).for_each(|rack| topology.connect(pod * racks + rack, switch, links[1]));
            uppers.push(switch);
        }
    }
    for number in 0..core {
        let switch = topology.add_switch(Place::Core(number));
        uppers
            .iter()
            .for_each(|&upper| topology.connect(upper, switch, links[2]));
    }
    topology
}

prop_compose! {
    fn any_link()(rate in 1u64..40, delay in 0u64..3000, queue in 1u32..12, mark in 0u32..6) -> Link {
        Link { rate: Rate(rate * 1_000_000_000), delay: Span(delay), queue, mark_above: (mark > 0).then_some(mark) }
    }
}

/// Every packet comes out once.
fn nothing_is_lost_or_doubled(out: &Out, arrivals: &[(u64, Arrival<u32>)]) {
    let mut handles: Vec<u32> = out.delivered.iter().map(|d| d.packet.handle).collect();
    handles.extend(out.lost.iter().map(|lost| lost.1));
    handles.sort_unstable();
    let mut sent: Vec<u32> = arrivals.iter().map(|a| a.1.packet.handle).collect();
    sent.sort_unstable();
    assert_eq!(handles, sent);
}

fn flows_keep_their_order(out: &Out, arrivals: &[(u64, Arrival<u32>)]) {
    let label = |handle: u32| {
        let mut with = arrivals.iter().filter(|a| a.1.packet.handle == handle);
        with.next().map(|a| a.1.label)
    };
    let mut last: BTreeMap<_, u32> = BTreeMap::new();
    for departure in &out.delivered {
        let Packet {
            handle, src, dst, ..
        } = departure.packet;
        let before = last.insert((src, dst, label(handle)), handle);
        assert!(before.is_none_or(|before| before < handle));
    }
}

/// What left each queue, and when; its lengths are checked on the way, one packet more or less at a time, and empty at the end.
fn departures(events: &[(Time, Event)]) -> BTreeMap<QueueId, Vec<(Time, u64)>> {
    let mut queues: BTreeMap<QueueId, (u32, Vec<(Time, u64)>)> = BTreeMap::new();
    for &(time, event) in events {
        match event {
            Event::Enqueue { queue, len, .. } => {
                let entry = queues.entry(queue).or_default();
                entry.0 += 1;
                assert_eq!(entry.0, len);
            }
            Event::Dequeue {
                queue, len, bytes, ..
            } => {
                let entry = queues.entry(queue).or_default();
                entry.0 -= 1;
                assert_eq!(entry.0, len);
                entry.1.push((time, bytes.into()));
            }
            Event::Dropped {
                queue,
                len,
                reason: DropReason::LinkDown,
                ..
            } => {
                if let Some(entry) = queues.get_mut(&queue) {
                    entry.0 = len;
                }
            }
            _ => {}
        }
    }
    let emptied = |(queue, (len, done))| {
        assert_eq!(len, 0);
        (queue, done)
    };
    queues.into_iter().map(emptied).collect()
}

/// Between any two departures a link carried no more than its rate allows.
fn links_are_no_faster_than_said(events: &[(Time, Event)], ports: &[Egress]) {
    for (queue, done) in departures(events) {
        let port = ports.iter().find(|port| port.queue == queue);
        let rate = port.expect("a port").link.rate;
        for (index, &(end, _)) in done.iter().enumerate() {
            for &(start, _) in &done[..index] {
                let within = done[..=index].iter().filter(|d| d.0 > start && d.0 <= end);
                let bytes = within.map(|d| d.1).sum();
                assert!(rate.span_of(bytes) <= end - start + Span(1));
            }
        }
    }
}

/// Whoever advances in larger steps sees the same.
fn large_steps_are_the_same(mut fabric: Fabric<u32>, arrivals: &[(u64, Arrival<u32>)], out: &Out) {
    let (mut heard, mut seen) = (Vec::new(), Out::default());
    for &(time, arrival) in arrivals {
        fabric.advance(Time(time), &mut seen, &mut Heard(&mut heard));
        fabric.enqueue(Time(time), arrival, &mut seen, &mut Heard(&mut heard));
    }
    fabric.advance(Time(1 << 50), &mut seen, &mut Heard(&mut heard));
    assert_eq!(heard, out.events);
    assert_eq!(times(&seen), times(out));
}

/// Between a rack's ToR and the first of its upper switches.
fn failure(hosts: &Hosts, sizes: [u16; 3], uppers: u16, drawn: (u16, u64, u64, u64)) -> Failure {
    let (rack, from, span, reroute) = drawn;
    let rack = rack % hosts.racks;
    Failure {
        one: Node::Switch(rack),
        other: Node::Switch(hosts.racks + rack / sizes[1] * uppers),
        from: Time(from),
        to: Time(from + span),
        reroute: Span(reroute),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The flows keep their order unless routes change.
    #[test]
    fn packets_are_conserved_ordered_and_no_faster_than_links(
        sizes in [1u16..4, 1u16..4, 1u16..4],
        uppers in [1u16..4, 1u16..4],
        links in [any_link(), any_link(), any_link()],
        in_queue in any::<bool>(),
        fails in prop::option::of((0u16..3, 0u64..40_000, 1u64..40_000, 0u64..5000)),
        sends in prop::collection::vec((0u64..900, any::<u16>(), any::<u16>(), 60u32..1500, 0u16..3), 1..200),
    ) {
        let delay = if in_queue { Delay::InQueue } else { Delay::OnWire };
        let topology = tree(sizes, uppers, links, in_queue);
        let ports = topology.clone().into_ports();
        let hosts = *topology.hosts();
        let failures: Vec<Failure> = fails.iter().map(|&drawn| failure(&hosts, sizes, uppers[0], drawn)).collect();
        let mut now = 0;
        let mut arrivals = Vec::new();
        for (handle, &(pause, src, dst, bytes, label)) in sends.iter().enumerate() {
            now += pause;
            let [src, dst] = [src, dst].map(|host| u32::from(host) % hosts.count());
            if src != dst {
                arrivals.push((now, packet(handle as u32, (hosts.host(src), hosts.host(dst)), bytes, label)));
            }
        }
        let make = || Fabric::new(topology.clone(), delay, failures.clone(), 7);
        let out = run(make(), arrivals.iter().copied());
        nothing_is_lost_or_doubled(&out, &arrivals);
        if failures.is_empty() {
            flows_keep_their_order(&out, &arrivals);
        }
        links_are_no_faster_than_said(&out.events, &ports);
        large_steps_are_the_same(make(), &arrivals, &out);
    }
}
