// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which ports lead on: all shortest ways, and the choice among them.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use etalon_scenario::{Egress, Node};

/// A rack is out of reach.
const FAR: u32 = u32::MAX;

/// By switch and rack: the ports on the shortest ways there.
#[derive(Debug)]
pub(crate) struct NextHops {
    racks: usize,
    /// Where the ports of (switch, rack) begin in `ports`, and how many they are.
    choices: Vec<(u32, u32)>,
    ports: Vec<u32>,
    /// By switch: so that switches choose independently of each other.
    salts: Vec<u32>,
}

impl NextHops {
    /// Between `switches`, of which the first `racks` are ToR switches, over the ports that are `up`. Choices depend on `seed`.
    pub(crate) fn new(
        (racks, switches): (u16, u16),
        ports: &[Egress],
        up: &[bool],
        seed: u64,
    ) -> NextHops {
        let (racks, switches) = (usize::from(racks), usize::from(switches));
        let mut out: Vec<Vec<(u32, usize)>> = vec![Vec::new(); switches];
        for (number, port) in ports.iter().enumerate() {
            if let (Node::Switch(from), Node::Switch(to), true) = (port.from, port.to, up[number]) {
                out[usize::from(from)].push((number as u32, to.into()));
            }
        }
        let mut next_hops = NextHops {
            racks,
            choices: vec![(0, 0); racks * switches],
            ports: Vec::new(),
            salts: (0..switches as u64)
                .map(|switch| salt(seed, switch))
                .collect(),
        };
        for rack in 0..racks {
            next_hops.lead_to(rack, &out);
        }
        next_hops
    }

    /// Breadth first from the rack's switch: links are up both ways or not at all.
    fn lead_to(&mut self, rack: usize, out: &[Vec<(u32, usize)>]) {
        let mut hops = vec![FAR; out.len()];
        hops[rack] = 0;
        let mut found = VecDeque::from([rack]);
        while let Some(switch) = found.pop_front() {
            for &(_, neighbour) in &out[switch] {
                if hops[neighbour] == FAR {
                    hops[neighbour] = hops[switch] + 1;
                    found.push_back(neighbour);
                }
            }
        }
        for (switch, links) in out.iter().enumerate() {
            let first = self.ports.len() as u32;
            let closer =
                |neighbour: usize| hops[neighbour] != FAR && hops[neighbour] < hops[switch];
            let closer = links.iter().filter(|&&(_, neighbour)| closer(neighbour));
            self.ports.extend(closer.map(|&(port, _)| port));
            let count = self.ports.len() as u32 - first;
            self.choices[switch * self.racks + rack] = (first, count);
        }
    }

    /// The port of `switch` by which packets of a flow go to `rack`, another than its own; none if there is no way.
    #[inline]
    pub(crate) fn choose(&self, switch: u16, rack: u16, flow: u32) -> Option<u32> {
        let (first, count) = self.choices[usize::from(switch) * self.racks + usize::from(rack)];
        if count <= 1 {
            return (count == 1).then(|| self.ports[first as usize]);
        }
        let hash = mix(flow ^ self.salts[usize::from(switch)]);
        let choice = (u64::from(hash) * u64::from(count)) >> 32;
        Some(self.ports[(first + choice as u32) as usize])
    }
}

/// The hash of a flow, from what tells it apart from others between any two hosts.
#[inline]
pub(crate) fn flow_hash(src: u32, dst: u32, label: u16) -> u32 {
    mix(src ^ mix(dst ^ mix(label.into())))
}

/// A bijection of 32 bits in which each bit depends on each (the finalizer of MurmurHash3).
#[inline]
fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// What a switch mixes into the hash (the generator SplitMix64).
fn salt(seed: u64, switch: u64) -> u32 {
    let mut z = seed.wrapping_add((switch + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as u32
}
