use alloc::vec::Vec;
use core::net::{Ipv4Addr, SocketAddrV4};

use etalon_schedule::Estimator;
use etalon_units::Span;

use super::*;

/// Rack 0 to rack 1, each of two hosts.
const PAIR: Pair = Pair { src: 0, dst: 1 };
const BACK: Pair = Pair { src: 1, dst: 0 };
/// A program's connection from host 0 to host 3.
const WAY: Way = Way {
    src: (0, 40_000),
    dst: (3, 80),
};
const SYN: Sent = Sent {
    tcp: true,
    syn: true,
    seq: 99,
    dst: 3,
    ports: (40_000, 80),
    handle: 0,
    bytes: 66,
    ect: false,
    fin: false,
    rst: false,
    ack: 0,
    payload: 0,
    socket: None,
};

/// A network in which slot n is the nth packet, and time the number of what was done.
struct World {
    accounts: Accounts,
    now: u64,
    slots: Slot,
}

impl World {
    fn new(estimator: Estimator, flows: &[Option<u64>]) -> World {
        let flow = |bytes: &Option<u64>| FlowSetup {
            src: 0,
            dst: 2,
            cc: "reno".into(),
            connect: Time(0),
            start: Time(0),
            stop: None,
            bytes: *bytes,
        };
        let flows: Vec<_> = flows.iter().map(flow).collect();
        let demand = HostDemand::new(2, estimator).expect("hosts know demand");
        World {
            accounts: Accounts::new(demand, &flows, 2),
            now: 0,
            slots: 0,
        }
    }

    fn adu(flows: &[Option<u64>]) -> World {
        let report = Span::ZERO;
        World::new(Estimator::Adu { report }, flows)
    }

    /// With a connection of a program whose SYN was seen: its first byte has number 100.
    fn connected() -> World {
        let mut world = World::adu(&[]);
        world.pass(SYN);
        world
    }

    fn now(&mut self) -> Time {
        self.now += 1;
        Time(self.now)
    }

    /// Host 0, or host 3 if the ports say so, sends a packet.
    fn send_of(&mut self, sent: Sent, flow: Option<(u32, bool)>) -> Slot {
        let (host, pair) = match sent.ports.0 {
            80 => (3, BACK),
            _ => (0, PAIR),
        };
        let (now, slot) = (self.now(), self.slots);
        self.slots += 1;
        self.accounts.sent(now, slot, (host, pair), &sent, flow);
        slot
    }

    fn dequeue(&mut self, slot: Slot) {
        let now = self.now();
        self.accounts.dequeued(now, slot);
    }

    fn deliver(&mut self, slot: Slot) {
        let now = self.now();
        self.accounts.delivered(now, slot);
    }

    /// A packet of the connection passes the network.
    fn pass(&mut self, sent: Sent) {
        let slot = self.send_of(sent, None);
        self.dequeue(slot);
        self.deliver(slot);
    }

    fn report(&mut self, writer: u64, total: u64, kind: Kind) {
        let at = |last, port| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), port);
        let report = Report {
            kind,
            src: at(1, 40_000),
            dst: at(2, 80),
            writer,
            total,
        };
        let now = self.now();
        self.accounts.reported(now, WAY, &report);
    }

    fn written(&mut self, writer: u64, total: u64) {
        self.report(writer, total, Kind::Written);
    }

    fn demand(&mut self) -> u64 {
        let now = self.now();
        let demand = self.accounts.demand().demand(now);
        demand.expect("a demand").bytes(PAIR)
    }
}

/// A segment of the connection's client.
fn data(seq: u32, payload: u16) -> Sent {
    Sent {
        seq,
        payload,
        syn: false,
        ..SYN
    }
}

fn fin(seq: u32, payload: u16) -> Sent {
    Sent {
        fin: true,
        ..data(seq, payload)
    }
}

#[test]
fn a_flow_hands_over_all_its_bytes_when_it_is_opened() {
    let mut world = World::adu(&[Some(1000), None]);
    assert_eq!(world.demand(), 0);
    world.accounts.flow_started(Time(1), 0);
    assert_eq!(world.demand(), 1000);
    let flow = Some((0, true));
    let syn = world.send_of(SYN, flow);
    world.dequeue(syn);
    let slot = world.send_of(data(100, 600), flow);
    assert_eq!(world.demand(), 1000); // in the NIC, or in the VOQ
    world.dequeue(slot);
    assert_eq!(world.demand(), 400);
    // Lost behind the VOQ, and sent again.
    world.accounts.landed(Time(world.now), slot);
    let again = world.send_of(data(100, 600), flow);
    world.dequeue(again);
    assert_eq!(world.demand(), 400);
    // One without end keeps 4 MiB outstanding.
    let now = world.now();
    world.accounts.flow_started(now, 1);
    assert_eq!(world.demand(), 400 + (4 << 20));
    let flow = Some((1, true));
    world.send_of(SYN, flow);
    let slot = world.send_of(data(100, 8948), flow);
    world.dequeue(slot);
    assert_eq!(world.demand(), 400 + (4 << 20));
    let now = world.now();
    world.accounts.flow_killed(now, 1);
    assert_eq!(world.demand(), 400);
    // Either side may reset a flow.
    let reset = Sent {
        rst: true,
        ..data(0, 0)
    };
    world.send_of(reset, Some((0, false)));
    assert_eq!(world.demand(), 0);
}

