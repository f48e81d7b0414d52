// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weeks: exact instants, order, adoption of another schedule; and what is refused.

use crate::common::*;
use etalon_switch::*;
use etalon_units::{Rate, Span, Time};

#[test]
fn weeks_do_not_drift() {
    // 17 circuits of 180 us, 20 us between them.
    let days: Vec<&[(u16, u16)]> = vec![&[(0, 1)]; 17];
    let mut bench = Bench::new(config(), week(&days));
    bench.run(3_400_000 * 1_000);
    let weeks = bench.pick(|out| match out {
        Out::Event(Event::Week { week: n }) => Some(n),
        _ => None,
    });
    assert_eq!(
        weeks,
        (0..=1_000).map(|n| (n * 3_400_000, n)).collect::<Vec<_>>()
    );
    let nights = bench.pick(|out| match out {
        Out::Event(Event::Night { day: 16 }) => Some(()),
        _ => None,
    });
    assert_eq!(nights.last(), Some(&(3_400_000 * 1_000 - 20_000, ())));
}

fn up_or_down(pair: Pair, up: bool) -> Out {
    let plane = Plane::CIRCUIT;
    Out::Event(Event::Circuit { pair, plane, up })
}

fn gate(pair: Pair, open: bool) -> Out {
    let plane = Plane::PACKET;
    Out::Event(Event::Gate { pair, plane, open })
}

#[test]
fn what_ends_comes_before_what_starts() {
    let schedule = Schedule::new(vec![
        configuration(3, &[(0, 1)], 180, 0),
        configuration(3, &[(2, 1)], 180, 0),
    ])
    .unwrap();
    let mut bench = Bench::new(config(), schedule);
    bench.run(360_000);
    let log: Vec<_> = bench.pick(Some);
    let first = [
        (0, Out::Event(Event::Day { day: 0 })),
        (0, up_or_down(pair(0, 1), true)),
        (0, gate(pair(0, 1), false)),
        (180_000, Out::Event(Event::Night { day: 0 })),
        (180_000, up_or_down(pair(0, 1), false)),
        (180_000, gate(pair(0, 1), true)),
        (180_000, Out::Event(Event::Day { day: 1 })),
        (180_000, up_or_down(pair(2, 1), true)),
        (180_000, gate(pair(2, 1), false)),
        (360_000, Out::Event(Event::Night { day: 1 })),
        (360_000, up_or_down(pair(2, 1), false)),
        (360_000, gate(pair(2, 1), true)),
    ];
    let second = first[..3].iter().map(|&(t, out)| (t + 360_000, out));
    let expected: Vec<_> = [(0, Out::Event(Event::Week { week: 0 }))]
        .into_iter()
        .chain(first)
        .chain([(360_000, Out::Event(Event::Week { week: 1 }))])
        .chain(second)
        .collect();
    assert_eq!(log, expected);
}

#[test]
fn before_the_first_week_there_is_only_the_packet_network() {
    let mut switch = Switch::new(&config(), &week(&[&[(0, 1)]]), Time(1_000_000)).unwrap();
    assert_eq!(switch.next_event(), Time(1_000_000));
    let mut log = Log::default();
    let packet = packet(1, pair(0, 1), 9014, false);
    switch.enqueue(Time(10), packet, &mut log.clone(), &mut log);
    switch.advance(Time(999_999), &mut log.clone(), &mut log);
    let bench = Bench { switch, log };
    assert_eq!(bench.deliveries(), [(24_432, (1, Plane::PACKET))]);
}

#[test]
fn a_schedule_is_adopted_at_the_roll_over() {
    let mut bench = Bench::new(config(), week(&[&[(0, 1)], &[(1, 2)]]));
    bench.run(50_000);
    bench.switch.adopt(week(&[&[(2, 0)]])).unwrap();
    bench
        .switch
        .adopt(week(&[&[(0, 2)], &[], &[(0, 1)]]))
        .unwrap(); // replaces the other
    bench.run(1_399_999);
    assert_eq!(
        bench.circuits(pair(0, 1)),
        [
            (0, true),
            (180_000, false),
            (800_000, true),
            (980_000, false)
        ]
    );
    assert_eq!(
        bench.circuits(pair(1, 2)),
        [(200_000, true), (380_000, false)]
    );
    assert_eq!(
        bench.circuits(pair(0, 2)),
        [
            (400_000, true),
            (580_000, false),
            (1_000_000, true),
            (1_180_000, false)
        ]
    );
    assert_eq!(bench.circuits(pair(2, 0)), []);
}

