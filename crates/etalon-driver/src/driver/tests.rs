// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::cmp::Reverse;
use core::num::NonZero;

use etalon_events::Record;
use etalon_scenario::{
    Capture, CircuitNetwork, Configuration, Dumbbell, Flow, Hosts, Marking, Matching, Measure,
    Network as Kind, Notify, PacketNetwork, Plane, Rdcn, Resize, Schedule, Stage, Tcp, Weeks,
};
use etalon_switch::{Arrival, Class, Departure, DropReason, Sink, Switch};
use etalon_units::Rate;
use proptest::prelude::*;

mod circuits;
mod listener;
mod network;
mod outside;
mod weeks;

use super::*;
use listener::{Listener, Said};
use network::{changed, dumbbell, setup};

/// The handle of all notifications.
const NOTIFICATION: u64 = 1 << 40;

const EPOCH: u64 = 5_000_000_000;

/// Runs a driver in a kernel whose timer is exact: each packet is given to its host's NIC at its virtual time, or when
/// the NIC is done with the one before.
fn run(setup: &Setup, packets: &[(u64, u32, Sent)]) -> Listener {
    let env = Listener::default();
    let mut driver = Driver::new(setup.clone()).unwrap();
    driver.start(EPOCH);
    let mut waiting: Vec<_> = packets.iter().copied().rev().collect();
    waiting.sort_by_key(|(time, ..)| Reverse(*time));
    let mut busy = vec![false; setup.scenario.hosts.count() as usize];
    let mut heard = 0;
    loop {
        let kernel = |time: u64| EPOCH + time * setup.scenario.tdf;
        let can_go = |(_, host, _): &(u64, u32, Sent)| !busy[*host as usize];
        let send = waiting.iter().rposition(can_go);
        let send_at = send.map_or(u64::MAX, |i| kernel(waiting[i].0).max(env.clock.get()));
        let now = driver.next().min(send_at);
        if now == u64::MAX {
            return env;
        }
        env.clock.set(now);
        match send {
            Some(index) if send_at < driver.next() => {
                let (_, host, sent) = waiting.remove(index);
                busy[host as usize] = driver.send(now, host, &sent, &env);
            }
            _ => driver.advance(now, &env),
        }
        for said in &env.said.borrow()[heard..] {
            if let Said::Free(_, host) = said {
                busy[*host as usize] = false;
            }
        }
        heard = env.said.borrow().len();
    }
}

fn packet(handle: u64, dst: u32, bytes: u32) -> Sent {
    Sent {
        handle,
        dst,
        bytes,
        ect: true,
        ..Sent::default()
    }
}

fn packets() -> impl Strategy<Value = Vec<(u64, u32, Sent)>> {
    let one = (0u64..900_000, 0u32..4, 1u32..4, 64u32..9014, any::<bool>());
    prop::collection::vec(one, 1..150).prop_map(|list| {
        let packet = |(i, (time, host, other, bytes, ect))| {
            let sent = Sent {
                ect,
                ..packet(i as u64, (host + other) % 4, bytes)
            };
            (time, host, sent)
        };
        list.into_iter().enumerate().map(packet).collect()
    })
}

/// Takes what leaves a switch, and forgets it.
struct Nowhere;

impl Sink<()> for Nowhere {
    fn deliver(&mut self, _departure: Departure<()>) {}

    fn discard(&mut self, _now: Time, _handle: (), _pair: Pair, _reason: DropReason) {}
}

