// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch whose every output is recorded.
#![allow(dead_code)] // each test file uses its part

use std::cell::RefCell;
use std::rc::Rc;

use etalon_switch::*;
use etalon_units::{Rate, Span, Time};

/// One output of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    Deliver {
        handle: u32,
        pair: Pair,
        latency: u64,
        plane: Plane,
        ce: bool,
        ece: bool,
    },
    Discard(u32, Pair, DropReason),
    Notified(Pair, Plane),
    Dequeued(u32),
    Event(Event),
}

/// All outputs with their time (ns), in order. Sink and probe share one.
#[derive(Clone, Default)]
pub struct Log(pub Rc<RefCell<Vec<(u64, Out)>>>);

impl Log {
    fn add(&self, now: Time, out: Out) {
        self.0.borrow_mut().push((now.as_nanos(), out));
    }
}

impl Sink<u32> for Log {
    fn deliver(&mut self, d: Departure<u32>) {
        self.add(
            d.time,
            Out::Deliver {
                handle: d.packet.handle,
                pair: d.packet.pair(),
                latency: d.latency.as_nanos(),
                plane: d.plane,
                ce: d.ce,
                ece: d.ece,
            },
        );
    }

    fn discard(&mut self, now: Time, handle: u32, pair: Pair, reason: DropReason) {
        self.add(now, Out::Discard(handle, pair, reason));
    }

    fn dequeued(&mut self, now: Time, handle: u32, _: Transmission) {
        self.add(now, Out::Dequeued(handle));
    }

    fn tdn_changed(&mut self, now: Time, pair: Pair, tdn: Plane) {
        self.add(now, Out::Notified(pair, tdn));
    }
}

impl Probe for Log {
    fn on(&mut self, time: Time, event: Event) {
        self.add(time, Out::Event(event));
    }
}

/// A packet between two hosts of these racks.
pub fn packet<H>(handle: H, pair: Pair, bytes: u32, ect: bool) -> Arrival<H> {
    Arrival {
        packet: Packet {
            handle,
            src: HostId::new(pair.src, 0),
            dst: HostId::new(pair.dst, 0),
            bytes,
        },
        ect,
        pure_ack: false,
        class: Class::default(),
        label: 0,
    }
}

/// A switch and what came out of it.
pub struct Bench {
    pub switch: Switch<u32>,
    pub log: Log,
}

impl Bench {
    pub fn new(config: Rdcn, schedule: Schedule) -> Bench {
        Bench {
            switch: Switch::new(&config, &schedule, Time::ZERO).unwrap(),
            log: Log::default(),
        }
    }

    /// Does everything due up to `now` (ns).
    pub fn run(&mut self, now: u64) {
        self.switch
            .advance(Time(now), &mut self.log.clone(), &mut self.log);
    }

    /// A packet arrives at `now` (ns), after everything due then.
    pub fn send(&mut self, now: u64, handle: u32, pair: Pair, bytes: u32, ect: bool) {
        self.run(now);
        let packet = packet(handle, pair, bytes, ect);
        self.switch
            .enqueue(Time(now), packet, &mut self.log.clone(), &mut self.log);
    }

    /// The outputs that `pick` maps to something, with their times.
    pub fn pick<T>(&self, pick: impl Fn(Out) -> Option<T>) -> Vec<(u64, T)> {
        let log = self.log.0.borrow();
        log.iter()
            .filter_map(|&(t, out)| pick(out).map(|x| (t, x)))
            .collect()
    }

    /// (time, (handle, plane)) of each delivery.
    pub fn deliveries(&self) -> Vec<(u64, (u32, Plane))> {
        self.pick(|out| match out {
            Out::Deliver { handle, plane, .. } => Some((handle, plane)),
            _ => None,
        })
    }

    pub fn discards(&self) -> Vec<(u64, (u32, DropReason))> {
        self.pick(|out| match out {
            Out::Discard(handle, _, reason) => Some((handle, reason)),
            _ => None,
        })
    }

    /// The capacities that the VOQ of `pair` took.
    pub fn sizes(&self, pair: Pair) -> Vec<(u64, u32)> {
        self.pick(|out| match out {
            Out::Event(Event::Resized {
                pair: p, capacity, ..
            }) if p == pair => Some(capacity),
            _ => None,
        })
    }

    /// The TDNs that hosts were told for `pair`.
    pub fn told(&self, pair: Pair) -> Vec<(u64, Plane)> {
        self.pick(|out| match out {
            Out::Notified(p, tdn) if p == pair => Some(tdn),
            _ => None,
        })
    }

    /// When the circuit of `pair` came up and went down.
    pub fn circuits(&self, pair: Pair) -> Vec<(u64, bool)> {
        self.pick(|out| match out {
            Out::Event(Event::Circuit { pair: p, up, .. }) if p == pair => Some(up),
            _ => None,
        })
    }
}

pub fn pair(src: u16, dst: u16) -> Pair {
    Pair { src, dst }
}

/// The VOQ of a pair: source, destination and capacity.
pub fn own((src, dst, packets): (u16, u16, u32)) -> PairVoq {
    let pair = pair(src, dst);
    PairVoq { pair, packets }
}

/// NSDI'20's links; VOQs of 16 packets; nothing else.
pub fn config() -> Rdcn {
    let packet = PacketNetwork {
        rate: Rate::from_gbps(10),
        up_delay: Span::from_micros(5),
        down_delay: Span::from_micros(5),
        internal_queue: 3,
        hold_queue: 5,
    };
    let circuits = vec![CircuitNetwork {
        rate: Rate::from_gbps(80),
        delay: Span::from_micros(30),
    }];
    Rdcn::new(Some(packet), circuits, 16)
}

/// The same, with circuits of 40 Gb/s and 10 us, too.
pub fn two_kinds() -> Rdcn {
    let mut config = config();
    config.circuits.push(CircuitNetwork {
        rate: Rate::from_gbps(40),
        delay: Span::from_micros(10),
    });
    config
}

/// The same as [`config`], with hosts that are told of changes so many microseconds before.
pub fn config_with_notify(before: u64) -> Rdcn {
    let notify = Notify {
        before: Span::from_micros(before),
        delay: Span::ZERO,
        jitter: Span::ZERO,
        lost: 0,
        each: Span::ZERO,
    };
    Rdcn {
        notify: Some(notify),
        ..config()
    }
}

/// A configuration of `racks` racks with these circuits, in microseconds.
pub fn configuration(racks: u16, circuits: &[(u16, u16)], day: u64, night: u64) -> Configuration {
    let mut source_of = vec![None; usize::from(racks)];
    for &(src, dst) in circuits {
        source_of[usize::from(dst)] = Some(src);
    }
    Configuration {
        matching: Matching::new(source_of).unwrap(),
        day: Span::from_micros(day),
        night: Span::from_micros(night),
        plane: Plane::CIRCUIT,
    }
}

/// A week of days of 180 us and nights of 20 us for three racks.
pub fn week(days: &[&[(u16, u16)]]) -> Schedule {
    Schedule::new(
        days.iter()
            .map(|circuits| configuration(3, circuits, 180, 20))
            .collect(),
    )
    .unwrap()
}
