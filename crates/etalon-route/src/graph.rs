// SPDX-License-Identifier: MIT OR Apache-2.0
//! The circuits of each slice as a graph of racks, less what has failed.

use alloc::vec::Vec;

use etalon_scenario::{Ocs, Part, Slices};
use etalon_units::Rate;

use crate::NONE;

/// Who reaches whom in one hop, in each slice.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// Slices of a cycle.
    pub(crate) slices: usize,
    /// Racks with hosts: where packets come from and go to.
    pub(crate) racks: usize,
    /// Racks and relays.
    pub(crate) nodes: usize,
    /// Uplinks of each.
    pub(crate) uplinks: usize,
    /// The rate of a circuit.
    pub(crate) rate: Rate,
    /// The mean length of a slice in ns.
    pub(crate) slice_ns: u64,
    /// Nothing has failed.
    pub(crate) is_whole: bool,
    /// Circuits are asked for: any rack may have one to any other later.
    is_asked: bool,
    peers: Vec<u16>,
    stays: Vec<bool>,
}

impl Graph {
    pub(crate) fn new(ocs: &Ocs, racks: u16, slices: &Slices, failed: &[Part]) -> Graph {
        let nodes = racks + ocs.relays;
        let uplinks = ocs.uplinks.len();
        let mut peers = Vec::with_capacity(slices.len() * usize::from(nodes) * uplinks);
        let mut stays = Vec::with_capacity(slices.len() * uplinks);
        for slice in 0..slices.len() {
            for node in 0..nodes {
                for uplink in 0..uplinks {
                    let number = uplink as u8;
                    let peer = slices.peer(slice, node, uplink).filter(|&peer| {
                        !failed.iter().any(|part| {
                            part.stops_sending(node, number) || part.stops_receiving(peer, number)
                        })
                    });
                    peers.push(peer.unwrap_or(NONE));
                }
            }
            stays.extend((0..uplinks).map(|uplink| slices.stays(slice, uplink)));
        }
        Graph {
            slices: slices.len(),
            racks: racks.into(),
            nodes: nodes.into(),
            uplinks,
            rate: ocs.uplinks.first().map_or(Rate(1), |switch| switch.rate),
            slice_ns: slices.cycle().0 / slices.len() as u64,
            is_whole: failed.is_empty(),
            is_asked: ocs.asked.is_some(),
            peers,
            stays,
        }
    }

    /// The uplinks of a rack that lead somewhere in a slice, and where.
    pub(crate) fn circuits(&self, slice: usize, node: usize) -> impl Iterator<Item = (u8, u16)> {
        let first = (slice * self.nodes + node) * self.uplinks;
        let row = &self.peers[first..first + self.uplinks];
        (0..)
            .zip(row.iter().copied())
            .filter(|&(_, peer)| peer != NONE)
    }

    /// Whether a switch keeps its circuits beyond the end of a slice.
    pub(crate) fn stays(&self, slice: usize, uplink: u8) -> bool {
        self.stays[slice * self.uplinks + usize::from(uplink)]
    }

    /// The place of (slice, here, destination) in a table.
    pub(crate) fn place(&self, slice: usize, here: usize, destination: usize) -> usize {
        (slice * self.nodes + here) * self.racks + destination
    }

    /// Whether each rack has a circuit to each other in some slice, or may have, by (here, destination).
    pub(crate) fn meetings(&self) -> Vec<bool> {
        let mut met = alloc::vec![self.is_asked; self.nodes * self.racks];
        for slice in 0..self.slices {
            for node in 0..self.nodes {
                for (_, peer) in self.circuits(slice, node) {
                    if usize::from(peer) < self.racks {
                        met[node * self.racks + usize::from(peer)] = true;
                    }
                }
            }
        }
        met
    }
}
