// SPDX-License-Identifier: MIT OR Apache-2.0
use core::net::{Ipv4Addr, SocketAddrV4};

use etalon_scenario::Estimator;
use etalon_units::Span;

use super::*;

/// Rack 0 to rack 1, each of two hosts.
const PAIR: Pair = Pair { src: 0, dst: 1 };
const BACK: Pair = Pair { src: 1, dst: 0 };
/// A program's connection from host 0 to host 3.
const CONNECTION: FourTuple = FourTuple {
    src: (0, 40_000),
    dst: (3, 80),
};
const SYN: Segment = Segment {
    connection: CONNECTION,
    pair: PAIR,
    syn: true,
    seq: 99,
    fin: false,
    rst: false,
    payload: 0,
};

/// Accounts, and as time the number of what was done.
struct World {
    accounts: Accounts,
    now: u64,
}

impl World {
    fn new(estimator: Estimator, flows: u32) -> World {
        let demand = HostDemand::new(2, estimator).expect("hosts know demand");
        let mut accounts = Accounts::new(demand);
        (0..flows).for_each(|_| accounts.open_flow(PAIR));
        World { accounts, now: 0 }
    }

    fn adu(flows: u32) -> World {
        let report = Span::ZERO;
        World::new(Estimator::Adu { report }, flows)
    }

    /// With a connection of a program whose SYN was seen: its first byte has number 100.
    fn connected() -> World {
        let mut world = World::adu(0);
        world.pass(SYN);
        world
    }

    fn now(&mut self) -> Time {
        self.now += 1;
        Time(self.now)
    }

    /// A host sends a segment, of a connection or of a flow's stream.
    fn send_of(&mut self, segment: Segment, stream: Option<u32>) -> Option<Part> {
        let now = self.now();
        match stream {
            Some(stream) => Some(self.accounts.sent_of_flow(now, stream, &segment)),
            None => self.accounts.sent_of_other(now, &segment),
        }
    }

    fn dequeue(&mut self, part: Option<Part>) {
        let now = self.now();
        if let Some(part) = part {
            self.accounts.dequeued(now, part);
        }
    }

    fn deliver(&mut self, part: Option<Part>) {
        let now = self.now();
        if let Some(part) = part {
            self.accounts.delivered(now, part);
        }
        self.lose(part);
    }

    fn lose(&mut self, part: Option<Part>) {
        if let Some(part) = part {
            self.accounts.left_network(Time(self.now), part);
        }
    }

