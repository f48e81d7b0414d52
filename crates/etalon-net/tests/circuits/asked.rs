// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits that are asked for, packet by packet, by hand.

use etalon_net::Network;
use etalon_scenario::*;
use etalon_switch::DropReason;
use etalon_units::{Span, Time};

use super::bench::*;

const ASKED: Asked = Asked {
    reconfiguration: Span(1000),
    request: Span::ZERO,
    hold: Span::ZERO,
    share: Share::Fair,
    ask: Ask::All,
    ahead: false,
};

fn connect(src: u16, dst: u16, uplink: u8) -> CrossConnect {
    CrossConnect {
        plane: Plane(Plane::CIRCUIT.0 + uplink),
        pair: Pair { src, dst },
    }
}

/// A switch whose circuits lead from each of these racks to the other.
fn leading(racks: u16, circuits: &[(u16, u16)]) -> CircuitSwitch {
    let mut source_of = vec![None; racks.into()];
    for &(src, dst) in circuits {
        source_of[usize::from(dst)] = Some(src);
    }
    switch(
        0,
        rotation(vec![(Matching::new(source_of).unwrap(), 1000, 0)]),
    )
}

fn bench(racks: u16, routing: Routing, uplinks: &[&[(u16, u16)]]) -> Bench {
    Bench::new(&config(racks, routing, uplinks), racks)
}

fn config(racks: u16, routing: Routing, uplinks: &[&[(u16, u16)]]) -> Ocs {
    let uplinks = uplinks.iter().map(|circuits| leading(racks, circuits));
    let mut config = ocs(
        uplinks.collect(),
        vec![class(limit(None, Full::Drop), routing)],
    );
    config.asked = Some(ASKED);
    config
}

fn change(bench: &mut Bench, now: u64, removed: &[CrossConnect], added: &[CrossConnect]) {
    bench.run(now - 1);
    let circuits = bench.network.circuits_mut().unwrap();
    circuits.change(Time(now), removed, added, Span(1000));
}

#[test]
fn packets_go_on_over_a_ring_and_look_for_another_way_when_it_changes() {
    let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let mut bench = bench(4, Routing::Shortest, &[&ring]);
    // A byte takes a nanosecond, a circuit 100 more. Over two circuits.
    bench.send(0, arrival(1, (0, 2), 1000, 0));
    // Is transmitted by rack 0 from 1,000 to 2,000, and by rack 1 from 2,100 on, where it is cut at 3,000.
    bench.send(0, arrival(2, (0, 2), 1000, 0));
    // Waits at rack 1 while its circuit is dark; then there is none to rack 2, and rack 3 leads on.
    bench.send(2500, arrival(3, (1, 2), 1000, 0));
    let (down, up) = (
        [connect(1, 2, 0), connect(2, 3, 0)],
        [connect(1, 3, 0), connect(2, 1, 0)],
    );
    change(&mut bench, 3000, &down, &up);
    // In the dark there is no way from 0 to 2 at all: it waits for a circuit, and then for rack 3's.
    bench.send(3500, arrival(4, (0, 2), 1000, 0));
    change(&mut bench, 9000, &[connect(3, 0, 0)], &[connect(3, 2, 0)]);
    bench.run(30_000);
    let expected = vec![
        (2200, Out::Delivered(1, false)),
        (3100, Out::Lost(2, DropReason::Dark)),
        // At 10,000 ways lead over rack 3: 1,000 + 100 twice from rack 1, three times from rack 0, behind the other at rack 1.
        (12_200, Out::Delivered(3, false)),
        (13_300, Out::Delivered(4, false)),
    ];
    assert_eq!(bench.fates(), expected);
    assert_eq!(bench.network.inside(), 0);
}

#[test]
fn hosts_hear_of_circuits_that_change() {
    let mut config = config(4, Routing::Shortest, &[&[(0, 1), (1, 2), (2, 3), (3, 0)]]);
    (config.notify, config.tdns) = (Some(notify(0)), Tdns::Length(3));
    let mut bench = Bench::new(&config, 4);
    let (down, up) = (
        [connect(1, 2, 0), connect(2, 3, 0)],
        [connect(1, 3, 0), connect(2, 1, 0)],
    );
    change(&mut bench, 3000, &down, &up);
    bench.run(9000);
    let mut heard = bench.log.2.borrow().clone();
    heard.retain(|(_, pair, _)| pair.0 == 0);
    let expected = [
        (0, (0, 1), 1),
        (0, (0, 2), 2),
        (0, (0, 3), 3),
        (3000, (0, 2), 0),
        (3000, (0, 3), 0),
        (4000, (0, 3), 2),
    ];
    assert_eq!(heard, expected);
}

#[test]
fn parallel_circuits_share_what_waits() {
    let both: [&[(u16, u16)]; 2] = [&[(0, 1)], &[(0, 1)]];
    let mut bench = bench(3, Routing::Shortest, &both);
    for handle in 1..=4 {
        bench.send(0, arrival(handle, (0, 1), 1000, 0));
    }
    // One of both leads to rack 2 from 3,002 on; from there nothing leads on to rack 1.
    change(&mut bench, 2002, &[connect(0, 1, 1)], &[connect(0, 2, 1)]);
    for handle in 5..=6 {
        bench.send(5000, arrival(handle, (0, 1), 1000, 0));
    }
    bench.send(5000, arrival(7, (0, 2), 1000, 0));
    bench.run(30_000);
    // No packet arrives before, or with, one that was sent before it over the other circuit.
    let delivered = [
        (1100, 1),
        (1101, 2),
        (2100, 3),
        (2101, 4),
        (6100, 5),
        (6100, 7),
        (7100, 6),
    ];
    let expected: Vec<_> = delivered
        .map(|(time, handle)| (time, Out::Delivered(handle, false)))
        .into();
    assert_eq!(bench.fates(), expected);
}

#[test]
fn a_circuit_that_goes_before_it_comes_up_never_does() {
    let mut bench = bench(3, Routing::Direct, &[&[(0, 1)]]);
    change(&mut bench, 1000, &[connect(0, 1, 0)], &[connect(0, 2, 0)]);
    change(&mut bench, 1500, &[connect(0, 2, 0)], &[connect(0, 1, 0)]);
    bench.send(1600, arrival(1, (0, 1), 1000, 0));
    bench.send(1600, arrival(2, (0, 2), 1000, 0));
    bench.run(30_000);
    assert_eq!(bench.fates(), [(3600, Out::Delivered(1, false))]);
    assert_eq!(bench.network.inside(), 1, "one waits for ever");
}

#[test]
fn acknowledgements_may_go_around() {
    let mut config = ocs(
        vec![leading(3, &[(0, 1)])],
        vec![class(limit(None, Full::Drop), Routing::Direct)],
    );
    config.asked = Some(ASKED);
    config.ack_bypass = Some(Span(50));
    let mut bench = Bench::new(&config, 3);
    let mut ack = arrival(1, (1, 0), 66, 0);
    ack.pure_ack = true;
    bench.send(10, ack);
    bench.send(10, arrival(2, (0, 1), 40, 0));
    bench.run(30_000);
    let expected = [
        (60, Out::Delivered(1, false)),
        (150, Out::Delivered(2, false)),
    ];
    assert_eq!(bench.fates(), expected);
}
