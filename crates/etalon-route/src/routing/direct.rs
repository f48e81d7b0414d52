// SPDX-License-Identifier: MIT OR Apache-2.0
//! Direct: a packet waits at its source for a circuit to its destination.

use alloc::vec::Vec;

use crate::graph::Graph;
use crate::router::unmet;
use crate::router::{At, Next, Router};

#[derive(Debug)]
pub(super) struct Direct {
    racks: usize,
    met: Vec<bool>,
    stranded: Option<(usize, usize, usize)>,
}

impl Direct {
    pub(super) fn new(graph: &Graph) -> Direct {
        let met = graph.meetings();
        Direct {
            racks: graph.racks,
            stranded: unmet(graph, &met),
            met,
        }
    }
}

impl Router for Direct {
    fn next(&self, at: &At) -> Next {
        match self.met[usize::from(at.here) * self.racks + usize::from(at.destination)] {
            true => Next::Await(at.destination),
            false => Next::Nowhere,
        }
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        self.stranded
    }

    fn bytes(&self) -> usize {
        self.met.len()
    }
}
