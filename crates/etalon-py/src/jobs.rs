//! Jobs of ranks: the algorithms there are, and whether they fit.

use etalon_scenario::{Collective, CollectiveKind, Work};
use pyo3::prelude::*;

use crate::value_error;

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
    let steps = |work: &Work| match work {
        Work::Collective(collective) => {
            etalon_jobs::find(collective, ranks).map_or(0, |found| u64::from(found.steps()))
        }
        _ => 1,
    };
    Ok(work(deeds)?.iter().map(steps).sum())
}

/// The first algorithm of a list of work that does not fit, with its place and a sentence; else how many connections there will be.
#[pyfunction]
pub(crate) fn job_problem(py: Python<'_>, deeds: &str, ranks: u32) -> PyResult<Py<PyAny>> {
    let work = work(deeds)?;
    for (number, one) in work.iter().enumerate() {
        if let Work::Collective(collective) = one {
            if let Err(why) = etalon_jobs::find(collective, ranks) {
                return Ok((number, why.0).into_pyobject(py)?.into_any().unbind());
            }
        }
    }
    let pairs = py.detach(|| etalon_jobs::pairs(&work, ranks));
    Ok(pairs.into_pyobject(py)?.into_any().unbind())
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
    let found = CollectiveKind::ALL.into_iter().find(|k| k.name() == kind);
    let kind = found.ok_or_else(|| {
        let names: Vec<&str> = CollectiveKind::ALL.iter().map(|k| k.name()).collect();
        value_error(format!(
            "\"{kind}\" is no collective; there are {}",
            names.join(", ")
        ))
    })?;
    let collective = Collective::new(kind, algorithm, bytes);
    let steps = py.detach(|| etalon_jobs::steps(&collective, ranks));
    steps.map_err(|why| value_error(why.0))
}
