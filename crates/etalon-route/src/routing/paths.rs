// SPDX-License-Identifier: MIT OR Apache-2.0
//! The k shortest paths within each slice, of which a packet takes one from end to end: Opera's expander (NSDI 2020, section 3.1), and k
//! shortest paths over all circuits.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use etalon_scenario::Paths;

use super::{MOST_BYTES, fits};
use crate::RouteError;
use crate::graph::Graph;
use crate::ways::{At, Next, Router};

/// What ends a path that is shorter than others of its pair.
const END: u8 = u8::MAX;
/// What stands for no way.
const FAR: u8 = u8::MAX;
/// Hops of a path at most.
const LONGEST: u8 = 30;
/// Racks that are visited for one pair at most: for graphs of which so many paths as are asked for hardly exist.
const MOST_VISITS: u32 = 100_000;

/// The paths of each (slice, source, destination): how many, how many bytes each has, and uplink by uplink.
#[derive(Debug)]
pub(super) struct PathTable {
    racks: usize,
    /// Where a pair's begin in `paths`.
    first: Vec<u32>,
    paths: Vec<u8>,
    stranded: Option<(usize, usize, usize)>,
}

impl PathTable {
    /// Up to `wanted.paths` of each pair; only over switches that stay to the end of the slice and beyond, if `staying`.
    pub(super) fn new(
        graph: &Graph,
        wanted: Paths,
        staying: bool,
        seed: u64,
    ) -> Result<PathTable, RouteError> {
        let racks = graph.racks;
        let pairs = graph.slices * racks * racks;
        fits(pairs, 4 + 2 + usize::from(wanted.paths))?;
        let mut table = PathTable {
            racks,
            first: Vec::with_capacity(pairs),
            paths: Vec::new(),
            stranded: None,
        };
        for slice in 0..graph.slices {
            let mut search = Search::new(graph, slice, staying, wanted, seed);
            for from in 0..racks {
                for to in 0..racks {
                    table.first.push(table.paths.len() as u32);
                    if from == to {
                        continue;
                    }
                    search.find(from, to);
                    if search.count == 0 && table.stranded.is_none() {
                        table.stranded = Some((slice, from, to));
                    }
                    table.add(&search);
                }
            }
            fits(table.paths.len(), 1)?;
        }
        Ok(table)
    }

    fn add(&mut self, search: &Search) {
        let longest = search.lengths.last().copied().unwrap_or(0);
        self.paths.extend([search.count, longest]);
        let mut found = &search.found[..];
        for &length in &search.lengths {
            let (path, rest) = found.split_at(length.into());
            found = rest;
            self.paths.extend_from_slice(path);
            let short = usize::from(longest - length);
            self.paths.extend(core::iter::repeat_n(END, short));
        }
    }
}

impl Router for PathTable {
    fn next(&self, at: &At) -> Next {
        let pair = (at.entered as usize * self.racks + usize::from(at.source)) * self.racks
            + usize::from(at.destination);
        let first = self.first[pair] as usize;
        let (Some(&count), Some(&length)) = (self.paths.get(first), self.paths.get(first + 1))
        else {
            return Next::Nowhere;
        };
        if count == 0 || at.hops >= length {
            return Next::Nowhere;
        }
        let path = usize::from(at.label) % usize::from(count);
        let place = first + 2 + path * usize::from(length) + usize::from(at.hops);
        match self.paths[place] {
            END => Next::Nowhere, // it has been led astray
            uplink => Next::Now(uplink),
        }
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        self.stranded
    }

    fn bytes(&self) -> usize {
        4 * self.first.capacity() + self.paths.capacity()
    }
}

const _: () = assert!(MOST_BYTES <= u32::MAX as usize);

