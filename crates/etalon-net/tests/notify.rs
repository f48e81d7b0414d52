// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts hear which network leads to a rack, in the order of all that happens.

use etalon_net::{Advanced, Arrival, Delivery, Edge, Environment, Hosts, Hybrid, Net, Part};
use etalon_switch::{
    CircuitNetwork, Configuration, DropReason, Event, Matching, Notify, PacketNetwork, Pair, Plane,
    Probe, Rdcn, Schedule, Switch,
};
use etalon_units::{Rate, Span, Time};

const RATE: Rate = Rate(8_000_000_000);

/// Who was told what, and when.
#[derive(Default)]
struct Ears(Vec<(u64, u32, u16, u8)>);

impl Environment<()> for Ears {
    fn enter(&mut self, _: Time, (): ()) -> Arrival<()> {
        unreachable!("nothing is sent")
    }

    fn deliver(&mut self, _: Delivery<()>, _: &mut Edge<()>) {}

    fn discard(&mut self, _: Time, (): (), _: DropReason, _: &mut Edge<()>) {}

    fn part(&mut self, (): ()) -> Option<Part> {
        None
    }

    fn notified(&mut self, now: Time, host: u32, rack: u16, tdn: Plane, _: &mut Edge<()>) {
        self.0.push((now.0, host, rack, tdn.0));
    }

    fn nic_free(&mut self, _: u32, (): ()) {}
}

#[derive(Default)]
struct Said(Vec<(u64, Pair, u16, u8)>);

impl Probe for Said {
    fn on(&mut self, now: Time, event: Event) {
        if let Event::Notified { pair, host, plane } = event {
            self.0.push((now.0, pair, host, plane.0));
        }
    }
}

/// Two racks of two hosts, joined in the second of two days of 1000 ns, each with a night of 100 ns.
fn net(notify: Option<Notify>) -> Net<(), Hybrid<()>> {
    let hosts = Hosts {
        racks: 2,
        per_rack: 2,
        mtu: 9000,
        rate: RATE,
        delay: Span(10),
        jitter: Span::ZERO,
        downlink_queue: None,
    };
    let packet = PacketNetwork {
        rate: RATE,
        up_delay: Span(50),
        down_delay: Span(50),
        internal_queue: 3,
        hold_queue: 3,
    };
    let circuits = vec![CircuitNetwork {
        rate: RATE,
        delay: Span(20),
    }];
    let mut rdcn = Rdcn::new(Some(packet), circuits, 16);
    rdcn.notify = notify;
    let day = |sources: [Option<u16>; 2]| Configuration {
        matching: Matching::new(sources.to_vec()).unwrap(),
        day: Span(1000),
        night: Span(100),
        plane: Plane::CIRCUIT,
    };
    let week = Schedule::new(vec![day([None, None]), day([None, Some(0)])]).unwrap();
    let network = Hybrid::new(Switch::new(&rdcn, &week, Time::ZERO).unwrap(), None);
    let milestones = (Time(1), Time(4000));
    Net::new(hosts, network, None, notify.as_ref(), 1, milestones).unwrap()
}

fn run(notify: Option<Notify>) -> (Ears, Said) {
    let (mut net, mut ears, mut said) = (net(notify), Ears::default(), Said::default());
    loop {
        // The kernel's timer must not be late.
        let heard = net.next_heard(false);
        let before = ears.0.len();
        let now = net.next_event();
        match net.advance(Time::MAX, &mut ears, &mut said) {
            Advanced::Milestone(_, etalon_net::Milestone::End) | Advanced::Not => break,
            _ => {}
        }
        assert!(ears.0.len() == before || heard <= now, "heard at {now:?}");
    }
    (ears, said)
}

#[test]
fn the_hosts_of_a_rack_hear_before_a_day_and_before_its_end() {
    let notify = Notify {
        before: Span(30),
        delay: Span(7),
        jitter: Span::ZERO,
        lost: 0,
        each: Span::ZERO,
    };
    let (ears, said) = run(Some(notify));
    let expected = [(1077, 1), (2077, 0), (3277, 1)];
    let both = |(time, tdn)| [(time, 0, 1, tdn), (time, 1, 1, tdn)];
    assert_eq!(ears.0, expected.map(both).concat());
    let pair = Pair { src: 0, dst: 1 };
    let both = |(time, tdn)| [(time, pair, 0, tdn), (time, pair, 1, tdn)];
    assert_eq!(said.0, expected.map(both).concat());
}

#[test]
fn nobody_hears_what_nobody_asked_for() {
    let (ears, said) = run(None);
    assert!(ears.0.is_empty() && said.0.is_empty());
}
