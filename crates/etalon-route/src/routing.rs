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
use crate::router::Router;

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
