// SPDX-License-Identifier: MIT OR Apache-2.0
//! Earliest arrival: hop on, hop off, whatever gets there first.

use etalon_scenario::Earliest as Settings;

use super::expanded::Expanded;
use crate::RouteError;
use crate::graph::Graph;
use crate::router::{At, Next, Router};

/// Hops of a way at most.
const MOST_HOPS: usize = 8;

#[derive(Debug)]
pub(super) struct Earliest {
    ways: Expanded,
    /// For each (slice, here, destination) the fewest hops of the ways that arrive first.
    hops: alloc::vec::Vec<u8>,
    nodes: usize,
    racks: usize,
}

impl Earliest {
    pub(super) fn new(graph: &Graph, settings: Settings) -> Result<Earliest, RouteError> {
        let ways = Expanded::new(graph, MOST_HOPS, settings.hops_per_slice)?;
        let mut hops = alloc::vec![0; graph.slices * graph.nodes * graph.racks];
        for slice in 0..graph.slices {
            for here in 0..graph.nodes {
                for to in (0..graph.racks).filter(|&to| to != here) {
                    let first = ways.after(MOST_HOPS, slice, here, to);
                    let fewest = (1..=MOST_HOPS).find(|&h| ways.after(h, slice, here, to) == first);
                    hops[graph.place(slice, here, to)] = fewest.unwrap_or(0) as u8;
                }
            }
        }
        Ok(Earliest {
            ways,
            hops,
            nodes: graph.nodes,
            racks: graph.racks,
        })
    }
}

impl Router for Earliest {
    fn next(&self, at: &At) -> Next {
        let (slice, here) = (at.slice as usize, usize::from(at.here));
        let to = usize::from(at.destination);
        let hops = self.hops[(slice * self.nodes + here) * self.racks + to];
        self.ways.next(hops.into(), slice, here, to, at.label)
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        self.ways.stranded()
    }

    fn bytes(&self) -> usize {
        self.ways.bytes() + self.hops.len()
    }
}
