// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users wrote in Python, as the engines call it.

use std::sync::{Arc, Mutex, PoisonError};

use etalon_scenario::HostId;
use etalon_schedule::{CannotSchedule, Demand, Params, Scheduler};
use etalon_sim::{Begun, Control, Failure, Generators, Plugins, Step};
use etalon_switch::Schedule;
use etalon_units::Time;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{controls, schedulers};

/// What the first function raised that did, of those of a run.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn keep(&self, error: PyErr) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
    }

    /// What came of the run, unless a function has raised something.
    pub(crate) fn check<T>(&self, came: PyResult<T>) -> PyResult<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take().map_or(came, Err)
    }
}

/// The functions of a run, of a dictionary by what they are for: "scheduler" takes the time in ns and a demand matrix, and answers
/// with days: per destination its source rack (-1 for none), day and night in ns. "generators" is a list of functions that take
/// the time and the number of the flow that is complete (-1 for none), and answer with flows that begin, each rack and host of
/// sender and receiver, bytes and class, and the time at which they want to be called at the latest (-1 for never). "controls"
/// takes a congestion control's name and parameters, and answers with an `etalon.custom.control.Written`.
pub(crate) fn plugins_of(
    given: Option<&Bound<'_, PyDict>>,
    control: &Arc<Control>,
) -> PyResult<(Plugins, Raised)> {
    let (mut plugins, raised) = (Plugins::default(), Raised::default());
    let Some(given) = given else {
        return Ok((plugins, raised));
    };
    if let Some(function) = given.get_item("scheduler")? {
        plugins.scheduler = Some(Box::new(Computes {
            function: function.unbind(),
            now: Time::ZERO,
            raised: raised.clone(),
        }));
    }
    if let Some(functions) = given.get_item("generators")? {
        plugins.generators = Some(Box::new(Makes {
            functions: functions.extract()?,
            raised: raised.clone(),
        }));
    }
    if let Some(make) = given.get_item("controls")? {
        let make = controls::maker(make.unbind(), raised.clone(), control.clone());
        plugins.controls = Some(make);
    }
    Ok((plugins, raised))
}

/// A scheduler in Python.
struct Computes {
    function: Py<PyAny>,
    now: Time,
    raised: Raised,
}

impl Computes {
    fn call(&self, py: Python<'_>, demand: &Demand) -> PyResult<Schedule> {
        let racks = usize::from(demand.racks());
        let matrix = PyArray1::from_slice(py, demand.entries()).reshape([racks, racks])?;
        let answer = self.function.bind(py).call1((self.now.0, matrix))?;
        schedulers::week_of(answer.extract()?)
    }
}

impl Scheduler for Computes {
    fn look_at(&mut self, now: Time) {
        self.now = now;
    }

    fn schedule(&mut self, demand: &Demand, _: &Params) -> Result<Schedule, CannotSchedule> {
        Python::attach(|py| self.call(py, demand)).map_err(|error| {
            self.raised.keep(error);
            CannotSchedule::Failed
        })
    }
}

/// Rack and host of sender and receiver, bytes, class.
type Given = (u16, u16, u16, u16, u64, String);

/// Generators in Python.
struct Makes {
    functions: Vec<Py<PyAny>>,
    raised: Raised,
}

impl Makes {
    fn call(&self, now: Time, generator: usize, ended: i64) -> PyResult<Step> {
        let (flows, wake): (Vec<Given>, i64) = Python::attach(|py| {
            let function = self.functions[generator].bind(py);
            function.call1((now.0, ended))?.extract()
        })?;
        let begun = |(src_rack, src, dst_rack, dst, bytes, class): Given| Begun {
            src: HostId::new(src_rack, src),
            dst: HostId::new(dst_rack, dst),
            bytes,
            class,
        };
        Ok(Step {
            flows: flows.into_iter().map(begun).collect(),
            wake: u64::try_from(wake).ok().map(Time),
        })
    }
}

impl Generators for Makes {
    fn step(&mut self, now: Time, generator: usize, ended: Option<u32>) -> Result<Step, Failure> {
        let step = self.call(now, generator, ended.map_or(-1, i64::from));
        step.map_err(|error| {
            self.raised.keep(error);
            "a generator failed".into()
        })
    }
}
