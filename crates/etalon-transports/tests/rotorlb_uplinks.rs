// SPDX-License-Identifier: MIT OR Apache-2.0
//! RotorLB over several uplinks: circuits overlap, packets come back while others are planned, flows are given up.

use std::collections::BTreeSet;

use etalon_transports::rotorlb::{Circuit, Config, Fleet};
use proptest::prelude::*;

/// Nanoseconds of a slice, and packets that a circuit carries in one.
const SLICE: u64 = 72_000;
const SLOTS: u32 = 60;

struct Flow {
    from: u32,
    to: u32,
    number: u32,
    packets: u32,
    /// Whether it is never given up.
    stays: bool,
}

/// Racks whose uplinks are set anew one after the other, each for a whole slice.
struct Turns {
    fleet: Fleet,
    racks: u32,
    hosts: u32,
    /// By uplink and rack, the rack it leads to.
    leads: Vec<Vec<u32>>,
    flows: Vec<Flow>,
    delivered: BTreeSet<(u32, u32)>,
    random: u64,
}

impl Turns {
    fn new((racks, hosts, uplinks): (u32, u32, u8), flows: Vec<Flow>) -> Turns {
        let mut fleet = Fleet::new(
            Config {
                hosts,
                two_hops: true,
            },
            racks,
        );
        for flow in &flows {
            fleet.write(flow.from, flow.to, flow.number, flow.packets);
        }
        Turns {
            fleet,
            racks,
            hosts,
            leads: vec![vec![0; racks as usize]; uplinks.into()],
            flows,
            delivered: BTreeSet::new(),
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    fn left(&self) -> u64 {
        let waiting = (0..self.racks * self.hosts).map(|host| self.fleet.waiting(host));
        waiting.map(|(own, relayed)| own + relayed).sum()
    }

    /// The next uplink is set; hosts send until the one after it is. Each packet in `lost` of 256 comes back.
    fn step(&mut self, step: u64, lost: u64) {
        let uplinks = self.leads.len() as u64;
        let now = step * SLICE / uplinks;
        let uplink = (step % uplinks) as usize;
        let circuit = Circuit {
            uplink: uplink as u8,
            slots: SLOTS,
            slot: SLICE * 1000 / u64::from(SLOTS),
            until: now + SLICE,
        };
        for rack in 0..self.racks {
            let met = (step as u32 + self.racks - rack) % self.racks;
            self.leads[uplink][rack as usize] = met;
            let random = &mut self.random;
            let draw = |bound: u32| below(random, bound.into()) as u32;
            self.fleet.meet(now, (rack, met), &circuit, draw);
        }
        for host in 0..self.racks * self.hosts {
            self.send(host, now + SLICE / uplinks, lost);
        }
    }

    fn send(&mut self, host: u32, end: u64, lost: u64) {
        while self.fleet.next_time(host) < end {
            let now = self.fleet.next_time(host);
            let Some(sent) = self.fleet.poll(host, now) else {
                continue;
            };
            let rack = self.leads[usize::from(sent.uplink)][(host / self.hosts) as usize];
            assert_eq!(
                sent.via / self.hosts,
                rack,
                "it goes where its circuit leads"
            );
            let packet = sent.packet;
            if below(&mut self.random, 256) < lost {
                let is_own = |flow: &Flow| (flow.from, flow.number) == (host, packet.flow);
                let relays = !self.flows.iter().any(is_own);
                self.fleet.give_back(host, packet, relays);
            } else if self.fleet.arrives(sent.via, packet) {
                let is_new = self.delivered.insert((packet.flow, packet.seq));
                assert!(is_new, "it came before");
            }
        }
    }

    /// How many packets that had not arrived go with them.
    fn give_up(&mut self) -> u64 {
        let before = self.left();
        for flow in self.flows.iter().filter(|flow| !flow.stays) {
            self.fleet.give_up(flow.from, flow.to, flow.number);
        }
        before - self.left()
    }
}

fn below(random: &mut u64, bound: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random % bound
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved(
        (racks, hosts, uplinks) in (3u32..6, 1u32..4, 1u8..4),
        flows in prop::collection::vec((any::<u32>(), any::<u32>(), 1u32..300, any::<bool>()), 1..20),
        lost in 0u64..100,
        given_up_in in 0u64..40,
    ) {
        let all = racks * hosts;
        let flows = (0..).zip(flows).map(|(number, (from, to, packets, stays))| {
            Flow { from: from % all, to: to % all, number, packets, stays }
        });
        let flows: Vec<_> = flows.filter(|flow| flow.from / hosts != flow.to / hosts).collect();
        let written: u64 = flows.iter().map(|flow| u64::from(flow.packets)).sum();
        let mut turns = Turns::new((racks, hosts, uplinks), flows);
        let (mut step, mut gone) = (0, 0);
        while turns.left() > 0 {
            prop_assert!(step < 20_000, "it never ends");
            if step == given_up_in {
                gone = turns.give_up();
            }
            turns.step(step, lost);
            prop_assert_eq!(turns.delivered.len() as u64 + gone + turns.left(), written);
            step += 1;
        }
        for flow in turns.flows.iter().filter(|flow| flow.stays || step <= given_up_in) {
            prop_assert!((0..flow.packets).all(|seq| turns.delivered.contains(&(flow.number, seq))));
        }
    }
}
