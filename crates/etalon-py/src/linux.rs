// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bindings of the Linux engine.

use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use etalon_linux::{Cause, Image, Lent, LinuxError, Mode, Options, Output};
use etalon_scenario::{Program, Scenario};
use etalon_sim::TraceRequest;
use etalon_units::{Span, Time};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::convert::{Control, control_of, results, table, value_error};
use crate::plugins::plugins_of;

create_exception!(
    etalon._core,
    KernelError,
    PyException,
    "A run that Linux gave no complete result of: (message, console, what was measured or None)."
);

/// Pieces of programs' output, of 4 KiB at most, that may wait for Python; then the kernel does.
const PIECES: usize = 256;

/// A program of a plan: rack, host, arguments, start in ns, environment.
type ProgramGiven = (u16, u16, Vec<String>, u64, Vec<String>);
/// What is traced: start and end in ns, and where its packets go.
type TraceGiven = (u64, u64, Option<PathBuf>);

/// Runs a resolved plan on real Linux hosts: the kernel `image`, built for `hz`.
#[pyfunction]
#[pyo3(signature = (plan_json, image, hz, control=None, *, programs=None, mode="run", folder=None,
                    trace=None, memory_mib=None, call_ns=None, polling_ns=None, patience_s=None, output=None, plugins=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn run_linux<'py>(
    py: Python<'py>,
    plan_json: &str,
    image: PathBuf,
    hz: u32,
    control: Option<PyRef<'py, Control>>,
    programs: Option<Vec<ProgramGiven>>,
    mode: &str,
    folder: Option<PathBuf>,
    trace: Option<TraceGiven>,
    memory_mib: Option<u32>,
    call_ns: Option<u64>,
    polling_ns: Option<u64>,
    patience_s: Option<f64>,
    output: Option<Py<PyAny>>,
    plugins: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = Scenario::from_json(plan_json).map_err(value_error)?;
    let control = control_of(control);
    let defaults = Options::default();
    let patience = match patience_s {
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(value_error)?,
        None => defaults.patience,
    };
    let options = Options {
        programs: programs_of(programs),
        mode: match mode {
            "run" => Mode::Run,
            "exec" => Mode::Exec,
            "shell" => Mode::Shell,
            _ => return Err(value_error(format!("there is no mode {mode}"))),
        },
        folder,
        trace: trace.map(|(start_ns, end_ns, pcapng)| TraceRequest {
            start: Time(start_ns),
            end: Time(end_ns),
            pcapng,
        }),
        memory_mib,
        call: call_ns.map_or(defaults.call, Span),
        polling: polling_ns.map_or(defaults.polling, Span),
        patience,
        ..defaults
    };
    let image = Image { path: image, hz };
    let (plugins, raised) = plugins_of(plugins, &control)?;
    let lent = Lent {
        scheduler: plugins.scheduler,
        generators: plugins.generators,
    };
    let work = |options| etalon_linux::run_with(&plan, &image, &control, &options, lent);
    let run = py.detach(|| told(options, output, work));
    match raised.check(Ok(run))? {
        Ok(run) => answer(py, run),
        Err(error) => Err(refusal(py, error)?),
    }
}

fn programs_of(given: Option<Vec<ProgramGiven>>) -> Vec<Program> {
    let program = |(rack, host, command, start_ns, env)| Program {
        rack,
        host,
        command,
        env,
        start: Time(start_ns),
    };
    given.unwrap_or_default().into_iter().map(program).collect()
}

/// Does `work` with options that tell what programs write to the Python function `listener(program, stream, bytes)`.
fn told<R>(
    mut options: Options,
    listener: Option<Py<PyAny>>,
    work: impl FnOnce(Options) -> R,
) -> R {
    let Some(listener) = listener else {
        return work(options);
    };
    let (sender, receiver) = sync_channel(PIECES);
    options.output = Some(sender);
    thread::scope(|scope| {
        scope.spawn(move || {
            for Output {
                program,
                stream,
                bytes,
            } in receiver
            {
                Python::attach(|py| {
                    let bytes = PyBytes::new(py, &bytes);
                    if let Err(error) = listener.call1(py, (program, stream, bytes)) {
                        error.write_unraisable(py, None);
                    }
                });
            }
        });
        work(options) // and with it the sender: the listener's thread ends
    })
}

fn answer(py: Python<'_>, run: etalon_linux::Run) -> PyResult<Bound<'_, PyDict>> {
    let out = results(py, run.results)?;
    if let Some(events) = run.events {
        out.set_item("events", table(py, events)?)?;
    }
    let programs = PyList::empty(py);
    for program in &run.programs {
        let one = PyDict::new(py);
        one.set_item("status", program.status)?;
        one.set_item("end_ns", program.end_ns)?;
        one.set_item("stdout", PyBytes::new(py, &program.stdout))?;
        one.set_item("stderr", PyBytes::new(py, &program.stderr))?;
        programs.append(one)?;
    }
    out.set_item("programs", programs)?;
    let polled = PyList::empty(py);
    for host in &run.polled {
        let one = PyDict::new(py);
        one.set_item(
            "host",
            format!("r{}h{}", host.host.rack(), host.host.number()),
        )?;
        one.set_item("late_ns", host.late.0)?;
        one.set_item("waited_ns", host.waited.0)?;
        polled.append(one)?;
    }
    out.set_item("polled", polled)?;
    out.set_item("console", run.console)?;
    Ok(out)
}

/// A plan that Linux cannot do is a `ValueError`, all else a `KernelError`.
fn refusal(py: Python<'_>, error: LinuxError) -> PyResult<PyErr> {
    if error.cause == Cause::Plan {
        return Ok(PyValueError::new_err(error.message));
    }
    let partial = error.partial.map(|run| answer(py, *run)).transpose()?;
    let arguments = (error.message, error.console, partial.map(Bound::unbind));
    Ok(KernelError::new_err(arguments))
}