#[test]
fn weeks_that_are_known_to_come_are_adopted_in_time() {
    let mut bench = Bench::new(config(), week(&[&[(0, 1)], &[]])); // of 400 us
    for (at, days) in [
        (0, &[&[(2, 1)][..]][..]), // at the start of the first week: instead of it
        (200, &[&[(1, 0)], &[]]),  // at 200 us, where the week that was adopted first ends
        (601, &[&[(2, 0)], &[]]),  // the week ends at 1000 us
        (900, &[&[(0, 2)], &[]]),  // so does this, which replaces it
        (1000, &[&[(0, 1), (1, 2)], &[]]), // and this: what is due at an instant is in time
    ] {
        let at = Time(at * 1000);
        bench.switch.adopt_later(at, &week(days)).unwrap();
    }
    bench.run(1_399_999);
    let up = bench.pick(|out| match out {
        Out::Event(Event::Circuit { pair, up: true, .. }) => Some((pair.src, pair.dst)),
        _ => None,
    });
    assert_eq!(
        up,
        [
            (0, (2, 1)),
            (200_000, (1, 0)),
            (600_000, (1, 0)),
            (1_000_000, (0, 1)),
            (1_000_000, (1, 2)),
        ]
    );
    let four = Schedule::new(vec![configuration(4, &[], 180, 20)]).unwrap();
    assert!(bench.switch.adopt_later(Time(0), &four).is_err());
}

#[test]
fn adoption_sets_gates_capacities_and_ece() {
    let mut config = config();
    config.voq.resize = Some(Resize {
        packets: 50,
        in_advance: Span::from_micros(250),
    });
    config.ece_in_advance = Some(Span::from_micros(250));
    // In the night before the roll-over, 0 -> 1 is about to have its day again.
    let mut bench = Bench::new(config, week(&[&[(0, 1)], &[], &[]]));
    bench.run(10_000);
    bench
        .switch
        .adopt(week(&[&[], &[(1, 2)], &[], &[], &[]]))
        .unwrap();
    bench.send(590_000, 0, pair(0, 1), 9014, false); // the gate is closed
    bench.send(592_000, 1, pair(1, 0), 125, false);
    bench.run(599_999);
    assert_eq!(bench.switch.voq_len(pair(0, 1)), 1);
    bench.send(620_000, 2, pair(1, 0), 125, false);
    bench.send(621_000, 3, pair(2, 1), 125, false);
    bench.run(700_000);
    let carried = bench.pick(|out| match out {
        Out::Deliver {
            handle, plane, ece, ..
        } => Some((handle, plane, ece)),
        _ => None,
    });
    // At the roll-over the gate opens, 0 -> 1 is no longer near, 1 -> 2 is.
    assert_eq!(
        carried,
        [
            (602_200, (1, Plane::PACKET, false)),
            (624_422, (0, Plane::PACKET, false)),
            (630_200, (2, Plane::PACKET, false)),
            (631_200, (3, Plane::PACKET, true)),
        ]
    );
    assert_eq!(
        bench.sizes(pair(0, 1)),
        [(0, 50), (180_000, 16), (350_000, 50), (600_000, 16)]
    );
    assert_eq!(bench.sizes(pair(1, 2)), [(600_000, 50)]);
}

#[test]
fn networks_that_make_no_sense_are_refused_with_a_sentence() {
    let refused = |change: fn(&mut Rdcn)| {
        let mut config = config();
        change(&mut config);
        Switch::<u32>::new(&config, &week(&[&[]]), Time::ZERO)
            .unwrap_err()
            .to_string()
    };
    for (text, part) in [
        (
            refused(|c| c.packet.as_mut().unwrap().rate = Rate(0)),
            "rate of the packet network",
        ),
        (
            refused(|c| c.circuits[0].rate = Rate(0)),
            "rate of the circuit network",
        ),
        (
            refused(|c| c.packet.as_mut().unwrap().internal_queue = 0),
            "internal queues",
        ),
        (
            refused(|c| c.voq.packets = 0),
            "VOQs must hold at least 1 packet",
        ),
        (
            refused(|c| {
                c.voq.resize = Some(Resize {
                    packets: 15,
                    in_advance: Span::ZERO,
                });
            }),
            "from 16 to 15 packets",
        ),
        (
            refused(|c| c.voq.pairs = vec![own((0, 3, 4))]),
            "0 -> 3, which does not exist",
        ),
        (
            refused(|c| c.voq.pairs = vec![own((0, 1, 0))]),
            "0 -> 1 must hold at least 1 packet",
        ),
        (
            refused(|c| c.voq.pairs = [(0, 1, 4), (1, 0, 4), (0, 1, 4)].map(own).to_vec()),
            "two VOQ capacities are given for the pair 0 -> 1",
        ),
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn weeks_of_other_racks_are_refused_with_a_sentence() {
    let one = Switch::<u32>::new(&config(), &Schedule::idle(1), Time::ZERO).unwrap_err();
    assert!(one.to_string().contains("at least 2 racks, not 1"), "{one}");
    let mut bench = Bench::new(config(), week(&[&[]]));
    let four = Schedule::new(vec![configuration(4, &[], 180, 20)]).unwrap();
    let error = bench.switch.adopt(four).unwrap_err();
    assert_eq!(
        error,
        ConfigError::RacksDiffer {
            racks: 3,
            schedule: 4
        }
    );
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "time does not come to"]
fn time_does_not_come_to_never() {
    let mut bench = Bench::new(config(), week(&[&[(0, 1)]]));
    let never = bench.switch.never().as_nanos();
    bench.run(10);
    bench.run(never);
}