    /// A packet of the connection passes the network.
    fn pass(&mut self, segment: Segment) {
        let part = self.send_of(segment, None);
        self.dequeue(part);
        self.deliver(part);
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
        self.accounts.reported(now, CONNECTION, &report);
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
fn data(seq: u32, payload: u16) -> Segment {
    Segment {
        seq,
        payload,
        syn: false,
        ..SYN
    }
}

fn fin(seq: u32, payload: u16) -> Segment {
    Segment {
        fin: true,
        ..data(seq, payload)
    }
}

#[test]
fn a_flow_demands_what_its_socket_took() {
    let mut world = World::adu(2);
    assert_eq!(world.demand(), 0);
    world.accounts.wanted(Time(1), 0, 2000);
    assert_eq!(world.demand(), 0, "as hosts know it");
    world.accounts.accepted(Time(1), 0, 1000);
    assert_eq!(world.demand(), 1000);
    let flow = Some(0);
    let syn = world.send_of(SYN, flow);
    world.dequeue(syn);
    let slot = world.send_of(data(100, 600), flow);
    assert_eq!(world.demand(), 1000); // in the NIC, or in the VOQ
    world.dequeue(slot);
    assert_eq!(world.demand(), 400);
    // Lost behind the VOQ, and sent again.
    world.lose(slot);
    let again = world.send_of(data(100, 600), flow);
    world.dequeue(again);
    assert_eq!(world.demand(), 400);
    let now = world.now();
    world.accounts.accepted(now, 2, 5000);
    assert_eq!(world.demand(), 5400);
    let now = world.now();
    world.accounts.killed(now, 2);
    assert_eq!(world.demand(), 400);
    // Either side may reset a flow.
    let reset = Segment {
        rst: true,
        ..data(0, 0)
    };
    world.send_of(reset, Some(1));
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
    let mut world = World::adu(0);
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
    world.lose(lost);
    world.pass(fin(1100, 500));
    // 1000 bytes are to be sent again.
    assert_eq!(world.demand(), 1000);
    assert_eq!(world.accounts.numbers.len(), 1);
    world.pass(data(100, 1000));
    assert_eq!(world.demand(), 0);
    assert_eq!(world.accounts.numbers.len(), 0);
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
    assert_eq!(world.accounts.numbers.len(), 0);
}

#[test]
fn a_reset_of_either_side_ends_both_streams() {
    for resetting in [40_000, 80] {
        let mut world = World::connected();
        world.pass(Segment {
            connection: CONNECTION.opposite(),
            pair: BACK,
            ..SYN
        });
        world.written(7, 5000);
        assert_eq!((world.demand(), world.accounts.numbers.len()), (5000, 2));
        let (connection, pair) = match resetting {
            80 => (CONNECTION.opposite(), BACK),
            _ => (CONNECTION, PAIR),
        };
        world.pass(Segment {
            rst: true,
            connection,
            pair,
            ..data(100, 0)
        });
        assert_eq!((world.demand(), world.accounts.numbers.len()), (0, 0));
    }
}

#[test]
fn ports_are_used_again() {
    let mut world = World::connected();
    world.pass(SYN); // once more: the same connection
    world.written(7, 5000);
    let old = world.send_of(data(100, 1000), None);
    let new = Segment {
        seq: 7_000_000,
        ..SYN
    };
    world.pass(new);
    assert_eq!((world.demand(), world.accounts.numbers.len()), (0, 1));
    world.written(9, 300);
    // A packet of the old one still comes out.
    world.dequeue(old);
    world.deliver(old);
    assert_eq!(world.demand(), 300);
    world.pass(data(7_000_001, 100));
    assert_eq!(world.demand(), 200);
    // The old one's number is free now.
    world.pass(Segment {
        connection: FourTuple {
            src: (0, 40_001),
            ..CONNECTION
        },
        ..SYN
    });
    assert_eq!(world.accounts.streams.len(), 2);
}

#[test]
fn numbers_of_bytes_wrap() {
    let mut world = World::adu(0);
    world.pass(Segment {
        seq: u32::MAX - 500,
        ..SYN
    });
    world.written(7, 2000);
    world.pass(data(u32::MAX - 499, 1000));
    assert_eq!(world.demand(), 1000);
    world.pass(fin(500, 1000));
    assert_eq!((world.demand(), world.accounts.numbers.len()), (0, 0));
}

#[test]
fn traffic_within_a_rack_is_nobodys_demand() {
    let mut world = World::adu(0);
    let inside = Pair { src: 0, dst: 0 };
    let syn = Segment {
        pair: inside,
        ..SYN
    };
    assert_eq!(world.send_of(syn, None), None);
    assert_eq!(world.accounts.numbers.len(), 0);
}

#[test]
fn an_oracle_knows_what_is_still_in_the_network() {
    let mut world = World::new(Estimator::Oracle, 1);
    world.accounts.wanted(Time(1), 0, 1000);
    world.accounts.accepted(Time(1), 0, 500);
    assert_eq!(world.demand(), 1000);
    let flow = Some(0);
    let syn = world.send_of(SYN, flow);
    world.deliver(syn);
    let slot = world.send_of(data(100, 600), flow);
    world.dequeue(slot);
    assert_eq!(world.demand(), 1000);
    world.deliver(slot);
    assert_eq!(world.demand(), 400);
}

#[test]
fn an_oracle_takes_a_flow_without_end_for_four_mebibytes() {
    let mut world = World::new(Estimator::Oracle, 1);
    world.accounts.wanted(Time(1), 0, u64::MAX);
    assert_eq!(world.demand(), 4 << 20);
    let flow = Some(0);
    world.send_of(SYN, flow);
    let slot = world.send_of(data(100, 8948), flow);
    world.deliver(slot);
    assert_eq!(world.demand(), 4 << 20);
    let now = world.now();
    world.accounts.killed(now, 0);
    assert_eq!(world.demand(), 0);
}

#[test]
fn reports_take_the_control_networks_time() {
    let report = Span(100);
    let mut world = World::new(Estimator::Adu { report }, 0);
    world.pass(SYN);
    world.written(7, 5000);
    assert_eq!(world.demand(), 0);
    world.now += 100;
    assert_eq!(world.demand(), 5000);
}
