// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both kinds of network between racks, with times that can be computed by hand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use etalon_net::{Arrival, Chain, HostId, Hybrid, Network, Packet, Stage};
use etalon_switch::{
    CircuitNetwork, Class, Configuration, Departure, DropReason, Event, Matching, PacketNetwork,
    Pair, Plane, Probe, QueueId, Rdcn, Schedule, Sink, Switch,
};
use etalon_units::{Rate, Serializer, Span, Time};
use proptest::prelude::*;

const FORTH: Pair = Pair { src: 0, dst: 1 };
const BACK: Pair = Pair { src: 1, dst: 0 };

#[derive(Default)]
struct Out {
    delivered: Vec<Departure<u32>>,
    dropped: Vec<(Time, u32, DropReason)>,
}

impl Sink<u32> for Out {
    fn deliver(&mut self, departure: Departure<u32>) {
        self.delivered.push(departure);
    }

    fn discard(&mut self, now: Time, handle: u32, _pair: Pair, reason: DropReason) {
        self.dropped.push((now, handle, reason));
    }
}

impl Out {
    fn times(&self) -> Vec<(u32, u64)> {
        let one = |d: &Departure<u32>| (d.packet.handle, d.time.0);
        self.delivered.iter().map(one).collect()
    }
}

fn packet(handle: u32, pair: Pair, bytes: u32) -> Arrival<u32> {
    Arrival {
        packet: Packet {
            handle,
            src: HostId::new(pair.src, 0),
            dst: HostId::new(pair.dst, 0),
            bytes,
        },
        ect: false,
        pure_ack: bytes < 100,
        class: Class::default(),
        label: 0,
    }
}

fn drain(network: &mut impl Network<u32>, out: &mut Out, until: Time) {
    while network.next_event() <= until {
        network.advance(network.next_event(), out, &mut ());
    }
}

#[test]
fn a_chain_queues_drops_and_delays() {
    let link = || Some(Serializer::new(Rate(8_000_000_000)));
    let forth = vec![
        Stage::new(link(), 2, Span(100)),
        Stage::new(None, u32::MAX, Span(10)),
    ];
    let back = vec![Stage::new(None, u32::MAX, Span(50))];
    let mut chain = Chain::new(forth, back);
    let mut out = Out::default();
    assert_eq!(chain.next_event(), Time::MAX);
    for handle in 0..3 {
        let packet = packet(handle, FORTH, 1000);
        chain.enqueue(Time(0), packet, &mut out, &mut ());
    }
    chain.enqueue(Time(0), packet(3, BACK, 1000), &mut out, &mut ());
    assert_eq!(out.dropped, [(Time(0), 2, DropReason::Full)]);
    assert_eq!(chain.next_event(), Time(50));
    drain(&mut chain, &mut out, Time(5000));
    assert_eq!(out.times(), [(3, 50), (0, 1110), (1, 2110)]);
    assert_eq!(out.delivered[2].latency, Span(2110));
    assert_eq!(out.delivered[0].packet.pair(), BACK);
    assert_eq!(chain.next_event(), Time::MAX);
}

/// Records what a probe hears of a chain.
#[derive(Default)]
struct Heard {
    departed: Vec<(Time, Span)>,
    dropped: Vec<(Time, Pair, u32)>,
}

impl Probe for Heard {
    fn on(&mut self, time: Time, event: Event) {
        match event {
            Event::Departed { latency, .. } => self.departed.push((time, latency)),
            Event::Dropped { pair, len, .. } => self.dropped.push((time, pair, len)),
            _ => {}
        }
    }
}

/// A stage whose link takes 1 ns for a byte.
fn stage(packets: u32, delay: u64) -> Stage {
    let link = Serializer::new(Rate(8_000_000_000));
    Stage::new(Some(link), packets, Span(delay))
}

fn wire(delay: u64) -> Stage {
    Stage::new(None, u32::MAX, Span(delay))
}

