// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network, what came out of it, and pieces that networks are made of.

use std::cell::RefCell;
use std::rc::Rc;

use etalon_net::{Arrival, Circuits, Class, HostId, Hosts, Network, Packet, Transmission};
use etalon_scenario::{
    CircuitSwitch, ClassOf, Count, Full, Late, Limit, Notify, Ocs, QueueId, Routing, Tdns,
};
use etalon_switch::{
    Configuration, Departure, DropReason, Event, Matching, Pair, Plane, Probe, Schedule, Sink,
};
use etalon_units::{Rate, Span, Time};

/// A byte takes a nanosecond.
pub const RATE: Rate = Rate(8_000_000_000);
pub const DELAY: Span = Span(100);

/// What came out, and what happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Out {
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

/// What hosts are told: when, of which pair, which TDN.
pub type Notifications = Vec<(u64, (u16, u16), u8)>;

#[derive(Clone, Default)]
pub struct Log(
    pub Rc<RefCell<Vec<(Time, Out)>>>,
    pub Rc<RefCell<Vec<(Time, u32)>>>,
    pub Rc<RefCell<Notifications>>,
    /// Packets that came out with ECE.
    pub Rc<RefCell<Vec<(u64, u32)>>>,
);

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
        if d.ece {
            self.3.borrow_mut().push((d.time.0, d.packet.handle));
        }
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

    fn tdn_changed(&mut self, now: Time, pair: Pair, tdn: Plane) {
        let told = (now.0, (pair.src, pair.dst), tdn.0);
        self.2.borrow_mut().push(told);
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

pub fn hosts(racks: u16) -> Hosts {
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

pub fn arrival(handle: u32, (src, dst): (u16, u16), bytes: u32, class: u8) -> Arrival<u32> {
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

pub fn limit(room: Option<u64>, full: Full) -> Limit {
    Limit {
        count: Count::Packets,
        room,
        mark_above: None,
        full,
    }
}

pub fn class(limit: Limit, routing: Routing) -> ClassOf {
    ClassOf {
        name: "class".into(),
        queue: limit,
        downlink: None,
        routing,
    }
}

/// A matching that joins these both ways.
pub fn matching(racks: u16, pairs: &[(u16, u16)]) -> Matching {
    let mut source_of = vec![None; racks.into()];
    for &(a, b) in pairs {
        source_of[usize::from(a)] = Some(b);
        source_of[usize::from(b)] = Some(a);
    }
    Matching::new(source_of).unwrap()
}

pub fn rotation(days: Vec<(Matching, u64, u64)>) -> Schedule {
    let configuration = |(matching, day, night)| Configuration {
        matching,
        day: Span(day),
        night: Span(night),
        plane: Plane::CIRCUIT,
    };
    Schedule::new(days.into_iter().map(configuration).collect()).unwrap()
}

pub fn switch(offset: u64, rotation: Schedule) -> CircuitSwitch {
    CircuitSwitch {
        rate: RATE,
        delay: DELAY,
        offset: Span(offset),
        rotation,
    }
}

pub fn ocs(uplinks: Vec<CircuitSwitch>, classes: Vec<ClassOf>) -> Ocs {
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
        hold: false,
        failures: vec![],
        reroute: Span::ZERO,
        asked: None,
        ack_bypass: None,
        ece_in_advance: None,
        notify: None,
        tdns: Tdns::One,
    }
}

/// Hosts hear so long before a change.
pub fn notify(before: u64) -> Notify {
    Notify {
        before: Span(before),
        delay: Span::ZERO,
        jitter: Span::ZERO,
        lost: 0,
        each: Span::ZERO,
    }
}

pub struct Bench {
    pub network: Circuits<u32>,
    pub log: Log,
}

impl Bench {
    pub fn new(config: &Ocs, racks: u16) -> Bench {
        etalon_scenario::NetworkKind::check(config, &hosts(racks)).unwrap();
        Bench {
            network: Circuits::new(config, hosts(racks), 1).unwrap(),
            log: Log::default(),
        }
    }

    pub fn run(&mut self, now: u64) {
        self.network
            .advance(Time(now), &mut self.log.clone(), &mut self.log);
    }

    pub fn send(&mut self, now: u64, arrival: Arrival<u32>) {
        self.run(now);
        self.network
            .enqueue(Time(now), arrival, &mut self.log.clone(), &mut self.log);
    }

    /// What became of packets, in order.
    pub fn fates(&self) -> Vec<(u64, Out)> {
        let log = self.log.0.borrow();
        let fates = log
            .iter()
            .filter(|(_, out)| matches!(out, Out::Delivered(..) | Out::Lost(..) | Out::Back(..)));
        fates.map(|(time, out)| (time.0, out.clone())).collect()
    }
}

/// Four racks, two switches that turn dark in turns: 0-1 2-3, then 0-2 1-3; 0-3 1-2, then 0-1 2-3.
pub fn four_racks() -> Vec<CircuitSwitch> {
    let four = |pairs: [(u16, u16); 2]| matching(4, &pairs);
    let first = [[(0, 1), (2, 3)], [(0, 2), (1, 3)]].map(|pairs| (four(pairs), 10_000, 1000));
    let second = [[(0, 3), (1, 2)], [(0, 1), (2, 3)]].map(|pairs| (four(pairs), 10_000, 1000));
    vec![
        switch(0, rotation(first.into())),
        switch(5500, rotation(second.into())),
    ]
}
