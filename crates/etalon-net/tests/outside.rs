// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a network of circuits tells its engine through the net: slices, telemetry, headers, what comes back.

use etalon_net::{
    Advanced, Arrival, Circuits, Class, Delivery, Edge, Environment, HostId, Hosts, Net, Packet,
    Part, Transmission,
};
use etalon_scenario::{
    CircuitSwitch, ClassOf, Configuration, Count, Full, Late, Limit, Matching, Ocs, Paths, Routing,
    Schedule, Tdns, Trim,
};
use etalon_switch::{DropReason, Plane, QueueId};
use etalon_units::{Rate, Span, Time};

/// A byte takes a nanosecond.
const RATE: Rate = Rate(8_000_000_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Slice(u64, u64),
    Entered(u64, u32),
    Stamped(u64, u32, Transmission),
    Delivered(u64, u32, bool),
    Back(u64, u32, DropReason),
}

/// Hosts of rack 0 that send to the hosts of the same numbers in rack 1.
#[derive(Default)]
struct Ears(Vec<Heard>);

impl Environment<u32> for Ears {
    fn enter(&mut self, now: Time, handle: u32) -> Arrival<u32> {
        self.0.push(Heard::Entered(now.0, handle));
        Arrival {
            packet: Packet {
                handle,
                src: HostId::new(0, handle as u16),
                dst: HostId::new(1, handle as u16),
                bytes: 500,
            },
            ect: false,
            pure_ack: false,
            class: Class::default(),
            label: 0,
        }
    }

    fn deliver(&mut self, delivery: Delivery<u32>, _edge: &mut Edge<u32>) {
        let (time, handle) = (delivery.time.0, delivery.handle);
        self.0
            .push(Heard::Delivered(time, handle, delivery.trimmed));
    }

    fn discard(&mut self, _: Time, _: u32, _: DropReason, _: &mut Edge<u32>) {
        unreachable!("nothing is lost");
    }

    fn given_back(&mut self, now: Time, handle: u32, why: DropReason, _edge: &mut Edge<u32>) {
        self.0.push(Heard::Back(now.0, handle, why));
    }

    const STAMPS: bool = true;

    fn stamped(&mut self, now: Time, handle: u32, from: Transmission) {
        self.0.push(Heard::Stamped(now.0, handle, from));
    }

    fn slice(&mut self, now: Time, slice: u64, _edge: &mut Edge<u32>) {
        self.0.push(Heard::Slice(now.0, slice));
    }

    fn part(&mut self, _handle: u32) -> Option<Part> {
        None
    }

    fn notified(&mut self, _: Time, _: u32, _: u16, _: Plane, _: &mut Edge<u32>) {}

    fn nic_free(&mut self, _host: u32, _handle: u32) {}
}

/// Two racks of three hosts, one circuit switch that changes its matching, in which each meets the other again, every 510 ns.
fn ocs() -> Ocs {
    let day = || Configuration {
        matching: Matching::new(vec![Some(1), Some(0)]).unwrap(),
        day: Span(510),
        night: Span::ZERO,
        plane: Plane::CIRCUIT,
    };
    let trim = Trim {
        header_bytes: 64,
        room_bytes: 64,
        headers_per_packet: 0,
        coin: false,
        returns: true,
    };
    let queue = Limit {
        count: Count::Packets,
        room: Some(1),
        mark_above: None,
        full: Full::Trim(trim),
    };
    Ocs {
        access: None,
        host_queues: false,
        relays: 0,
        uplinks: vec![CircuitSwitch {
            rate: RATE,
            delay: Span(100),
            offset: Span::ZERO,
            rotation: Schedule::new(vec![day(), day()]).unwrap(),
        }],
        packet: None,
        classes: vec![ClassOf {
            name: "all".into(),
            queue,
            downlink: None,
            routing: Routing::Ksp(Paths {
                paths: 1,
                equal: true,
                spray: false,
            }),
        }],
        cutoff: None,
        guard: Span::ZERO,
        skew: Span::ZERO,
        late: Late::Completes,
        most_hops: 4,
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

#[test]
fn an_engine_hears_of_slices_telemetry_headers_and_what_comes_back() {
    let hosts = Hosts {
        racks: 2,
        per_rack: 3,
        mtu: 9000,
        rate: RATE,
        delay: Span(10),
        jitter: Span::ZERO,
        downlink_queue: None,
    };
    let network = Circuits::new(&ocs(), hosts, 1).unwrap();
    let milestones = (Time(50_000), Time(100_000));
    let mut net = Net::new(hosts, network, None, None, 1, milestones).unwrap();
    let mut ears = Ears::default();
    for host in 0..3 {
        net.edge_mut().send(Time(0), host, 500, host);
    }
    while net.advance(Time(1500), &mut ears, &mut ()) != Advanced::Not {}
    let stamp = |queue, sent| Transmission {
        port: QueueId { at: 0, number: 3 }, // behind those of three hosts
        queue,
        sent,
        rate: RATE,
    };
    let expected = [
        Heard::Slice(0, 0),
        // At one instant the slice begins before packets reach their ToR switch.
        Heard::Slice(510, 1),
        Heard::Entered(510, 0),
        Heard::Stamped(510, 0, stamp(0, 0)),
        Heard::Entered(510, 1), // only its header fits
        Heard::Entered(510, 2), // and not even that
        Heard::Back(510, 2, DropReason::Full),
        Heard::Stamped(1010, 1, stamp(0, 500)),
        Heard::Slice(1020, 2),
        Heard::Delivered(1110, 0, false),
        Heard::Delivered(1174, 1, true),
    ];
    assert_eq!(ears.0, expected);
}
