// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of ranks: the algorithms there are, and whether they fit.

use std::path::PathBuf;

use etalon_jobs::goal::{Trace, Unread};
use etalon_jobs::{Program, Reach, Ways};
use etalon_scenario::{CrossConnect, Job, Pair, Plane, Work, deal};
use pyo3::prelude::*;

use crate::convert::value_error;

/// A step: its number, and who sends how many bytes to whom.
type Exchange = (u32, Vec<(u16, u16, u64)>);

/// The algorithms of collectives: what each is for, its name, and a line about it.
#[pyfunction]
pub(crate) fn collective_algorithms() -> Vec<(&'static str, &'static str, &'static str)> {
    etalon_jobs::ALGORITHMS
        .iter()
        .map(|entry| (entry.kind.name(), entry.name, entry.about))
        .collect()
}

fn work(deeds: &str) -> PyResult<Vec<Work>> {
    Work::list_from_json(deeds).map_err(value_error)
}

/// Steps of an iteration of a list of work among so many ranks; those of algorithms that do not fit are none.
#[pyfunction]
pub(crate) fn job_steps(deeds: &str, ranks: u32) -> PyResult<u64> {
    Ok(etalon_jobs::count_steps(&work(deeds)?, ranks))
}

/// The first algorithm of a list of work that does not fit, with its place and a sentence; else how many connections there will be.
#[pyfunction]
pub(crate) fn job_problem(py: Python<'_>, deeds: &str, ranks: u32) -> PyResult<Py<PyAny>> {
    let work = work(deeds)?;
    let found = py.detach(|| etalon_jobs::connections(&work, ranks));
    Ok(match found {
        Ok(connections) => connections.into_pyobject(py)?.into_any().unbind(),
        Err(wrong) => wrong.into_pyobject(py)?.into_any().unbind(),
    })
}

/// What is wrong with the circuits of a job: the key, and a sentence. `first` are up at first; `packets` if there is a packet network,
/// `bypass` if acknowledgements need no way back. Racks have so many uplinks, and messages take so many circuits in a row at most.
#[pyfunction]
pub(crate) fn job_circuits(
    py: Python<'_>,
    job: &str,
    first: Vec<(u16, u16)>,
    packets: bool,
    bypass: bool,
    reach: (u8, u16),
) -> PyResult<Option<(String, String)>> {
    let job = Job::from_json(job).map_err(value_error)?;
    let mut ways = Ways {
        first: first.into_iter().map(Pair::from).collect(),
        packets,
        bypass,
        reach: Reach {
            uplinks: reach.0,
            hops: reach.1,
        },
    };
    ways.first.sort_unstable();
    Ok(py.detach(|| etalon_jobs::circuits(&job, &ways).err()))
}

/// Steps of an iteration of a job in which racks exchange messages: the number of each, and bytes by source and destination rack.
#[pyfunction]
pub(crate) fn job_messages(py: Python<'_>, job: &str) -> PyResult<Vec<Exchange>> {
    let job = Job::from_json(job).map_err(value_error)?;
    let steps = py.detach(|| {
        let program = Program::new(&job, 0, 0).map_err(|why| why.0)?;
        Ok(etalon_jobs::exchanges(&job, &program))
    });
    let steps = steps.map_err(|why: String| value_error(why))?;
    let flat = |messages: Vec<(Pair, u64)>| messages.into_iter().map(|(p, b)| (p.src, p.dst, b));
    let steps = steps.into_iter();
    Ok(steps
        .map(|(step, all)| (step, flat(all).collect()))
        .collect())
}

/// The uplink of each circuit of a set, from 0 on, with its source and destination rack. No rack has more circuits than uplinks.
#[pyfunction]
pub(crate) fn deal_circuits(
    circuits: Vec<(u16, u16)>,
    uplinks: u8,
) -> PyResult<Vec<(u8, u16, u16)>> {
    let pairs: Vec<Pair> = circuits.into_iter().map(Pair::from).collect();
    let dealt = deal(&pairs, uplinks, &[]);
    let dealt = dealt.map_err(|one| value_error(format!("rack {} is crowded", one.rack)))?;
    let uplink = |one: &CrossConnect| one.plane.0 - Plane::CIRCUIT.0;
    let dealt = dealt.iter();
    Ok(dealt
        .map(|one| (uplink(one), one.pair.src, one.pair.dst))
        .collect())
}

/// What a trace in GOAL comes to: ranks, operations, and pairs of ranks that exchange anything; or the line at which it is wrong (0
/// for the whole file), and a sentence.
#[pyfunction]
pub(crate) fn goal_contents(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    let read = py.detach(|| {
        Trace::read(&path).map(|trace| (trace.ranks(), trace.operations(), trace.pairs().len()))
    });
    Ok(match read {
        Ok(contents) => contents.into_pyobject(py)?.into_any().unbind(),
        Err(Unread::Wrong(wrong)) => (wrong.line, wrong.why)
            .into_pyobject(py)?
            .into_any()
            .unbind(),
        Err(Unread::Io(error)) => return Err(error.into()),
    })
}

/// The messages of each step of a collective: from which rank to which, and how many bytes.
#[pyfunction]
pub(crate) fn collective_steps(
    py: Python<'_>,
    kind: &str,
    algorithm: &str,
    ranks: u32,
    bytes: u64,
) -> PyResult<Vec<Vec<(u32, u32, u64)>>> {
    let collective = etalon_jobs::collective(kind, algorithm, bytes).map_err(value_error)?;
    let steps = py.detach(|| etalon_jobs::steps(&collective, ranks));
    steps.map_err(|why| value_error(why.0))
}
