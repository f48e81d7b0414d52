// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet path: times, round robin, internal queues, the hold.

use crate::common::*;
use etalon_switch::*;

/// On the wire for 1 us at 10 Gb/s.
const MICROSECOND: u32 = 1250;

const PACKET: Plane = Plane::PACKET;

fn idle() -> Schedule {
    week(&[&[]])
}

#[test]
fn a_lone_packet_takes_two_serialisations_and_two_delays() {
    let mut bench = Bench::new(config(), idle());
    bench.send(1_000, 7, pair(0, 1), 9014, false);
    // 7211.2 ns on each link, 5 us after each; the second transmitter is idle, so it does not inherit the 0.2 ns.
    bench.run(1_000 + 24_421);
    assert_eq!(bench.deliveries(), []);
    bench.run(1_000 + 24_422);
    assert_eq!(bench.deliveries(), [(25_422, (7, PACKET))]);
    let latency = bench.pick(|out| match out {
        Out::Deliver { latency, .. } => Some(latency),
        _ => None,
    });
    assert_eq!(latency, [(25_422, 24_422)]);
    assert_eq!(bench.switch.queued(), 0);
}

#[test]
fn a_busy_network_does_not_drift() {
    let mut bench = Bench::new(config(), idle());
    for handle in 0..16 {
        bench.send(0, handle, pair(0, 1), 9014, false);
    }
    bench.run(1_000_000);
    let started = bench.pick(|out| match out {
        Out::Event(Event::Dequeue { .. }) => Some(()),
        _ => None,
    });
    assert_eq!(
        started,
        (0..16).map(|n| (n * 72_112 / 10, ())).collect::<Vec<_>>()
    );
    let deliveries = bench.deliveries();
    assert_eq!(deliveries.len(), 16);
    for (n, &(time, (handle, _))) in (1..).zip(&deliveries) {
        assert_eq!(u64::from(handle), n - 1);
        // The first is through the uplink and its delay at 12 211 ns. From then on the downlink is busy, but for the
        // nanosecond that it may have to wait for a packet that is through the uplink at a fraction of one.
        let exact = 12_211 + 72_112 * n / 10 + 5_000;
        assert!(
            time == exact || time == exact + 1,
            "{n}: {time}, not {exact}"
        );
    }
}

#[test]
fn voqs_of_a_rack_take_turns() {
    let mut bench = Bench::new(config(), idle());
    for handle in 0..3 {
        bench.send(0, handle, pair(0, 1), MICROSECOND, false);
    }
    for handle in 3..6 {
        bench.send(0, handle, pair(0, 2), MICROSECOND, false);
    }
    bench.run(1_000_000);
    let dequeued = bench.pick(|out| match out {
        Out::Event(Event::Dequeue { pair, plane, .. }) => Some((pair.dst, plane)),
        _ => None,
    });
    let turns = [1, 2, 1, 2, 1, 2].map(|dst| (dst, PACKET));
    assert_eq!(
        dequeued,
        [0, 1_000, 2_000, 3_000, 4_000, 5_000]
            .into_iter()
            .zip(turns)
            .collect::<Vec<_>>()
    );
}

#[test]
fn inputs_of_the_packet_switch_take_turns() {
    let mut bench = Bench::new(config(), idle());
    for handle in 0..3 {
        bench.send(0, handle, pair(0, 1), MICROSECOND, false);
        bench.send(0, 10 + handle, pair(2, 1), MICROSECOND, false);
    }
    bench.run(1_000_000);
    let handles: Vec<u32> = bench.deliveries().iter().map(|d| d.1.0).collect();
    assert_eq!(handles, [0, 10, 1, 11, 2, 12]);
}

#[test]
fn the_packet_in_transmission_does_not_count() {
    let mut config = config();
    config.voq.packets = 2;
    let mut bench = Bench::new(config, idle());
    for handle in 0..4 {
        bench.send(0, handle, pair(0, 1), MICROSECOND, false);
    }
    assert_eq!(bench.discards(), [(0, (3, DropReason::Full))]);
    assert_eq!(bench.switch.voq_len(pair(0, 1)), 2);
    assert_eq!(bench.switch.queued(), 3);
    bench.send(1_000, 4, pair(0, 1), MICROSECOND, false); // the second has left the queue at this instant
    bench.run(1_000_000);
    assert_eq!(bench.deliveries().len(), 4);
}

/// Racks 0 and 2 send to rack 1 at full rate; each internal queue has room for one packet. From 6 us on two packets
/// reach the packet switch each microsecond and one leaves. At 8 us the second packet of rack 2 waits, and its third
/// is the first to find no room.
fn overload(config: Rdcn, schedule: Schedule) -> Bench {
    let mut bench = Bench::new(config, schedule);
    for handle in 0..14 {
        bench.send(0, handle, pair(0, 1), MICROSECOND, false);
        bench.send(0, 100 + handle, pair(2, 1), MICROSECOND, false);
    }
    bench
}

fn held(bench: &Bench) -> Vec<(u64, u16)> {
    bench.pick(|out| match out {
        Out::Event(Event::Held { pair, .. }) => Some(pair.src),
        _ => None,
    })
}

#[test]
fn a_held_packet_is_sent_before_the_voq() {
    let mut config = config();
    config.packet.as_mut().unwrap().internal_queue = 1;
    let mut bench = overload(config, idle());
    bench.run(1_000_000);
    assert_eq!(held(&bench)[..2], [(8_000, 2), (9_000, 0)]);
    let dequeued = bench.pick(|out| match out {
        Out::Event(Event::Dequeue { pair, len, .. }) if pair.src == 2 => Some(len),
        _ => None,
    });
    // One packet less each microsecond, until the held one is sent at 9 us.
    assert_eq!(dequeued[7..10], [(7_000, 6), (8_000, 5), (9_000, 5)]);
    assert_eq!(bench.deliveries().len() + bench.discards().len(), 28);
}

#[test]
fn a_full_hold_drops() {
    let mut config = config();
    config.packet.as_mut().unwrap().internal_queue = 1;
    config.packet.as_mut().unwrap().hold_queue = 0;
    let mut bench = overload(config, idle());
    bench.run(1_000_000);
    assert_eq!(bench.discards()[0], (8_000, (102, DropReason::HoldFull)));
    assert_eq!(held(&bench), []);
    assert_eq!(bench.deliveries().len() + bench.discards().len(), 28);
}

#[test]
fn a_circuit_takes_held_packets_first() {
    let mut config = config();
    config.packet.as_mut().unwrap().internal_queue = 1;
    // The gate of 2 -> 1 closes at 5 us, its circuit comes up at 7 us.
    let schedule = Schedule::new(vec![
        configuration(3, &[], 5, 2),
        configuration(3, &[(2, 1)], 100, 20),
    ])
    .unwrap();
    let mut bench = overload(config, schedule);
    bench.run(100_000);
    assert_eq!(held(&bench)[0], (8_000, 2));
    // 125 ns each from 7 us on; the transmission that starts at 8 us is decided before the packet comes back.
    let circuit: Vec<_> = bench
        .deliveries()
        .into_iter()
        .filter(|d| d.1.1 == Plane::CIRCUIT)
        .collect();
    assert_eq!(circuit[0], (37_125, (105, Plane::CIRCUIT)));
    assert_eq!(circuit[8], (38_125, (113, Plane::CIRCUIT)));
    assert_eq!(circuit[9], (38_250, (102, Plane::CIRCUIT)));
}