#[test]
fn a_packet_leaves_its_queue_with_its_last_bit() {
    let mut chain = Chain::new(vec![stage(2, 5000)], vec![wire(50)]);
    let (mut out, mut heard) = (Out::default(), Heard::default());
    let mut send = |handle, now| {
        chain.enqueue(Time(now), packet(handle, FORTH, 1000), &mut out, &mut heard);
    };
    send(0, 0);
    send(1, 0);
    send(2, 999);
    // The first has left, though it is under way for long.
    send(3, 1000);
    // 1 and 3 are queued.
    send(4, 1500);
    drain(&mut chain, &mut out, Time(6000));
    // Of three that are under way one has arrived: again there is room for one.
    chain.enqueue(Time(6500), packet(5, FORTH, 1000), &mut out, &mut heard);
    chain.enqueue(Time(6500), packet(6, FORTH, 1000), &mut out, &mut heard);
    chain.enqueue(Time(6500), packet(7, FORTH, 1000), &mut out, &mut heard);
    assert_eq!(
        heard.dropped,
        [
            (Time(999), FORTH, 2),
            (Time(1500), FORTH, 2),
            (Time(6500), FORTH, 2)
        ]
    );
    while chain.next_event() < Time::MAX {
        chain.advance(chain.next_event(), &mut out, &mut heard);
    }
    let all = [(0, 6000), (1, 7000), (3, 8000), (5, 12_500), (6, 13_500)];
    assert_eq!(out.times(), all);
    // Latency counts from the entry: 3 entered at 1000.
    assert_eq!(heard.departed[1], (Time(8000), Span(7000)));
}

#[test]
fn what_happens_at_once_in_a_chain_happens_by_stage() {
    for back_first in [false, true] {
        // One stage each way, and two.
        for more in [0, 1] {
            let stages = |delay| {
                let mut stages = vec![wire(delay)];
                stages.extend((0..more).map(|_| wire(10)));
                stages
            };
            let mut chain = Chain::new(stages(100), stages(100));
            let mut out = Out::default();
            // What comes before them makes the chain look for the next twice.
            chain.enqueue(Time(0), packet(2, FORTH, 1000), &mut out, &mut ());
            let pairs = [[FORTH, BACK], [BACK, FORTH]][usize::from(back_first)];
            for pair in pairs {
                let handle = u32::from(pair.src);
                let packet = packet(handle, pair, 1000);
                chain.enqueue(Time(50), packet, &mut out, &mut ());
            }
            drain(&mut chain, &mut out, Time(1000));
            let end = 100 + 10 * more;
            assert_eq!(out.times(), [(2, end), (0, 50 + end), (1, 50 + end)]);
        }
    }
    // Three stages: what 2 does at 145 comes between the tie of 0 and 1 and its instant.
    let mut chain = Chain::new(vec![wire(100)], vec![wire(90), wire(10)]);
    let mut out = Out::default();
    for (handle, pair, now) in [(0, FORTH, 50), (1, BACK, 50), (2, BACK, 55)] {
        let packet = packet(handle, pair, 1000);
        chain.enqueue(Time(now), packet, &mut out, &mut ());
    }
    drain(&mut chain, &mut out, Time(1000));
    assert_eq!(out.times(), [(0, 150), (1, 150), (2, 155)]);
}

/// What happens in a chain, as it is told.
type Lines = Vec<(u64, String)>;

/// Everything that is said of a chain: to a probe, and to who takes its packets.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Lines>>);

impl Log {
    fn note(&self, time: Time, what: impl core::fmt::Debug) {
        self.0.borrow_mut().push((time.0, format!("{what:?}")));
    }
}

impl Probe for Log {
    fn on(&mut self, time: Time, event: Event) {
        self.note(time, event);
    }
}

impl Sink<u32> for Log {
    fn deliver(&mut self, departure: Departure<u32>) {
        self.note(departure.time, departure.packet.handle);
    }

    fn discard(&mut self, now: Time, handle: u32, _pair: Pair, _reason: DropReason) {
        self.note(now, ("lost", handle));
    }
}

/// A chain that moves packets from queue to queue, one event each.
struct Stepwise {
    /// Those of both directions: its rate in ns a byte, places and delay; and when those that were queued leave.
    stages: Vec<(u64, usize, u64)>,
    leaves: Vec<Vec<u64>>,
    back: usize,
    log: Lines,
    /// At the end of which stage which packet is when, and when it entered.
    due: BTreeMap<(u64, usize, usize), (u32, u64)>,
    turns: usize,
}

