// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways of routing, a file each. A new one is a variant of `Routing` in `etalon-scenario`, a file here, and a line below.

mod direct;
mod earliest;
mod expanded;
mod packet;
mod paths;
mod shortest;
mod table;
mod ucmp;
mod vlb;

use alloc::boxed::Box;

use etalon_scenario::Routing;

pub use ucmp::ucmp_label;

use crate::RouteError;
use crate::graph::Graph;
use crate::ways::Router;

/// Bytes of a table at most.
const MOST_BYTES: usize = 1 << 30;

/// The tables of a routing.
pub(crate) fn router(
    routing: &Routing,
    graph: &Graph,
    seed: u64,
) -> Result<Box<dyn Router>, RouteError> {
    Ok(match routing {
        Routing::Direct | Routing::RotorLb(_) => Box::new(direct::Direct::new(graph)),
        Routing::Vlb => Box::new(vlb::Vlb::new(graph)),
        Routing::Expander(paths) => Box::new(paths::PathTable::new(graph, *paths, true, seed)?),
        Routing::Ksp(paths) => Box::new(paths::PathTable::new(graph, *paths, false, seed)?),
        Routing::Shortest => Box::new(shortest::Shortest::new(graph)?),
        Routing::Earliest(earliest) => Box::new(earliest::Earliest::new(graph, *earliest)?),
        Routing::Ucmp(ucmp) => Box::new(ucmp::Ucmp::new(graph, *ucmp)?),
        Routing::Packet => Box::new(packet::PacketNetwork::new(graph)),
        Routing::Table(entries) => Box::new(table::Table::new(graph, entries)?),
    })
}

/// That a table of so many entries of so many bytes fits.
fn fits(entries: usize, each: usize) -> Result<(), RouteError> {
    match entries.checked_mul(each) {
        Some(bytes) if bytes <= MOST_BYTES => Ok(()),
        bytes => Err(RouteError::TooLarge {
            bytes: bytes.unwrap_or(usize::MAX),
            most: MOST_BYTES,
        }),
    }
}

/// The first pair of racks that never has a circuit, as (slice, here, destination).
fn unmet(graph: &Graph, met: &[bool]) -> Option<(usize, usize, usize)> {
    (0..graph.racks * graph.racks)
        .map(|pair| (pair / graph.racks, pair % graph.racks))
        .find(|&(here, to)| here != to && !met[here * graph.racks + to])
        .map(|(here, to)| (0, here, to))
}