/// Finds the paths of one slice, shorter ones first.
struct Search {
    nodes: usize,
    wanted: Paths,
    seed: u64,
    /// Where a rack's circuits begin in `circuits`; one more at the end.
    first: Vec<u32>,
    circuits: Vec<(u8, u16)>,
    /// Hops to each rack, from each.
    far: Vec<u8>,
    /// The racks, and the uplinks, of the path in hand.
    racks: Vec<u16>,
    uplinks: Vec<u8>,
    /// What was found: uplinks of one path after the other, and the length of each.
    found: Vec<u8>,
    lengths: Vec<u8>,
    count: u8,
    visits: u32,
}

impl Search {
    fn new(graph: &Graph, slice: usize, staying: bool, wanted: Paths, seed: u64) -> Search {
        let (mut first, mut circuits) = (Vec::new(), Vec::new());
        for node in 0..graph.nodes {
            first.push(circuits.len() as u32);
            let there = graph.circuits(slice, node);
            circuits.extend(there.filter(|&(uplink, _)| !staying || graph.stays(slice, uplink)));
        }
        first.push(circuits.len() as u32);
        let mut search = Search {
            nodes: graph.nodes,
            wanted,
            seed: seed ^ (slice as u64) << 40,
            first,
            circuits,
            far: alloc::vec![FAR; graph.nodes * graph.nodes],
            racks: Vec::new(),
            uplinks: Vec::new(),
            found: Vec::new(),
            lengths: Vec::new(),
            count: 0,
            visits: 0,
        };
        search.measure();
        search
    }

    fn circuits(&self, node: usize) -> core::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// Breadth first from each rack.
    fn measure(&mut self) {
        let mut queue = VecDeque::new();
        for from in 0..self.nodes {
            self.far[from * self.nodes + from] = 0;
            queue.push_back(from);
            while let Some(node) = queue.pop_front() {
                let hops = self.far[node * self.nodes + from]
                    .saturating_add(1)
                    .min(FAR - 1);
                for at in self.circuits(node) {
                    let place = usize::from(self.circuits[at].1) * self.nodes + from;
                    if self.far[place] == FAR {
                        self.far[place] = hops;
                        queue.push_back(self.circuits[at].1.into());
                    }
                }
            }
        }
    }

    fn find(&mut self, from: usize, to: usize) {
        self.found.clear();
        self.lengths.clear();
        (self.count, self.visits) = (0, 0);
        let shortest = self.far[to * self.nodes + from];
        if shortest > LONGEST {
            return;
        }
        let longest = match self.wanted.equal {
            true => shortest,
            false => LONGEST.min(self.nodes as u8 - 1),
        };
        for length in shortest..=longest {
            self.racks.clear();
            self.uplinks.clear();
            self.racks.push(from as u16);
            self.extend(from, to, length);
            if self.is_done() {
                break;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.count == self.wanted.paths || self.visits > MOST_VISITS
    }

    /// Paths of `left` more hops, on from a rack, that visit none twice.
    fn extend(&mut self, node: usize, to: usize, left: u8) {
        self.visits += 1;
        if left == 0 {
            self.found.extend_from_slice(&self.uplinks);
            self.lengths.push(self.uplinks.len() as u8);
            self.count += 1;
            return;
        }
        let all = self.circuits(node);
        if all.is_empty() {
            return;
        }
        // Each pair begins elsewhere, so that not all take the first.
        let key = u64::from(self.racks[0]) << 10 ^ (node as u64) << 20 ^ to as u64;
        let turn = all.start + (mix(self.seed ^ key) % all.len() as u64) as usize;
        let far = to * self.nodes;
        for at in (turn..all.end).chain(all.start..turn) {
            let (uplink, peer) = self.circuits[at];
            let there = usize::from(peer);
            // Too far, there too early, or there already.
            if self.far[far + there] >= left
                || (there == to && left > 1)
                || self.racks.contains(&peer)
            {
                continue;
            }
            self.racks.push(peer);
            self.uplinks.push(uplink);
            self.extend(there, to, left - 1);
            self.racks.pop();
            self.uplinks.pop();
            if self.is_done() {
                return;
            }
        }
    }
}

/// Bits of which each depends on each (SplitMix64's).
fn mix(bits: u64) -> u64 {
    crate::Rng::new(bits).bits()
}