impl Stepwise {
    const BYTES: u32 = 100;

    fn enter(&mut self, now: u64, stage: usize, handle: u32, entered: u64) {
        let (rate, places, delay) = self.stages[stage];
        let pair = if stage < self.back { FORTH } else { BACK };
        let (number, bytes) = (stage as u16, Stepwise::BYTES);
        let queue = QueueId { at: 0, number };
        let mut until = now;
        if rate > 0 {
            let leaves = &mut self.leaves[stage];
            let waiting = leaves.iter().filter(|&&left| left > now).count();
            if waiting >= places {
                let (len, reason) = (places as u32, DropReason::Full);
                let dropped = Event::Dropped {
                    pair,
                    queue,
                    len,
                    bytes,
                    reason,
                };
                self.log.push((now, format!("{dropped:?}")));
                self.log.push((now, format!("{:?}", ("lost", handle))));
                return;
            }
            until = leaves.last().map_or(now, |&last| last.max(now)) + rate * u64::from(bytes);
            leaves.push(until);
            let joins = Event::Scheduled {
                pair,
                queue,
                bytes,
                until: Time(until),
            };
            self.log.push((now, format!("{joins:?}")));
        }
        self.turns += 1;
        self.due
            .insert((until + delay, stage, self.turns), (handle, entered));
    }

    fn run(&mut self, until: u64) {
        while let Some(entry) = self
            .due
            .first_entry()
            .filter(|entry| entry.key().0 <= until)
        {
            let (&(now, stage, _), &(handle, entered)) = (entry.key(), entry.get());
            entry.remove();
            if stage + 1 != self.back && stage + 1 != self.stages.len() {
                self.enter(now, stage + 1, handle, entered);
                continue;
            }
            let departed = Event::Departed {
                pair: if stage < self.back { FORTH } else { BACK },
                queue: QueueId {
                    at: 0,
                    number: stage as u16,
                },
                bytes: Stepwise::BYTES,
                latency: Span(now - entered),
                plane: Plane::PACKET,
            };
            self.log.push((now, format!("{departed:?}")));
            self.log.push((now, format!("{handle:?}")));
        }
    }
}

proptest! {
    #[test]
    fn a_chain_does_what_moving_packets_from_queue_to_queue_does(
        stages in prop::collection::vec((0u64..3, 0usize..4, 0u64..4), 2..7),
        split in 1usize..6,
        packets in prop::collection::vec((0u64..5, any::<bool>()), 1..200),
    ) {
        let back = split.min(stages.len() - 1);
        // Times are in units that make many fall together.
        let stages: Vec<_> = stages.into_iter().map(|(rate, places, delay)| (rate, places, 50 * delay)).collect();
        let made = |&(rate, places, delay): &(u64, usize, u64)| {
            let link = (rate > 0).then(|| Serializer::new(Rate(8_000_000_000 / rate)));
            Stage::new(link, places as u32, Span(delay))
        };
        let made = |some: &[_]| some.iter().map(made).collect();
        let mut chain = Chain::new(made(&stages[..back]), made(&stages[back..])).telling(true);
        let leaves = vec![Vec::new(); stages.len()];
        let mut expected = Stepwise { stages, leaves, back, log: Vec::new(), due: BTreeMap::new(), turns: 0 };
        let log = Log::default();
        let (mut sink, mut probe, mut now) = (log.clone(), log.clone(), 0);
        for (handle, (pause, forth)) in packets.into_iter().enumerate() {
            now += 50 * pause.saturating_sub(2);
            expected.run(now);
            while chain.next_event() <= Time(now) {
                chain.advance(chain.next_event(), &mut sink, &mut probe);
            }
            let pair = if forth { FORTH } else { BACK };
            expected.enter(now, if forth { 0 } else { back }, handle as u32, now);
            let packet = packet(handle as u32, pair, Stepwise::BYTES);
            chain.enqueue(Time(now), packet, &mut sink, &mut probe);
        }
        expected.run(u64::MAX);
        while chain.next_event() < Time::MAX {
            chain.advance(chain.next_event(), &mut sink, &mut probe);
        }
        prop_assert_eq!(&*log.0.borrow(), &expected.log);
    }
}

