// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet network beside the circuits.

use crate::graph::Graph;
use crate::router::{At, Next, Router};

#[derive(Debug)]
pub(super) struct PacketNetwork {
    uplink: u8,
}

impl PacketNetwork {
    pub(super) fn new(graph: &Graph) -> PacketNetwork {
        PacketNetwork {
            uplink: graph.uplinks as u8,
        }
    }
}

impl Router for PacketNetwork {
    fn next(&self, _: &At) -> Next {
        Next::Now(self.uplink)
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        None
    }

    fn bytes(&self) -> usize {
        0
    }
}
