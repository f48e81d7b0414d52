// SPDX-License-Identifier: MIT OR Apache-2.0
//! The net around a dumbbell, with times that can be computed by hand.

use etalon_net::{
    Advanced, Arrival, Chain, Delivery, Edge, Environment, HostId, Hosts, Milestone, Net, Packet,
    Part, Stage,
};
use etalon_switch::{Class, DropReason, Plane};
use etalon_units::{Rate, Span, Time};

/// A byte takes a nanosecond.
const RATE: Rate = Rate(8_000_000_000);

/// What hosts hear, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Free(u64, u32, u32),
    Entered(u64, u32),
    Delivered(u64, u32),
    Lost(u64, u32),
    Milestone(u64, Milestone),
}

use Heard::{Delivered, Entered, Free, Lost};

/// Hosts that only listen: packets are numbers of `packets`.
#[derive(Default)]
struct Ears {
    packets: Vec<Arrival<u32>>,
    heard: Vec<Heard>,
    now: u64,
}

impl Environment<u32> for Ears {
    fn enter(&mut self, now: Time, handle: u32) -> Arrival<u32> {
        self.heard.push(Entered(now.0, handle));
        self.packets[handle as usize]
    }

    fn deliver(&mut self, delivery: Delivery<u32>, _edge: &mut Edge<u32>) {
        self.heard.push(Delivered(delivery.time.0, delivery.handle));
    }

    fn discard(&mut self, now: Time, handle: u32, _: DropReason, _edge: &mut Edge<u32>) {
        self.heard.push(Lost(now.0, handle));
    }

    fn part(&mut self, _handle: u32) -> Option<Part> {
        None
    }

    fn notified(&mut self, _: Time, _: u32, _: u16, _: Plane, _: &mut Edge<u32>) {}

    fn nic_free(&mut self, host: u32, handle: u32) {
        self.heard.push(Free(self.now, host, handle));
    }
}

struct World {
    net: Net<u32, Chain<u32>>,
    ears: Ears,
}

impl World {
    /// Two racks of three hosts, links to the other rack of 100 ns without a queue, and hosts that are 10 ns away from their
    /// ToR switch.
    fn new(downlink_queue: Option<u32>) -> World {
        let hosts = Hosts {
            racks: 2,
            per_rack: 3,
            mtu: 9000,
            rate: RATE,
            delay: Span(10),
            jitter: Span::ZERO,
            downlink_queue,
        };
        let wire = || vec![Stage::new(None, u32::MAX, Span(100))];
        let network = Chain::new(wire(), wire());
        let milestones = (Time(1000), Time(100_000));
        World {
            net: Net::new(hosts, network, None, None, 1, milestones).unwrap(),
            ears: Ears::default(),
        }
    }

    /// Host `src` sends to host `dst`, both of (rack, number).
    fn send(&mut self, now: u64, src: (u16, u16), dst: (u16, u16), bytes: u32) {
        let host = |(rack, number)| HostId::new(rack, number);
        let handle = self.ears.packets.len() as u32;
        self.ears.packets.push(Arrival {
            packet: Packet {
                handle,
                src: host(src),
                dst: host(dst),
                bytes,
            },
            ect: false,
            pure_ack: false,
            class: Class::default(),
            label: 0,
        });
        let index = self.net.edge().hosts().index(host(src));
        let edge = self.net.edge_mut();
        let done = edge.send(Time(now), index, bytes, handle);
        edge.tell_when_free(index, done, handle);
    }

    fn run(&mut self, until: u64) -> &[Heard] {
        loop {
            self.ears.now = self.net.next_event().0;
            match self.net.advance(Time(until), &mut self.ears, &mut ()) {
                Advanced::Not => return &self.ears.heard,
                Advanced::Milestone(now, which) => {
                    self.ears.heard.push(Heard::Milestone(now.0, which));
                }
                _ => {}
            }
        }
    }

    fn delivered(&mut self) -> Vec<(u64, u32)> {
        let heard = self.run(50_000).iter();
        heard
            .filter_map(|heard| match heard {
                Delivered(now, handle) => Some((*now, *handle)),
                _ => None,
            })
            .collect()
    }
}

#[test]
fn what_happens_at_one_instant_happens_in_order() {
    let mut world = World::new(None);
    // At 1000: the warm-up is over, the NIC of host 0 is done with a packet, another packet leaves the chain, and packets of
    // hosts 2 and 1 reach their ToR switch.
    world.send(0, (0, 0), (1, 0), 890); // 0: at its ToR switch at 900, and out at 1000
    world.send(0, (0, 2), (1, 0), 990); // 1
    world.send(0, (0, 1), (1, 0), 990); // 2
    world.send(890, (0, 0), (1, 0), 110); // 3
    let heard = world.run(1000);
    let at_once: Vec<_> = heard
        .iter()
        .skip_while(|h| **h != Entered(900, 0))
        .skip(1)
        .collect();
    let expected = [
        Free(990, 1, 2),
        Free(990, 2, 1),
        Heard::Milestone(1000, Milestone::Begin),
        Free(1000, 0, 3),
        Delivered(1000, 0),
        Entered(1000, 2),
        Entered(1000, 1),
    ];
    assert_eq!(at_once, expected.iter().collect::<Vec<_>>());
}

#[test]
fn hosts_of_a_rack_reach_each_other_over_their_tor_switch() {
    let mut world = World::new(None);
    world.send(0, (0, 0), (0, 2), 500);
    world.send(0, (0, 1), (0, 2), 500);
    assert_eq!(world.delivered(), [(510, 0), (510, 1)]);
    assert_eq!(world.net.next_event(), Time(100_000)); // the end is left
}

#[test]
fn a_downlink_serialises_what_many_send_to_one_host() {
    let mut world = World::new(Some(100));
    world.send(0, (0, 0), (1, 0), 500); // over the chain: at 610
    world.send(0, (1, 1), (1, 0), 500); // within the rack: at 510
    world.send(0, (1, 2), (1, 0), 500);
    world.send(0, (0, 1), (1, 1), 500); // another host's
    assert_eq!(
        world.delivered(),
        [(1010, 1), (1110, 3), (1510, 2), (2010, 0)]
    );
}

#[test]
fn a_downlink_that_is_full_drops() {
    let mut world = World::new(Some(2));
    for src in [(0, 0), (0, 1), (0, 2), (1, 1)] {
        world.send(0, src, (1, 0), 500);
    }
    // Packet 3 comes at 510 and passes until 1010; two of the others find one place at 610, and none.
    let heard = world.run(50_000);
    let lost: Vec<_> = heard.iter().filter(|h| matches!(h, Lost(..))).collect();
    assert_eq!(lost, [&Lost(610, 1), &Lost(610, 2)]);
    assert_eq!(world.delivered(), [(1010, 3), (1510, 0)]);
}

#[test]
fn a_place_in_a_downlink_that_becomes_free_can_be_taken_at_once() {
    let mut world = World::new(Some(1));
    world.send(0, (1, 1), (1, 0), 500); // passes from 510 to 1010
    world.send(0, (0, 0), (1, 0), 900); // comes at 1010
    assert_eq!(world.delivered(), [(1010, 0), (1910, 1)]);
}

#[test]
fn an_experiment_may_end_early() {
    let mut world = World::new(None);
    world.run(300);
    world.net.edge_mut().end(Time(400));
    let end = world.run(50_000);
    let expected = [
        Heard::Milestone(400, Milestone::Begin),
        Heard::Milestone(400, Milestone::End),
    ];
    assert_eq!(end, expected);
    assert!(world.net.edge().is_over());
    assert_eq!(world.net.next_event(), Time::MAX);
}
