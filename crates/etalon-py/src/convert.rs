// SPDX-License-Identifier: MIT OR Apache-2.0
//! What passes between engines and Python, whichever engine runs: the control of a run, its results, errors.

use std::sync::Arc;

use etalon_sim::Results;
use etalon_sim::results::{Column, Meta, Table};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::schedulers;

/// Shared between the thread that runs an experiment and the one that watches it.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct Control(Arc<etalon_sim::Control>);

#[pymethods]
impl Control {
    #[new]
    fn new() -> Control {
        Control::default()
    }

    /// Asks the run to end soon with what it has measured.
    fn stop(&self) {
        self.0.stop();
    }

    /// What was measured so far, as the engine told it last; asks it to tell again. None before it did.
    fn live<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(live) = self.0.live() else {
            return Ok(None);
        };
        let out = PyDict::new(py);
        out.set_item("now_ns", live.now.0)?;
        out.set_item("utilization", live.utilization)?;
        out.set_item("voq", live.voq)?;
        out.set_item("drops", live.drops)?;
        out.set_item("retransmits", live.retransmits)?;
        Ok(Some(out))
    }

    /// The share of simulated time that is done, 0 to 1.
    #[getter]
    fn progress(&self) -> f64 {
        self.0.progress()
    }
}

pub(crate) fn control_of(control: Option<PyRef<'_, Control>>) -> Arc<etalon_sim::Control> {
    control.map_or_else(Arc::default, |c| c.0.clone())
}

pub(crate) fn value_error(e: impl ToString) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// All that a run measured.
pub(crate) fn results(py: Python<'_>, results: Results) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("meta", meta(py, &results.meta)?)?;
    for (name, rows) in [
        ("flows", results.flows),
        ("pairs", results.pairs),
        ("latency", results.latency),
        ("sequence", results.sequence),
        ("days", results.days),
        ("tcp", results.tcp),
        ("reordering", results.reordering),
        ("ports", results.ports),
        ("hops", results.hops),
        ("links", results.links),
        ("writes", results.writes),
        ("cross_connects", results.cross_connects),
        ("iterations", results.iterations),
        ("steps", results.steps),
    ] {
        out.set_item(name, table(py, rows)?)?;
    }
    Ok(out)
}

pub(crate) fn meta<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("digest", &meta.digest)?;
    out.set_item("events", meta.events)?;
    out.set_item("packets_delivered", meta.packets_delivered)?;
    if meta.hops > 0 {
        out.set_item("hops", meta.hops)?;
    }
    out.set_item("simulated_ns", meta.simulated_ns)?;
    out.set_item("partial", meta.partial)?;
    out.set_item("sequence_runs", meta.sequence_runs)?;
    out.set_item("peak_in_network", meta.peak_in_network)?;
    out.set_item("planes", &meta.planes)?;
    out.set_item("version", env!("CARGO_PKG_VERSION"))?;
    if let Some(weeks) = &meta.computed {
        out.set_item("schedule", schedulers::computed(py, weeks)?)?;
    }
    Ok(out)
}

pub(crate) fn table(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    for (name, column) in table {
        match column {
            Column::Integers(values) => out.set_item(name, PyArray1::from_vec(py, values))?,
            Column::Floats(values) => out.set_item(name, PyArray1::from_vec(py, values))?,
            Column::Text(values) => out.set_item(name, PyList::new(py, values)?)?,
            Column::Names { names, rows } => {
                let names: Vec<_> = names.iter().map(|name| PyString::new(py, name)).collect();
                let of_row = rows.iter().map(|&row| names[usize::from(row)].clone());
                out.set_item(name, PyList::new(py, of_row)?)?;
            }
        }
    }
    Ok(out)
}
