// SPDX-License-Identifier: MIT OR Apache-2.0
//! Valiant load balancing: over any circuit that is up, and from there directly (RotorNet, SIGCOMM 2017, section 3.2).

use alloc::vec::Vec;

use crate::graph::Graph;
use crate::router::unmet;
use crate::router::{At, Next, Router};

#[derive(Debug)]
pub(super) struct Vlb {
    nodes: usize,
    racks: usize,
    met: Vec<bool>,
    stranded: Option<(usize, usize, usize)>,
    /// Where the circuits of (slice, here) begin in `circuits`; one more at the end.
    first: Vec<u32>,
    circuits: Vec<(u8, u16)>,
}

impl Vlb {
    pub(super) fn new(graph: &Graph) -> Vlb {
        let met = graph.meetings();
        let (mut first, mut circuits) = (Vec::new(), Vec::new());
        for slice in 0..graph.slices {
            for node in 0..graph.nodes {
                first.push(circuits.len() as u32);
                circuits.extend(graph.circuits(slice, node));
            }
        }
        first.push(circuits.len() as u32);
        Vlb {
            nodes: graph.nodes,
            racks: graph.racks,
            stranded: unmet(graph, &met),
            met,
            first,
            circuits,
        }
    }

    /// Whether a rack meets another at any time.
    fn meets(&self, here: u16, other: u16) -> bool {
        self.met[usize::from(here) * self.racks + usize::from(other)]
    }
}

impl Router for Vlb {
    fn next(&self, at: &At) -> Next {
        let direct = match self.meets(at.here, at.destination) {
            true => Next::Await(at.destination),
            false => Next::Nowhere,
        };
        if at.hops > 0 {
            return direct;
        }
        let place = at.slice as usize * self.nodes + usize::from(at.here);
        let up = &self.circuits[self.first[place] as usize..self.first[place + 1] as usize];
        if let Some(&(uplink, _)) = up.iter().find(|circuit| circuit.1 == at.destination) {
            return Next::Now(uplink);
        }
        // Any that leads to a rack from which there is a direct way, from the label's on.
        let begin = usize::from(at.label) % up.len().max(1);
        let around = up[begin..].iter().chain(&up[..begin]);
        let leads_on = |peer: u16| self.meets(peer, at.destination);
        let chosen = around.copied().find(|&(_, peer)| leads_on(peer));
        chosen.map_or(direct, |(uplink, _)| Next::Now(uplink))
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        self.stranded
    }

    fn bytes(&self) -> usize {
        self.met.len() + 4 * self.first.len() + size_of::<(u8, u16)>() * self.circuits.len()
    }
}