#[test]
fn a_chain_knows_before_when_nothing_leaves_it() {
    let mut chain = Chain::new(
        vec![wire(100), wire(20), wire(3)],
        vec![wire(200), wire(40)],
    );
    assert_eq!(chain.shortest_passage(), Span(123));
    assert_eq!(chain.next_departure(), Time::MAX);
    let mut out = Out::default();
    chain.enqueue(Time(0), packet(0, FORTH, 1000), &mut out, &mut ());
    assert_eq!(chain.next_event(), Time(123));
    assert_eq!(chain.next_departure(), Time(123));
    drain(&mut chain, &mut out, Time(123));
    chain.enqueue(Time(200), packet(1, BACK, 1000), &mut out, &mut ());
    assert_eq!(chain.next_departure(), Time(440));
    drain(&mut chain, &mut out, Time(440));
    assert_eq!(out.times(), [(0, 123), (1, 440)]);
    let chain: Chain<u32> = Chain::new(vec![wire(50), wire(50)], vec![wire(30), wire(40)]);
    assert_eq!(chain.shortest_passage(), Span(70));
}

/// Two racks; a circuit from rack 0 in every other day.
fn switch() -> Switch<u32> {
    let packet = PacketNetwork {
        rate: Rate(8_000_000_000),
        up_delay: Span(1000),
        down_delay: Span(1000),
        internal_queue: 3,
        hold_queue: 5,
    };
    let circuits = vec![CircuitNetwork {
        rate: Rate(80_000_000_000),
        delay: Span(1000),
    }];
    let mut config = Rdcn::new(Some(packet), circuits, 16);
    config.ece_in_advance = Some(Span::ZERO);
    let week = |source| Configuration {
        // To rack 1 only, or none.
        matching: Matching::new(vec![None, source]).unwrap(),
        day: Span(100_000),
        night: Span::ZERO,
        plane: Plane::CIRCUIT,
    };
    let schedule = Schedule::new(vec![week(Some(0)), week(None)]).unwrap();
    Switch::new(&config, &schedule, Time::ZERO).unwrap()
}

#[test]
fn acknowledgements_go_around_the_switch_and_are_told_of_circuits() {
    let mut hybrid = Hybrid::new(switch(), Some(Span(300)));
    let mut out = Out::default();
    drain(&mut hybrid, &mut out, Time(0));
    // Through the switch: two delays of 1 us.
    assert_eq!(hybrid.shortest_passage(), Span(300));
    hybrid.enqueue(Time(10), packet(0, BACK, 66), &mut out, &mut ());
    assert_eq!(hybrid.next_departure(), Time(310));
    hybrid.enqueue(Time(10), packet(1, BACK, 1000), &mut out, &mut ());
    drain(&mut hybrid, &mut out, Time(100_000));
    hybrid.enqueue(Time(100_000), packet(2, BACK, 66), &mut out, &mut ());
    drain(&mut hybrid, &mut out, Time(150_000));
    let ece: Vec<(u32, bool)> = out
        .delivered
        .iter()
        .map(|d| (d.packet.handle, d.ece))
        .collect();
    // While the circuit from rack 0 is up, whatever comes back to it says so.
    assert_eq!(ece, [(0, true), (1, true), (2, false)]);
    assert_eq!(out.times()[0], (0, 310));
    assert_eq!(out.delivered[0].latency, Span(300));
    assert_eq!(out.times()[2], (2, 100_300));
    // Up and down link and both delays.
    assert_eq!(out.times()[1], (1, 10 + 2 * 1000 + 2 * 1000));
    assert!(out.delivered.iter().all(|d| d.plane == Plane::PACKET));

    let mut hybrid = Hybrid::new(switch(), None);
    let mut out = Out::default();
    drain(&mut hybrid, &mut out, Time(0));
    hybrid.enqueue(Time(10), packet(0, BACK, 66), &mut out, &mut ());
    drain(&mut hybrid, &mut out, Time(50_000));
    assert_eq!(out.times(), [(0, 10 + 2 * 66 + 2 * 1000)]);
}
