// SPDX-License-Identifier: MIT OR Apache-2.0
//! RotorLB on rotating circuits, against a fluid model that shares nothing with it, and against known throughputs.

use std::collections::VecDeque;

use etalon_transports::rotorlb::{Bulk, Circuit, Config, Fleet};
use proptest::prelude::*;

/// Nanoseconds of a slice, and packets that a circuit carries in one.
const SLICE: u64 = 72_000;
const SLOTS: u32 = 60;

/// To which rack each leads in a slice: all pairs in turn, racks with themselves too.
fn peer(racks: u32, slice: u32, rack: u32) -> u32 {
    (slice + racks - rack % racks) % racks
}

/// Racks of one host, each with one circuit that visits all others in turn.
struct Run {
    fleet: Fleet,
    racks: u32,
    random: u64,
    /// Packets on their way that arrive at the end of the slice.
    moving: VecDeque<(u32, Bulk)>,
    delivered: Vec<(u32, u32, u32)>,
    /// Packets over circuits.
    carried: u64,
}

impl Run {
    fn new(racks: u32, hosts: u32, two_hops: bool) -> Run {
        let config = Config { hosts, two_hops };
        Run {
            fleet: Fleet::new(config, racks),
            racks,
            random: 0x9E37_79B9_7F4A_7C15,
            moving: VecDeque::new(),
            delivered: Vec::new(),
            carried: 0,
        }
    }

    /// One slice. Each packet in `lost` of 256 comes back.
    fn slice(&mut self, slice: u32, hosts: u32, lost: u8) {
        let start = u64::from(slice) * SLICE;
        for rack in 0..self.racks {
            let random = &mut self.random;
            let draw = |below: u32| {
                *random ^= *random << 13;
                *random ^= *random >> 7;
                *random ^= *random << 17;
                (*random % u64::from(below)) as u32
            };
            let pair = (rack, peer(self.racks, slice, rack));
            let circuit = Circuit {
                uplink: 0,
                slots: SLOTS,
                slot: SLICE * 1000 / u64::from(SLOTS),
                until: start + SLICE,
            };
            self.fleet.meet(start, pair, &circuit, draw);
        }
        let mut back = Vec::new();
        for host in 0..self.racks * hosts {
            let mut sent = 0;
            while self.fleet.next_time(host) < start + SLICE {
                let now = self.fleet.next_time(host);
                let Some(sending) = self.fleet.poll(host, now) else {
                    continue;
                };
                sent += 1;
                let rack = peer(self.racks, slice, host / hosts);
                assert_eq!(sending.via / hosts, rack, "it goes where the circuit leads");
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                let relays = sending.packet.flow / 1000 != host;
                if (self.random % 256) < u64::from(lost) {
                    back.push((host, sending.packet, relays));
                } else {
                    self.moving.push_back((sending.via, sending.packet));
                }
            }
            assert!(sent <= SLOTS, "no faster than its share");
        }
        for (host, packet, relays) in back {
            self.fleet.give_back(host, packet, relays);
        }
        for (host, packet) in std::mem::take(&mut self.moving) {
            self.carried += 1;
            if self.fleet.arrives(host, packet) {
                self.delivered.push((host, packet.flow, packet.seq));
            }
        }
    }
}

/// The same in real numbers, for racks of one host: what is where, by (rack, destination).
struct Fluid {
    racks: usize,
    own: Vec<Vec<f64>>,
    relayed: Vec<Vec<f64>>,
    delivered: f64,
}

/// Max-min fair shares by filling up like water.
fn fill(wants: &[f64], capacity: f64) -> Vec<f64> {
    let mut sorted = wants.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut left, mut level) = (capacity, 0.0);
    for (at, want) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at) as f64;
        level = if *want <= share { f64::INFINITY } else { share };
        if level.is_finite() {
            break;
        }
        left -= want;
    }
    wants.iter().map(|want| want.min(level)).collect()
}

impl Fluid {
    fn slice(&mut self, slice: u32) {
        let capacity = f64::from(SLOTS);
        let n = self.racks;
        let mut arriving = vec![vec![0.0; n]; n];
        for a in 0..n {
            let b = peer(n as u32, slice, a as u32) as usize;
            if a == b {
                continue;
            }
            let mut left = capacity;
            for queues in [&mut self.relayed, &mut self.own] {
                let moved = queues[a][b].min(left);
                queues[a][b] -= moved;
                left -= moved;
                self.delivered += moved;
            }
            let mut wants = self.own[a].clone();
            wants[b] = 0.0;
            let offered = fill(&wants, left);
            let room = |to: usize| 2.0 * capacity - self.own[b][to] - self.relayed[b][to];
            let may: Vec<f64> = (0..n)
                .map(|to| offered[to].min(room(to).max(0.0)))
                .collect();
            for (to, moved) in fill(&may, left).into_iter().enumerate() {
                self.own[a][to] -= moved;
                arriving[b][to] += moved;
            }
        }
        for (relayed, arriving) in self.relayed.iter_mut().zip(arriving) {
            for (queue, more) in relayed.iter_mut().zip(arriving) {
                *queue += more;
            }
        }
    }
}

/// Delivered packets after each slice, of RotorLB and of the fluid model, for `demand` packets of each pair.
fn both(racks: u32, demand: impl Fn(u32, u32) -> u32, slices: u32) -> Vec<(f64, f64)> {
    let mut run = Run::new(racks, 1, true);
    let n = racks as usize;
    let zero = vec![vec![0.0; n]; n];
    let mut fluid = Fluid {
        racks: n,
        own: zero.clone(),
        relayed: zero,
        delivered: 0.0,
    };
    for from in 0..racks {
        for to in (0..racks).filter(|&to| to != from) {
            run.fleet
                .write(from, to, from * 1000 + to, demand(from, to));
            fluid.own[from as usize][to as usize] = demand(from, to).into();
        }
    }
    let slice = |slice| {
        run.slice(slice, 1, 0);
        fluid.slice(slice);
        (run.delivered.len() as f64, fluid.delivered)
    };
    (0..slices).map(slice).collect()
}

