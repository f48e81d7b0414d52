// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nanoseconds of the machine's time for each packet that goes through the switch, over the packet network and over
//! circuits: `cargo run --release -p etalon-switch --example throughput`.

use std::time::Instant;

use etalon_switch::*;
use etalon_units::{Rate, Span, Time};

const BYTES: u32 = 9014;

#[derive(Default)]
struct Count {
    delivered: u64,
    discarded: u64,
}

impl Sink<u32> for Count {
    fn deliver(&mut self, _: Departure<u32>) {
        self.delivered += 1;
    }

    fn discard(&mut self, _: Time, _: u32, _: Pair, _: DropReason) {
        self.discarded += 1;
    }
}

fn config() -> Rdcn {
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

/// Day `d` joins each rack to the one `d + 1` further, or to none.
fn rotor(racks: u16, circuits: bool) -> Schedule {
    let configurations = (1..racks)
        .map(|shift| Configuration {
            matching: if circuits {
                Matching::new((0..racks).map(|dst| Some((dst + shift) % racks)).collect())
                    .expect("a rotation matches")
            } else {
                Matching::idle(racks)
            },
            day: Span::from_micros(180),
            night: Span::from_micros(20),
            plane: Plane::CIRCUIT,
        })
        .collect();
    Schedule::new(configurations).expect("a week has at least one day")
}

/// Every rack sends to the others in turn, at the rate of its uplink or a little below what circuits carry.
fn run(name: &str, racks: u16, circuits: bool, packets: u64) {
    let mut switch =
        Switch::new(&config(), &rotor(racks, circuits), Time::ZERO).expect("a sound configuration");
    let mut sink = Count::default();
    let gap = if circuits { Span(1_100) } else { Span(7_300) };
    let started = Instant::now();
    let mut now = Time::ZERO;
    for turn in 0..packets / u64::from(racks) {
        now += gap;
        switch.advance(now, &mut sink, &mut ());
        let shift = 1 + (turn % u64::from(racks - 1)) as u16;
        for src in 0..racks {
            let arrival = Arrival {
                packet: Packet {
                    handle: 0,
                    src: HostId::new(src, 0),
                    dst: HostId::new((src + shift) % racks, 0),
                    bytes: BYTES,
                },
                ect: false,
                pure_ack: false,
                class: Class::default(),
                label: 0,
            };
            switch.enqueue(now, arrival, &mut sink, &mut ());
        }
    }
    let elapsed = started.elapsed().as_nanos() as u64;
    println!(
        "{name:>8} {racks:>3} racks: {:>3} ns a packet ({} delivered, {} dropped, {} inside)",
        elapsed / sink.delivered.max(1),
        sink.delivered,
        sink.discarded,
        switch.queued()
    );
}

fn main() {
    for racks in [3, 25, 256] {
        run("packet", racks, false, 6_000_000);
        run("circuit", racks, true, 6_000_000);
    }
}
