// SPDX-License-Identifier: MIT OR Apache-2.0
//! The k shortest paths within each slice, of which a packet takes one from end to end: Opera's expander (NSDI 2020, section 3.1), and k
//! shortest paths over all circuits.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use etalon_scenario::Paths;

use crate::RouteError;
use crate::graph::Graph;
use crate::router::{At, Next, Rest, Router};
use crate::router::{MOST_BYTES, fits};

/// What ends a path that is shorter than others of its pair.
const END: u8 = Rest::END;
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
                    let found = search.find(from, to);
                    if found.count == 0 && table.stranded.is_none() {
                        table.stranded = Some((slice, from, to));
                    }
                    table.add(found);
                }
            }
            fits(table.paths.len(), 1)?;
        }
        table.paths.shrink_to_fit();
        Ok(table)
    }

    fn add(&mut self, found: &Found) {
        let longest = found.lengths.last().copied().unwrap_or(0);
        let all = found.lengths.len() * usize::from(longest);
        self.paths.reserve(2 + all);
        self.paths.extend([found.count, longest]);
        let mut hops = found.hops.iter();
        for &length in &found.lengths {
            // By hops, as paths are too short to be worth a copy.
            for hop in 0..longest {
                let uplink = if hop < length { hops.next() } else { None };
                self.paths.push(uplink.copied().unwrap_or(END));
            }
        }
    }
}

impl Router for PathTable {
    fn next(&self, at: &At) -> Next {
        self.way(at).0
    }

    fn way(&self, at: &At) -> (Next, Rest) {
        let nowhere = (Next::Nowhere, Rest::NONE);
        let pair = (at.entered as usize * self.racks + usize::from(at.source)) * self.racks
            + usize::from(at.destination);
        let first = self.first[pair] as usize;
        let (Some(&count), Some(&length)) = (self.paths.get(first), self.paths.get(first + 1))
        else {
            return nowhere;
        };
        if count == 0 || at.hops >= length {
            return nowhere;
        }
        let path = at.label % u16::from(count);
        let end = first + 2 + (usize::from(path) + 1) * usize::from(length);
        let left = &self.paths[end - usize::from(length - at.hops)..end];
        match left[0] {
            END => nowhere, // it has been led astray
            uplink => (Next::Now(uplink), Rest::of(&left[1..])),
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
    found: Found,
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
            found: Found::default(),
        };
        search.measure();
        search
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
                let there = self.first[node] as usize..self.first[node + 1] as usize;
                for &(_, peer) in &self.circuits[there] {
                    let place = usize::from(peer) * self.nodes + from;
                    if self.far[place] == FAR {
                        self.far[place] = hops;
                        queue.push_back(peer.into());
                    }
                }
            }
        }
    }

    fn find(&mut self, from: usize, to: usize) -> &Found {
        self.found.clear();
        let far = &self.far[to * self.nodes..][..self.nodes];
        let shortest = far[from];
        if shortest > LONGEST {
            return &self.found;
        }
        let longest = match self.wanted.equal {
            true => shortest,
            false => LONGEST.min(self.nodes as u8 - 1),
        };
        let towards = Towards {
            first: &self.first,
            circuits: &self.circuits,
            far,
            to: to as u16,
            most: self.wanted.paths,
            // Each pair begins elsewhere, so that not all take the first.
            key: self.seed ^ (from as u64) << 10 ^ to as u64,
        };
        for length in shortest..=longest {
            self.found.racks[0] = from as u16;
            self.found.extend(&towards, from, (0, length));
            if self.found.is_done(&towards) {
                break;
            }
        }
        &self.found
    }
}

/// The paths to one rack that are sought, from one other.
struct Towards<'a> {
    first: &'a [u32],
    circuits: &'a [(u8, u16)],
    /// Hops from each rack.
    far: &'a [u8],
    to: u16,
    /// How many paths are enough.
    most: u8,
    key: u64,
}

/// The paths of a pair that were found so far.
#[derive(Default)]
struct Found {
    /// The racks, and the uplinks, of the path in hand, by hops.
    racks: [u16; LONGEST as usize],
    uplinks: [u8; LONGEST as usize],
    /// Uplinks of one path after the other, and the length of each.
    hops: Vec<u8>,
    lengths: Vec<u8>,
    count: u8,
    visits: u32,
}

impl Found {
    fn clear(&mut self) {
        self.hops.clear();
        self.lengths.clear();
        (self.count, self.visits) = (0, 0);
    }

    fn is_done(&self, towards: &Towards<'_>) -> bool {
        self.count == towards.most || self.visits > MOST_VISITS
    }

    /// Paths of `left` more hops, at least one, on from a rack to which `gone` have led, that visit none twice.
    fn extend(&mut self, towards: &Towards<'_>, node: usize, (gone, left): (usize, u8)) {
        self.visits += 1;
        let Towards { first, to, .. } = *towards;
        let all = &towards.circuits[first[node] as usize..first[node + 1] as usize];
        if all.is_empty() {
            return;
        }
        let mut turn = (mix(towards.key ^ (node as u64) << 20) % all.len() as u64) as usize;
        for _ in 0..all.len() {
            let (uplink, peer) = all[turn];
            turn = if turn + 1 < all.len() { turn + 1 } else { 0 };
            if left == 1 {
                if peer == to {
                    self.uplinks[gone] = uplink;
                    self.end(gone + 1);
                }
            } else {
                let there = usize::from(peer);
                // There too early, too far, or there already.
                let visited = &self.racks[..=gone];
                if peer == to || towards.far[there] >= left || visited.contains(&peer) {
                    continue;
                }
                self.racks[gone + 1] = peer;
                self.uplinks[gone] = uplink;
                self.extend(towards, there, (gone + 1, left - 1));
            }
            if self.is_done(towards) {
                return;
            }
        }
    }

    /// The path in hand ends after so many hops.
    fn end(&mut self, length: usize) {
        self.visits += 1;
        self.hops.extend_from_slice(&self.uplinks[..length]);
        self.lengths.push(length as u8);
        self.count += 1;
    }
}

/// Bits of which each depends on each (SplitMix64's).
fn mix(bits: u64) -> u64 {
    crate::Rng::new(bits).bits()
}
