// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that Python makes while the simulator runs, and takes rows of when they are over.

use etalon_scenario::{Hosts, Scenario};
use etalon_sim::results::Table;
use etalon_sim::{Coming, Failure, Stream, StreamError};
use etalon_units::Time;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{Control, control_of, results, table, value_error};
use crate::plugins::plugins_of;

/// Columns of flows that come: start, sender, receiver, bytes, end and kind.
type Columns<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
);

/// Functions of Python: one gives flows, the other takes rows.
struct Functions {
    come: Py<PyAny>,
    take: Py<PyAny>,
    hosts: Hosts,
}

impl Stream for Functions {
    fn come(&mut self, batch: &mut Vec<Coming>) -> Result<(), Failure> {
        Python::attach(|py| {
            let Some(columns) = self.come.call0(py)?.extract::<Option<Columns<'_>>>(py)? else {
                return Ok(());
            };
            self.read(&columns, batch)
        })
    }

    fn take(&mut self, rows: Table) -> Result<(), Failure> {
        Python::attach(|py| {
            self.take.call1(py, (table(py, rows)?,))?;
            Ok(())
        })
    }
}

impl Functions {
    fn read(&self, columns: &Columns<'_>, batch: &mut Vec<Coming>) -> Result<(), Failure> {
        let (start, src, dst, bytes, stop, kind) = columns;
        let (start, src, dst) = (start.as_slice()?, src.as_slice()?, dst.as_slice()?);
        let (bytes, stop, kind) = (bytes.as_slice()?, stop.as_slice()?, kind.as_slice()?);
        if [src.len(), dst.len(), bytes.len(), stop.len(), kind.len()] != [start.len(); 5] {
            return Err("columns of flows differ in length".into());
        }
        let host = |number: i64| match u32::try_from(number) {
            Ok(number) if number < self.hosts.count() => Ok(self.hosts.host(number)),
            _ => Err(format!("there is no host {number}")),
        };
        let some = |value: i64| u64::try_from(value).ok();
        for at in 0..start.len() {
            batch.push(Coming {
                start: Time(u64::try_from(start[at])?),
                src: host(src[at])?,
                dst: host(dst[at])?,
                bytes: some(bytes[at]),
                stop: some(stop[at]).map(Time),
                kind: u32::try_from(kind[at])?,
            });
        }
        Ok(())
    }
}

/// Runs a resolved plan, whose flows are kinds of them, on the simulator.
///
/// `come` returns the flows that come next, in order of start, as columns of 64-bit integers: start in ns, numbers of the hosts of
/// sender and receiver among all, bytes (-1: no end), when it is killed (-1: never), and kind; None after the last. `take` is given
/// rows of flows that are over.
#[pyfunction]
#[pyo3(signature = (plan_json, come, take, control=None, plugins=None))]
pub(crate) fn run_stream<'py>(
    py: Python<'py>,
    plan_json: &str,
    come: Py<PyAny>,
    take: Py<PyAny>,
    control: Option<PyRef<'py, Control>>,
    plugins: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = Scenario::from_json(plan_json).map_err(value_error)?;
    let control = control_of(control);
    let hosts = plan.hosts;
    let mut functions = Functions { come, take, hosts };
    let (plugins, raised) = plugins_of(plugins, &control)?;
    let measured = py
        .detach(|| etalon_sim::run_stream(plan, &control, plugins, &mut functions))
        .map_err(|error| match error {
            StreamError::Plan(error) => value_error(error),
            StreamError::Stream(failure) => match failure.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(failure) => value_error(failure),
            },
        });
    let measured = raised.check(measured)?;
    results(py, measured)
}