#[test]
fn reports_are_running_totals() {
    let mut world = World::connected();
    world.written(7, 5000);
    assert_eq!(world.demand(), 5000);
    world.pass(data(100, 2000));
    assert_eq!(world.demand(), 3000);
    // The stack took 500 less.
    world.written(7, 4500);
    assert_eq!(world.demand(), 2500);
    // The report of 6000 is lost: the next makes it good.
    world.written(7, 9000);
    assert_eq!(world.demand(), 7000);
    // A child writes into the same connection.
    world.written(8, 300);
    assert_eq!(world.demand(), 7300);
    // Who has closed writes no more; it does not speak for the other.
    world.report(7, 8000, Kind::Closed);
    assert_eq!(world.demand(), 6300);
    world.written(7, 20_000);
    assert_eq!(world.demand(), 6300);
    world.written(8, 400);
    assert_eq!(world.demand(), 6400);
    // A thread's word of before was overtaken.
    world.written(7, 7900);
    assert_eq!(world.demand(), 6400);
    // What the closing cut off is taken back.
    world.report(7, 7800, Kind::Closed);
    assert_eq!(world.demand(), 6200);
}

#[test]
fn what_cannot_be_is_not_believed() {
    let mut world = World::adu(&[]);
    world.written(7, 5000); // of no connection
    assert_eq!(world.demand(), 0);
    world.pass(SYN);
    world.written(7, u64::MAX);
    world.written(7, MOST_BYTES + 1);
    assert_eq!(world.demand(), 0);
    world.written(7, 10);
    assert_eq!(world.demand(), 10);
}

#[test]
fn the_end_of_a_stream_withdraws_what_it_will_never_send() {
    let mut world = World::connected();
    world.written(7, 5000); // and then its program dies
    let lost = world.send_of(data(100, 1000), None);
    world.accounts.landed(Time(world.now), lost);
    world.pass(fin(1100, 500));
    // 1000 bytes are to be sent again.
    assert_eq!(world.demand(), 1000);
    assert_eq!(world.accounts.others.len(), 1);
    world.pass(data(100, 1000));
    assert_eq!(world.demand(), 0);
    assert_eq!(world.accounts.others.len(), 0);
    // Late words, and a FIN that is sent again.
    world.written(7, 6000);
    world.pass(fin(1600, 0));
    assert_eq!(world.demand(), 0);
}

#[test]
fn a_fin_that_goes_around_the_switch_counts() {
    let mut world = World::connected();
    world.written(7, 500);
    world.pass(data(100, 500));
    let slot = world.send_of(fin(600, 0), None);
    world.deliver(slot);
    assert_eq!(world.accounts.others.len(), 0);
}

#[test]
fn a_reset_of_either_side_ends_both_streams() {
    for resetting in [40_000, 80] {
        let mut world = World::connected();
        world.pass(Sent {
            ports: (80, 40_000),
            dst: 0,
            ..SYN
        });
        world.written(7, 5000);
        assert_eq!((world.demand(), world.accounts.others.len()), (5000, 2));
        let (ports, dst) = match resetting {
            80 => ((80, 40_000), 0),
            _ => ((40_000, 80), 3),
        };
        world.pass(Sent {
            rst: true,
            ports,
            dst,
            ..data(100, 0)
        });
        assert_eq!((world.demand(), world.accounts.others.len()), (0, 0));
    }
}

#[test]
fn ports_are_used_again() {
    let mut world = World::connected();
    world.pass(SYN); // once more: the same connection
    world.written(7, 5000);
    let old = world.send_of(data(100, 1000), None);
    let new = Sent {
        seq: 7_000_000,
        ..SYN
    };
    world.pass(new);
    assert_eq!((world.demand(), world.accounts.others.len()), (0, 1));
    world.written(9, 300);
    // A packet of the old one still comes out.
    world.dequeue(old);
    world.deliver(old);
    assert_eq!(world.demand(), 300);
    world.pass(data(7_000_001, 100));
    assert_eq!(world.demand(), 200);
    // The old one's number is free now.
    world.pass(Sent {
        ports: (40_001, 80),
        ..SYN
    });
    assert_eq!(world.accounts.streams.len(), 2);
}

#[test]
fn numbers_of_bytes_wrap() {
    let mut world = World::adu(&[]);
    world.pass(Sent {
        seq: u32::MAX - 500,
        ..SYN
    });
    world.written(7, 2000);
    world.pass(data(u32::MAX - 499, 1000));
    assert_eq!(world.demand(), 1000);
    world.pass(fin(500, 1000));
    assert_eq!((world.demand(), world.accounts.others.len()), (0, 0));
}

#[test]
fn traffic_within_a_rack_is_nobodys_demand() {
    let mut world = World::adu(&[]);
    let inside = Pair { src: 0, dst: 0 };
    world.accounts.sent(Time(1), 0, (0, inside), &SYN, None);
    assert_eq!(world.accounts.others.len(), 0);
    world.accounts.delivered(Time(2), 0);
}

#[test]
fn an_oracle_knows_what_is_still_in_the_network() {
    let mut world = World::new(Estimator::Oracle, &[Some(1000)]);
    world.accounts.flow_started(Time(1), 0);
    let flow = Some((0, true));
    let syn = world.send_of(SYN, flow);
    world.deliver(syn);
    let slot = world.send_of(data(100, 600), flow);
    world.dequeue(slot);
    assert_eq!(world.demand(), 1000);
    world.deliver(slot);
    assert_eq!(world.demand(), 400);
}

#[test]
fn reports_take_the_control_networks_time() {
    let report = Span(100);
    let mut world = World::new(Estimator::Adu { report }, &[]);
    world.pass(SYN);
    world.written(7, 5000);
    assert_eq!(world.demand(), 0);
    world.now += 100;
    assert_eq!(world.demand(), 5000);
}
