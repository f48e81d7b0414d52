// SPDX-License-Identifier: MIT OR Apache-2.0
//! Over the fewest circuits, hop by hop: each rack looks at the circuits that are up now, among equals at a packet's label, and sends
//! it over any uplink that leads to the next rack. So parallel circuits share what goes there.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::graph::Graph;
use crate::router::fits;
use crate::router::{At, Next, Router};
use crate::{NONE, RouteError};

#[derive(Debug)]
pub(super) struct Shortest {
    nodes: usize,
    racks: usize,
    /// By (slice, here, destination): hops, [`NONE`] for no way.
    hops: Vec<u16>,
    /// Where the circuits of (slice, here) begin in `peers`; one more at the end.
    first: Vec<u32>,
    peers: Vec<u16>,
    stranded: Option<(usize, usize, usize)>,
}

impl Shortest {
    pub(super) fn new(graph: &Graph) -> Result<Shortest, RouteError> {
        let size = graph.slices * graph.nodes * graph.racks;
        fits(size, 2)?;
        let (mut first, mut peers) = (Vec::new(), Vec::new());
        for slice in 0..graph.slices {
            for node in 0..graph.nodes {
                first.push(peers.len() as u32);
                peers.extend(graph.circuits(slice, node).map(|(_, peer)| peer));
            }
        }
        first.push(peers.len() as u32);
        let mut table = Shortest {
            nodes: graph.nodes,
            racks: graph.racks,
            hops: alloc::vec![NONE; size],
            first,
            peers,
            stranded: None,
        };
        for slice in 0..graph.slices {
            table.count(graph, slice);
        }
        // Who does not reach a rack now waits for a circuit to it.
        let met = graph.meetings();
        table.stranded = (0..graph.slices * graph.racks * graph.racks)
            .map(|place| {
                let pair = place % (graph.racks * graph.racks);
                let slice = place / (graph.racks * graph.racks);
                (slice, pair / graph.racks, pair % graph.racks)
            })
            .find(|&(slice, here, to)| {
                table.hops[graph.place(slice, here, to)] == NONE && !met[here * graph.racks + to]
            });
        Ok(table)
    }

    /// Counts the hops to each rack, backwards from it.
    fn count(&mut self, graph: &Graph, slice: usize) {
        let mut before: Vec<Vec<u16>> = alloc::vec![Vec::new(); graph.nodes];
        for node in 0..graph.nodes {
            for (_, peer) in graph.circuits(slice, node) {
                before[usize::from(peer)].push(node as u16);
            }
        }
        let mut queue = VecDeque::new();
        for to in 0..graph.racks {
            self.hops[graph.place(slice, to, to)] = 0;
            queue.push_back(to as u16);
            while let Some(here) = queue.pop_front() {
                let hops = self.hops[graph.place(slice, here.into(), to)];
                for &node in &before[usize::from(here)] {
                    let place = graph.place(slice, node.into(), to);
                    if self.hops[place] == NONE {
                        self.hops[place] = hops + 1;
                        queue.push_back(node);
                    }
                }
            }
        }
    }

    fn hops(&self, row: usize, to: u16) -> u16 {
        self.hops[row * self.racks + usize::from(to)]
    }
}

impl Router for Shortest {
    fn next(&self, at: &At) -> Next {
        let slice = at.slice as usize * self.nodes;
        let row = slice + usize::from(at.here);
        let hops = self.hops(row, at.destination);
        if hops == NONE || hops == 1 {
            return Next::Await(at.destination);
        }
        let up = &self.peers[self.first[row] as usize..self.first[row + 1] as usize];
        let leads = |peer: &&u16| {
            let left = self.hops(slice + usize::from(**peer), at.destination);
            left != NONE && left + 1 == hops
        };
        let ways = up.iter().filter(leads).count();
        let way = usize::from(at.label) % ways.max(1);
        match up.iter().filter(leads).nth(way) {
            Some(&next) => Next::Await(next),
            None => Next::Nowhere,
        }
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        self.stranded
    }

    fn bytes(&self) -> usize {
        2 * (self.hops.len() + self.peers.len()) + 4 * self.first.len()
    }
}
