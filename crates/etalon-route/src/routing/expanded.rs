// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-expanded graph: what arrives first, over circuits of this slice and of those to come.

use alloc::vec::Vec;

use crate::RouteError;
use crate::graph::Graph;
use crate::router::fits;
use crate::{NONE, router::Next};

/// Ways of the same length that are kept of each.
pub(super) const TIES: usize = 4;
/// What stands for no way.
const NEVER: u32 = u32::MAX;
/// Cycles that are looked through. A way may take one, and the last have no successor.
const CYCLES: usize = 3;

/// For each number of hops that are left, and each (slice, here, destination): in which slice a packet arrives, counted from this one, and
/// for which racks it may wait.
#[derive(Debug)]
pub(super) struct Expanded {
    slices: usize,
    nodes: usize,
    racks: usize,
    /// Hops that are left at most.
    budgets: usize,
    after: Vec<u32>,
    next: Vec<[u16; TIES]>,
}

/// Arrivals at one destination at the start of a slice, by hops left and rack.
struct Column {
    arrival: Vec<u32>,
    next: Vec<[u16; TIES]>,
}

impl Expanded {
    pub(super) fn new(
        graph: &Graph,
        budgets: usize,
        hops_per_slice: u8,
    ) -> Result<Expanded, RouteError> {
        let entries = graph.slices * graph.nodes * graph.racks * budgets;
        fits(entries, size_of::<u32>() + size_of::<[u16; TIES]>())?;
        let mut made = Expanded {
            slices: graph.slices,
            nodes: graph.nodes,
            racks: graph.racks,
            budgets,
            after: alloc::vec![NEVER; entries],
            next: alloc::vec![[NONE; TIES]; entries],
        };
        for to in 0..graph.racks {
            made.lead_to(graph, to, hops_per_slice);
        }
        Ok(made)
    }

    /// From the last slice back to the first.
    fn lead_to(&mut self, graph: &Graph, to: usize, hops_per_slice: u8) {
        let size = self.budgets * self.nodes;
        let mut later = Column {
            arrival: alloc::vec![NEVER; size],
            next: alloc::vec![[NONE; TIES]; size],
        };
        for slot in (0..CYCLES * self.slices).rev() {
            let slice = slot % self.slices;
            let mut now = later.arrival.clone();
            let mut next = later.next.clone();
            for _ in 0..hops_per_slice {
                let before = now.clone();
                self.hop(
                    graph,
                    (slot as u32, slice, to),
                    &before,
                    (&mut now, &mut next),
                );
                if before == now {
                    break;
                }
            }
            if slot < self.slices {
                self.keep((slot as u32, to), &now, &next);
            }
            later = Column { arrival: now, next };
        }
    }

    /// What one hop in a slice improves, for a destination.
    fn hop(
        &self,
        graph: &Graph,
        (slot, slice, to): (u32, usize, usize),
        before: &[u32],
        (now, next): (&mut [u32], &mut [[u16; TIES]]),
    ) {
        for node in (0..self.nodes).filter(|&node| node != to) {
            for (_, peer) in graph.circuits(slice, node) {
                let there = usize::from(peer);
                for left in 0..self.budgets {
                    // By number of hops that are left, less one.
                    let arrival = match (there == to, left.checked_sub(1)) {
                        (true, _) => slot,
                        (false, Some(fewer)) => before[fewer * self.nodes + there],
                        (false, None) => NEVER,
                    };
                    let place = left * self.nodes + node;
                    if arrival < now[place] {
                        now[place] = arrival;
                        next[place] = [NONE; TIES];
                        next[place][0] = peer;
                    } else if arrival == now[place] && arrival != NEVER {
                        let ties = &mut next[place];
                        if !ties.contains(&peer) {
                            if let Some(free) = ties.iter_mut().find(|tie| **tie == NONE) {
                                *free = peer;
                            }
                        }
                    }
                }
            }
        }
    }

    fn keep(&mut self, (slot, to): (u32, usize), now: &[u32], next: &[[u16; TIES]]) {
        for left in 0..self.budgets {
            for node in 0..self.nodes {
                let place = self.place(left, slot as usize, node, to);
                let from = left * self.nodes + node;
                self.after[place] = match now[from] {
                    NEVER => NEVER,
                    arrival => arrival - slot,
                };
                self.next[place] = next[from];
            }
        }
    }

    fn place(&self, left: usize, slice: usize, here: usize, to: usize) -> usize {
        ((left * self.slices + slice) * self.nodes + here) * self.racks + to
    }

    /// Slices until a packet that may take so many hops arrives; none if it does not.
    pub(super) fn after(&self, hops: usize, slice: usize, here: usize, to: usize) -> Option<u32> {
        let left = hops.checked_sub(1)?.min(self.budgets - 1);
        let after = self.after[self.place(left, slice, here, to)];
        (after != NEVER).then_some(after)
    }

    /// Where a packet goes that may take so many hops, by its label among ways of the same length.
    pub(super) fn next(
        &self,
        hops: usize,
        slice: usize,
        here: usize,
        to: usize,
        label: u16,
    ) -> Next {
        let left = hops.max(1).min(self.budgets) - 1;
        let ties = &self.next[self.place(left, slice, here, to)];
        let count = ties.iter().filter(|&&tie| tie != NONE).count();
        match count {
            0 => Next::Nowhere,
            _ => Next::Await(ties[usize::from(label) % count]),
        }
    }

    /// The first (slice, here, destination) without a way of any length.
    pub(super) fn stranded(&self) -> Option<(usize, usize, usize)> {
        let all = (0..self.slices * self.racks * self.racks).map(|at| {
            let (slice, pair) = (
                at / (self.racks * self.racks),
                at % (self.racks * self.racks),
            );
            (slice, pair / self.racks, pair % self.racks)
        });
        all.into_iter().find(|&(slice, here, to)| {
            here != to && self.after(self.budgets, slice, here, to).is_none()
        })
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<u32>() * self.after.len() + size_of::<[u16; TIES]>() * self.next.len()
    }
}
