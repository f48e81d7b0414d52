// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of circuits: tables of slices, and distances in them.

use etalon_route::{At, Distances, Next, Rng, RouteError, Slices, Ways};
use etalon_scenario::{Class, Network, Scenario};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Peers, slice by slice, rack by rack, switch by switch; and of each slice the switch that turns dark at its end, if one does.
type Table<'py> = (Bound<'py, PyArray1<u16>>, Vec<Option<usize>>);

fn refusal(error: RouteError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn table<'py>(py: Python<'py>, slices: &Slices) -> Table<'py> {
    let ending = (0..slices.len())
        .map(|slice| slices.ending(slice))
        .collect();
    (PyArray1::from_slice(py, slices.peers()), ending)
}

/// A random network of this kind ("rotor", "opera", "regular").
#[pyfunction]
pub(crate) fn draw_circuits<'py>(
    py: Python<'py>,
    kind: &str,
    racks: usize,
    switches: usize,
    seed: u64,
) -> PyResult<Table<'py>> {
    let rng = &mut Rng::new(seed);
    let made = match kind {
        "rotor" => etalon_route::rotor(racks, switches, rng),
        "opera" => etalon_route::opera(racks, switches, rng),
        "regular" => etalon_route::regular(racks, switches, rng),
        _ => return Err(PyValueError::new_err("unknown kind of network")),
    };
    Ok(table(py, &made.map_err(refusal)?))
}

/// Hops between all racks, slice by slice, from rack by rack, to rack by rack; 255 where there is no way. `failed` has a truth value for
/// each rack and switch.
#[pyfunction]
pub(crate) fn circuit_hops<'py>(
    py: Python<'py>,
    racks: usize,
    switches: usize,
    peers: PyReadonlyArray1<'py, u16>,
    ending: Vec<Option<usize>>,
    failed: PyReadonlyArray1<'py, bool>,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let (peers, failed) = (peers.as_slice()?.to_vec(), failed.as_slice()?.to_vec());
    let ending: Vec<usize> = ending
        .into_iter()
        .map(|one| one.unwrap_or(switches))
        .collect();
    if failed.len() != racks * switches {
        return Err(PyValueError::new_err(
            "failures need a truth value for each rack and switch",
        ));
    }
    let slices = Slices::new(racks, switches, peers, ending).map_err(refusal)?;
    let has_failed = |_, rack: usize, switch: usize| failed[rack * switches + switch];
    let distances = py.detach(|| Distances::without(&slices, has_failed));
    Ok(PyArray1::from_slice(py, distances.all()))
}

/// A static graph as matchings, uplink by uplink: for each node the one that it leads to, 65535 for none.
#[pyfunction]
pub(crate) fn match_graph(neighbours: Vec<Vec<u16>>) -> PyResult<Vec<Vec<u16>>> {
    let nodes = neighbours.len();
    match neighbours
        .iter()
        .flatten()
        .any(|&peer| usize::from(peer) >= nodes)
    {
        true => Err(PyValueError::new_err("a neighbour that there is not")),
        false => Ok(etalon_route::matched(nodes, &neighbours)),
    }
}

/// Entries of a ToR's tables in Opera.
#[pyfunction]
pub(crate) fn routing_entries(racks: u64, switches: u64) -> u64 {
    etalon_route::entries(racks, switches)
}

/// The routing tables of a network of circuits.
#[pyclass(frozen)]
pub(crate) struct CircuitWays {
    ways: Ways,
}

#[pymethods]
impl CircuitWays {
    /// Of a resolved plan, in JSON.
    #[new]
    fn new(py: Python<'_>, plan: &str) -> PyResult<CircuitWays> {
        let refuse = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let scenario = Scenario::from_json(plan).map_err(|error| refuse(&error))?;
        let Network::Ocs(ocs) = &scenario.network else {
            return Err(PyValueError::new_err("the network has no circuit switches"));
        };
        let slices = etalon_scenario::Slices::of(&ocs.uplinks).map_err(|error| refuse(&error))?;
        let (racks, seed) = (scenario.hosts.racks, scenario.seed);
        let ways = py.detach(|| Ways::new(ocs, racks, &slices, seed, &[]));
        Ok(CircuitWays {
            ways: ways.map_err(refusal)?,
        })
    }

    /// Bytes of all tables.
    fn bytes(&self) -> usize {
        self.ways.bytes()
    }

    /// What becomes of a packet: ("deliver", 0), ("now", uplink), ("await", rack) or ("nowhere", 0). `slices` are that in which it came to
    /// its first rack and the present one; `racks` where it comes from, is and goes to; hops that it took; its class; its label.
    fn next(
        &self,
        slices: (u32, u32),
        racks: (u16, u16, u16),
        hops: u8,
        class: u8,
        label: u16,
    ) -> (&'static str, u16) {
        let at = At {
            entered: slices.0,
            slice: slices.1,
            source: racks.0,
            here: racks.1,
            destination: racks.2,
            hops,
            class: Class(class),
            label,
        };
        match self.ways.next(&at) {
            Next::Deliver => ("deliver", 0),
            Next::Now(uplink) => ("now", uplink.into()),
            Next::Await(rack) => ("await", rack),
            Next::Nowhere => ("nowhere", 0),
        }
    }
}