#[test]
fn it_is_near_its_fluid_model() {
    let demands: [fn(u32, u32) -> u32; 4] = [
        |_, _| 500,
        |from, to| if to == (from + 3) % 8 { 4000 } else { 0 },
        |from, to| if from == 0 && to < 4 { 2000 } else { 30 },
        |from, to| (from * 7 + to * 13) % 11 * 100,
    ];
    for (number, demand) in demands.into_iter().enumerate() {
        let all: u32 = (0..8)
            .flat_map(|from| {
                (0..8)
                    .filter(move |&to| to != from)
                    .map(move |to| demand(from, to))
            })
            .sum();
        let delivered = both(8, demand, 400);
        for (slice, &(packets, fluid)) in delivered.iter().enumerate() {
            let apart = (packets - fluid).abs() / f64::from(all);
            assert!(
                apart < 0.02,
                "demand {number}, slice {slice}: {packets}, fluid {fluid} of {all}"
            );
        }
        assert_eq!(delivered.last().expect("slices").0, f64::from(all));
    }
}

/// Shares of the full rate that rotors of 8 and 16 racks reach, over one hop (inet-tub rdcn-throughput): 1 - 1/n for uniform demand,
/// 1/n for a permutation; two hops reach half of it at best.
#[test]
fn throughputs_are_those_known_of_rotors() {
    for racks in [8, 16] {
        let throughput = |two_hops: bool, permutation: bool| {
            let mut run = Run::new(racks, 1, two_hops);
            for from in 0..racks {
                for to in (0..racks).filter(|&to| to != from) {
                    if !permutation || to == (from + 3) % racks {
                        run.fleet.write(from, to, from * 1000 + to, 1_000_000);
                    }
                }
            }
            let slices = 40 * racks;
            (0..slices).for_each(|slice| run.slice(slice, 1, 0));
            run.delivered.len() as f64 / f64::from(slices * racks * SLOTS)
        };
        let n = f64::from(racks);
        assert_eq!(throughput(false, false), 1.0 - 1.0 / n);
        assert_eq!(throughput(false, true), 1.0 / n);
        let two = throughput(true, true);
        assert!((0.45..=0.5 + 1.0 / n).contains(&two), "{racks}: {two}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Racks of several hosts; some packets come back.
    #[test]
    fn every_packet_arrives_once_and_crosses_two_circuits_at_most(
        (racks, hosts) in (2u32..6, 1u32..4),
        flows in prop::collection::vec((any::<u32>(), any::<u32>(), 1u32..400), 1..30),
        lost in 0u8..100,
        two_hops in any::<bool>(),
    ) {
        let mut run = Run::new(racks, hosts, two_hops);
        let mut all = Vec::new();
        for (number, (from, to, packets)) in flows.into_iter().enumerate() {
            let (from, to) = (from % (racks * hosts), to % (racks * hosts));
            if from / hosts == to / hosts {
                continue;
            }
            let flow = from * 1000 + number as u32;
            run.fleet.write(from, to, flow, packets);
            all.extend((0..packets).map(|seq| (to, flow, seq)));
        }
        let mut slice = 0;
        while run.delivered.len() < all.len() {
            run.slice(slice, hosts, lost);
            slice += 1;
            prop_assert!(slice < 20_000, "it never ends");
        }
        all.sort_unstable();
        run.delivered.sort_unstable();
        prop_assert_eq!(&run.delivered, &all);
        let hops = if two_hops { 2 } else { 1 };
        prop_assert!(run.carried <= hops * all.len() as u64);
        for host in 0..racks * hosts {
            prop_assert_eq!(run.fleet.waiting(host), (0, 0));
        }
    }
}

/// Two circuits of a rack come up one after the other: what the first is to carry is not offered to the second, and what it could not
/// carry is offered to the next.
#[test]
fn packets_leave_their_queue_when_racks_meet() {
    let two_hops = true;
    let mut fleet = Fleet::new(Config { hosts: 1, two_hops }, 5);
    let (first, second, third) = (1, 2, 3);
    let circuit = |uplink, until| Circuit {
        uplink,
        slots: SLOTS,
        slot: SLICE * 1000 / u64::from(SLOTS),
        until,
    };
    fleet.write(0, 4, 7, 20);
    fleet.meet(0, (0, first), &circuit(0, SLICE), |_| 0);
    fleet.meet(SLICE / 5, (0, second), &circuit(1, SLICE), |_| 0);
    let mut to = Vec::new();
    while fleet.next_time(0) < SLICE / 2 {
        to.extend(fleet.poll(0, fleet.next_time(0)).map(|sent| sent.via));
    }
    assert_eq!(to, [first; 10], "a packet each third slot");
    assert_eq!(fleet.waiting(0), (10, 0));
    // The first circuit is gone early. What it did not carry is the queue's front again.
    fleet.meet(SLICE / 2, (0, third), &circuit(0, 2 * SLICE), |_| 0);
    let mut rest = Vec::new();
    while fleet.next_time(0) < u64::MAX {
        rest.extend(fleet.poll(0, fleet.next_time(0)));
    }
    assert!(rest.iter().all(|sent| sent.via == third));
    let numbers: Vec<_> = rest.iter().map(|sent| sent.packet.seq).collect();
    assert_eq!(numbers, Vec::from_iter(10..20));
}