/// What a switch alone does with the arrivals that a log tells of.
fn replay(setup: &Setup, log: &[(Time, Event)]) -> Vec<(Time, Event)> {
    let Kind::Rdcn(rdcn) = &setup.scenario.network else {
        panic!("there is no switch");
    };
    let week = setup.scenario.first_week();
    let env = Listener::default();
    let mut probe = Listener(|now, event: Event| env.log(&event.at(now)));
    let mut switch = Switch::new(rdcn, &week, Time::ZERO).unwrap();
    for (time, event) in log {
        let Event::Entered { packet } = event else {
            continue;
        };
        if packet.src.rack() == packet.dst.rack() {
            continue;
        }
        switch.advance(*time, &mut Nowhere, &mut probe);
        let arrival = Arrival {
            packet: etalon_switch::Packet {
                handle: (),
                src: packet.src,
                dst: packet.dst,
                bytes: packet.bytes,
            },
            ect: packet.ect,
            pure_ack: false,
            class: Class::default(),
            label: 0,
        };
        switch.enqueue(*time, arrival, &mut Nowhere, &mut probe);
    }
    switch.advance(Time(setup.end.0 - 1), &mut Nowhere, &mut probe);
    env.events()
}

fn is_of_the_switch(event: &Event) -> bool {
    !matches!(
        event,
        Event::Entered { .. } | Event::Left { .. } | Event::Lost { .. } | Event::Begin
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_switch_does_what_it_does_alone(packets in packets(), tdf in 1u64..30) {
        let setup = changed(|s| s.tdf = tdf);
        let log = run(&setup, &packets).events();
        let of_switch: Vec<_> = log.iter().copied().filter(|(_, e)| is_of_the_switch(e)).collect();
        prop_assert_eq!(of_switch, replay(&setup, &log));
    }

    #[test]
    fn each_packet_leaves_its_nic_and_comes_out_once(packets in packets()) {
        let setup = Setup { end: Time(100_000_000), ..setup() };
        let said = run(&setup, &packets).said.into_inner();
        for handle in 0..packets.len() as u64 {
            let index = |which: &dyn Fn(&Said) -> bool| {
                let found: Vec<_> = (0..said.len()).filter(|&i| which(&said[i])).collect();
                (found.len() == 1).then(|| found[0])
            };
            let free = index(&|s| matches!(s, Said::Free(h, _) if *h == handle));
            let out = index(&|s| matches!(s, Said::Deliver(h, _) | Said::Discard(h) if *h == handle));
            prop_assert!(free.is_some() && free < out);
        }
    }

    /// The kernel is called at each instant at which it hears of something, though not at each event of the network.
    #[test]
    fn nothing_comes_late(
        packets in packets(),
        tdf in 1u64..30,
        bypass in prop::option::of(0u64..20_000),
        is_dumbbell in any::<bool>(),
    ) {
        let mut setup = changed(|s| s.tdf = tdf);
        if let Kind::Rdcn(rdcn) = &mut setup.scenario.network {
            rdcn.ack_bypass = bypass.map(Span);
        }
        if is_dumbbell {
            setup.scenario.network = dumbbell();
            setup.scenario.schedule = None;
        }
        let mut packets = packets;
        for (time, _, sent) in &mut packets {
            sent.tcp = *time % 3 == 0; // without payload: these go around the switch
        }
        let env = run(&setup, &packets);
        let (said, times) = (env.said.borrow(), env.times.borrow());
        let mut last = Time::ZERO;
        for (said, time) in said.iter().zip(times.iter()) {
            match said {
                Said::Log(record) => last = record.time,
                Said::Deliver(..) => prop_assert_eq!(*time, EPOCH + last.0 * tdf),
                _ => {}
            }
        }
    }

    #[test]
    fn the_log_s_time_never_decreases(packets in packets()) {
        let log = run(&setup(), &packets).events();
        prop_assert!(log.windows(2).all(|two| two[0].0 <= two[1].0));
    }

    #[test]
    fn the_same_packets_give_the_same_log(packets in packets()) {
        prop_assert_eq!(run(&setup(), &packets).events(), run(&setup(), &packets).events());
    }

    /// Without jitter, what happens in virtual time does not depend on how fast hosts' clocks run.
    #[test]
    fn dilation_changes_the_kernel_s_clock_only(packets in packets(), tdf in 2u64..30) {
        let (plain, dilated) = (setup(), changed(|s| s.tdf = tdf));
        let (plain, dilated) = (run(&plain, &packets), run(&dilated, &packets));
        prop_assert_eq!(plain.events(), dilated.events());
        let stretch = |t: &u64| EPOCH + (t - EPOCH) * tdf;
        let stretched: Vec<u64> = plain.times.borrow().iter().map(stretch).collect();
        prop_assert_eq!(stretched, dilated.times.into_inner());
    }
}

#[test]
fn a_packet_of_9000_bytes_occupies_a_nic_of_10_gbps_for_7211_ns() {
    let setup = setup();
    let packets: Vec<_> = (0..5).map(|i| (0, 0, packet(i, 2, 9014))).collect();
    let freed = run(&setup, &packets).times(|s| matches!(s, Said::Free(..)));
    // 7211.2 ns each: the fifth is a whole nanosecond behind.
    let expected = [7211, 14_422, 21_633, 28_844, 36_056].map(|t| EPOCH + t);
    assert_eq!(freed, expected);
}

#[test]
fn packets_are_sent_when_virtual_time_reaches_the_kernel_s() {
    let setup = changed(|s| s.tdf = 20);
    let env = Listener::default();
    let mut driver = Driver::new(setup).unwrap();
    driver.start(EPOCH);
    // 1.05 ns: 64 bytes take 51.2 ns from 2 ns on.
    assert!(driver.send(EPOCH + 21, 0, &packet(1, 2, 64), &env));
    assert_eq!(driver.now(EPOCH + 21), Time(1));
    while env.times(|s| matches!(s, Said::Free(..))).is_empty() {
        let next = driver.next();
        env.clock.set(next);
        driver.advance(next, &env);
    }
    let freed = env.times(|s| matches!(s, Said::Free(..)));
    assert_eq!(freed, [EPOCH + 53 * 20]);
}

#[test]
fn what_has_nowhere_to_go_is_not_taken() {
    let env = Listener::default();
    let setup = setup();
    let mut driver = Driver::new(setup.clone()).unwrap();
    let ok = packet(1, 2, 64);
    assert!(!driver.send(EPOCH, 0, &ok, &env), "not started");
    assert_eq!(driver.next(), u64::MAX);
    driver.start(EPOCH);
    assert!(!driver.send(EPOCH - 1, 0, &ok, &env), "too early");
    assert!(
        !driver.send(EPOCH, 0, &packet(2, 4, 64), &env),
        "no such host"
    );
    assert!(!driver.send(EPOCH, 0, &packet(2, 0, 64), &env), "to itself");
    assert!(driver.send(EPOCH, 0, &ok, &env));
    driver.advance(EPOCH + setup.end.0, &env);
    assert!(!driver.send(EPOCH + setup.end.0, 1, &ok, &env), "too late");
    assert_eq!(driver.next(), u64::MAX);
}

#[test]
fn milestones_come_before_what_else_happens_then() {
    let env = run(&setup(), &[]);
    let at = |which| env.times(|s| *s == Said::Milestone(which));
    assert_eq!(at(Milestone::Begin), [EPOCH + 100_000]);
    assert_eq!(at(Milestone::End), [EPOCH + 1_000_000]);
    let said = env.said.borrow();
    let begin = said
        .iter()
        .position(|s| *s == Said::Milestone(Milestone::Begin));
    let begin = begin.unwrap();
    let Said::Log(before) = said[begin - 1] else {
        panic!("the log has no beginning");
    };
    assert_eq!(Event::of(&before), Ok(Event::Begin));
    // At 100 us the first configuration ends: its events follow.
    let Said::Log(after) = said[begin + 1] else {
        panic!("nothing follows the beginning");
    };
    assert_eq!(after.time, Time(100_000));
    // A week starts at 1 ms too, but the experiment is over by then.
    assert_eq!(said.last(), Some(&Said::Milestone(Milestone::End)));
}

#[test]
fn an_early_end_has_all_milestones() {
    let env = Listener::default();
    let mut driver = Driver::new(setup()).unwrap();
    driver.start(EPOCH);
    driver.advance(EPOCH + 50_000, &env);
    driver.finish(EPOCH + 50_001, &env);
    let said = env.said.borrow();
    let end = &said[said.len() - 4..];
    let log = |event: Event| Said::Log(event.at(Time(50_001)));
    let expected = [
        log(Event::Begin),
        Said::Milestone(Milestone::Begin),
        Said::Milestone(Milestone::End),
        log(Event::End { complete: false }),
    ];
    assert_eq!(end, expected);
}

#[test]
fn the_end_of_a_whole_experiment_is_complete() {
    let env = Listener::default();
    let mut driver = Driver::new(setup()).unwrap();
    driver.start(EPOCH);
    driver.advance(EPOCH + 2_000_000, &env);
    driver.finish(EPOCH + 2_000_000, &env);
    let last = Event::End { complete: true }.at(Time(1_000_000));
    assert_eq!(env.said.borrow().last(), Some(&Said::Log(last)));
}

#[test]
fn flows_are_known_by_ports_and_hosts() {
    let env = Listener::default();
    let mut driver = Driver::new(setup()).unwrap();
    driver.start(EPOCH);
    let segment = |handle, dst, ports| Sent {
        tcp: true,
        ports,
        ..packet(handle, dst, 100)
    };
    driver.send(EPOCH, 0, &segment(0, 2, (40_001, 5001)), &env);
    driver.send(EPOCH, 2, &segment(1, 0, (5001, 40_001)), &env);
    driver.send(EPOCH, 1, &segment(2, 2, (40_001, 5001)), &env);
    driver.send(EPOCH, 3, &segment(3, 0, (5001, 40_002)), &env);
    driver.advance(EPOCH + 90_000, &env);
    let mut seen: Vec<_> = env
        .events()
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Entered { packet: p } => Some((p.src.rack(), p.flow, p.to_server)),
            _ => None,
        })
        .collect();
    seen.sort_unstable();
    let expected = [
        (0, None, false),
        (0, Some(0), true),
        (1, None, false),
        (1, Some(0), false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_sender_s_window_is_logged_when_it_changes() {
    let env = Listener::default();
    let mut driver = Driver::new(changed(|s| s.tdf = 2)).unwrap();
    driver.start(EPOCH);
    for (i, cwnd) in [10, 10, 11].into_iter().enumerate() {
        let sent = Sent {
            tcp: true,
            ports: (40_001, 5001),
            socket: Some(Socket {
                cwnd,
                ssthresh: 7,
                srtt_us: 100,
            }),
            ..packet(i as u64, 2, 100)
        };
        driver.send(EPOCH + i as u64 * 2001, 0, &sent, &env);
    }
    let cwnd = |time, cwnd| {
        let event = Event::Cwnd {
            flow: 0,
            cwnd,
            ssthresh: 7,
            srtt_us: 100,
        };
        (Time(time), event)
    };
    let mut events = env.events();
    events.retain(|(_, event)| matches!(event, Event::Cwnd { .. }));
    assert_eq!(events, [cwnd(0, 10), cwnd(2001, 11)]);
}

/// ECE is for TCP only, CE for whoever said that he understands it; both are set before the packet is captured.
#[test]
fn packets_are_marked_then_captured_then_delivered() {
    let setup = Setup {
        capture: Some(Capture {
            start: Time(0),
            end: Time(1_000_000),
            snap: 96,
        }),
        ..setup()
    };
    // While a circuit from rack 0 to rack 1 is near, packets to rack 0 carry ECE.
    let tcp = Sent {
        tcp: true,
        ..packet(1, 0, 100)
    };
    let said = run(&setup, &[(0, 2, tcp), (0, 3, packet(2, 1, 100))])
        .said
        .into_inner();
    let about = |handle: u64| -> Vec<Said> {
        let is_about = |s: &&Said| match s {
            Said::Capture(h) | Said::Mark(h, ..) | Said::Deliver(h, _) => *h == handle,
            _ => false,
        };
        said.iter().filter(is_about).copied().collect()
    };
    let expected = [
        Said::Capture(1),
        Said::Mark(1, false, true),
        Said::Capture(1),
        Said::Deliver(1, 0),
    ];
    assert_eq!(about(1), expected);
    let expected = [Said::Capture(2), Said::Capture(2), Said::Deliver(2, 1)];
    assert_eq!(about(2), expected);
}

/// The kernel is woken for them, as nothing else happens; each is logged, captured and delivered.
#[test]
fn hosts_are_notified_by_packets() {
    let mut setup = changed(|s| {
        if let Kind::Rdcn(rdcn) = &mut s.network {
            rdcn.notify = Some(Notify {
                before: Span(5_000),
                delay: Span(700),
                jitter: Span::ZERO,
                lost: 0,
                each: Span::ZERO,
            });
        }
    });
    setup.capture = Some(Capture {
        start: Time(0),
        end: Time(1_000_000),
        snap: 96,
    });
    let env = run(&setup, &[]);
    let of = |host| {
        let of_host = move |s: &Said| matches!(s, Said::Notification(h, ..) if *h == host);
        env.times(of_host)
    };
    // Rack 0 has the first of each two days of 100 us: told at the start, then 5 us before its end and before the next, 700 ns away.
    let days = (0..5).flat_map(|day| [85_700, 195_700].map(|t| t + day * 200_000));
    let told: Vec<u64> = [700].into_iter().chain(days).map(|t| EPOCH + t).collect();
    assert_eq!([of(0), of(1)], [told.clone(), told]);
    let said = env.said.borrow();
    let place = said.iter().position(|s| *s == Said::Notification(0, 1, 1));
    let about: Vec<Said> = said[place.unwrap() - 1..][..4].to_vec();
    assert!(matches!(about[0], Said::Log(record) if record.kind == 31));
    assert_eq!(
        about[2..],
        [Said::Capture(NOTIFICATION), Said::Deliver(NOTIFICATION, 0)]
    );
}

#[test]
fn hosts_of_a_rack_reach_each_other_without_the_network() {
    let setup = changed(|s| s.hosts.jitter = Span::ZERO);
    let env = run(&setup, &[(0, 0, packet(1, 1, 1250))]);
    let delivered = env.times(|s| *s == Said::Deliver(1, 1));
    assert_eq!(delivered, [EPOCH + 1000 + 2000]);
}

#[test]
fn a_dumbbell_has_stages() {
    let stage = Stage {
        rate: Some(Rate::from_gbps(10)),
        queue_packets: Some(2),
        delay: Span(5000),
    };
    let setup = changed(|s| {
        s.hosts.rate = Rate::from_gbps(100);
        s.hosts.delay = Span::ZERO;
        s.hosts.jitter = Span::ZERO;
        s.network = Kind::Dumbbell(Dumbbell {
            stages: vec![stage],
            return_stages: vec![stage],
        });
        s.schedule = None;
    });
    let packets: Vec<_> = (0..4).map(|i| (0, 0, packet(i, 2, 1250))).collect();
    let env = run(&setup, &packets);
    // 100 ns each in the NIC, 1 us on the link; the third and the fourth find two before them.
    let delivered = env.times(|s| matches!(s, Said::Deliver(..)));
    assert_eq!(delivered, [6_100, 7_100].map(|t| EPOCH + t));
    let lost = env.times(|s| matches!(s, Said::Discard(_)));
    assert_eq!(lost, [300, 400].map(|t| EPOCH + t));
}
