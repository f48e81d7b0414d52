// SPDX-License-Identifier: MIT OR Apache-2.0
//! Python bindings of the engines. Everything here converts; nothing decides.

mod circuits;
mod control_types;
mod controls;
mod convert;
mod jobs;
mod linux;
mod plugins;
mod schedulers;
mod stream;

use std::path::PathBuf;

use etalon_scenario::Scenario;
use etalon_sim::TraceRequest;
use etalon_tcp::cc;
use etalon_units::{Bytes, Rate, Span, Time};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use convert::{Control, control_of, meta, results, table, value_error};
use plugins::plugins_of;

/// A resolved plan that was read: apart from what runs it, so that its text, which may be longer, does not outlive the reading.
#[pyclass(frozen, name = "Scenario")]
struct PyScenario(Scenario);

#[pymethods]
impl PyScenario {
    #[new]
    fn new(plan_json: &str) -> PyResult<PyScenario> {
        Scenario::from_json(plan_json)
            .map(PyScenario)
            .map_err(value_error)
    }
}

/// Runs a plan on the simulator, with the functions of its user.
#[pyfunction]
#[pyo3(signature = (scenario, control=None, plugins=None))]
fn run<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyScenario>,
    control: Option<PyRef<'py, Control>>,
    plugins: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = &scenario.get().0;
    let control = control_of(control);
    let (plugins, raised) = plugins_of(plugins, &control)?;
    let measured = py.detach(|| etalon_sim::run_with(plan, &control, plugins));
    let measured = raised.check(measured.map_err(value_error))?;
    if plan.flows.len() >= MANY {
        give_back(py)?;
    }
    results(py, measured)
}

/// A run of so many flows took more memory than it takes long to give back: that goes through all that Python holds, too.
const MANY: usize = 1_000;

/// Gives memory that a run needs no more back to the system, where the C library can (glibc). It would keep it, and Python would read libraries
/// for the tables into more.
fn give_back(py: Python<'_>) -> PyResult<()> {
    let trim = || {
        let library = py.import("ctypes")?.getattr("CDLL")?.call1((py.None(),))?;
        library.call_method1("malloc_trim", (0,))
    };
    match trim() {
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        // Another C library has no such function, and its own ways.
        _ => Ok(()),
    }
}

/// Runs a plan again and records what happens between two instants.
#[pyfunction]
#[pyo3(signature = (scenario, pcapng_path, start_ns, end_ns, control=None, plugins=None))]
fn trace<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, PyScenario>,
    pcapng_path: Option<PathBuf>,
    start_ns: u64,
    end_ns: u64,
    control: Option<PyRef<'py, Control>>,
    plugins: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = &scenario.get().0;
    let control = control_of(control);
    let (plugins, raised) = plugins_of(plugins, &control)?;
    let request = TraceRequest {
        start: Time(start_ns),
        end: Time(end_ns),
        pcapng: pcapng_path,
    };
    let traced = py
        .detach(|| etalon_sim::trace_with(plan, &control, plugins, &request))
        .map_err(|e| match e {
            etalon_sim::TraceError::Plan(e) => value_error(e),
            etalon_sim::TraceError::Io(e) => match e.raw_os_error() {
                Some(code) => PyOSError::new_err((code, e.to_string())),
                None => PyOSError::new_err(e.to_string()),
            },
        });
    let (results, events) = raised.check(traced)?;
    let out = PyDict::new(py);
    out.set_item("meta", meta(py, &results.meta)?)?;
    out.set_item("events", table(py, events)?)?;
    Ok(out)
}

/// The JSON schema of a resolved plan.
#[pyfunction]
fn scenario_schema() -> String {
    etalon_scenario::schema()
}

/// The registered congestion controls and their parameters.
#[pyfunction]
fn congestion_controls(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for info in cc::list() {
        let parameters = PyList::empty(py);
        for p in info.parameters {
            let one = PyDict::new(py);
            one.set_item("name", p.name)?;
            one.set_item("default", p.default)?;
            one.set_item("min", p.min)?;
            one.set_item("max", p.max)?;
            one.set_item("whole", p.whole)?;
            one.set_item("description", p.description)?;
            parameters.append(one)?;
        }
        let one = PyDict::new(py);
        one.set_item("name", info.name)?;
        one.set_item("description", info.description)?;
        one.set_item("parameters", parameters)?;
        all.append(one)?;
    }
    Ok(all)
}

/// Text such as 180us to nanoseconds.
#[pyfunction]
fn parse_span(text: &str) -> PyResult<u64> {
    text.parse::<Span>().map(|v| v.0).map_err(value_error)
}

/// Text such as 10Gbps to bits per second.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    text.parse::<Rate>().map(|v| v.0).map_err(value_error)
}

/// Text such as 25GB to bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    text.parse::<Bytes>().map(|v| v.0).map_err(value_error)
}

/// Nanoseconds to text such as 180us.
#[pyfunction]
fn format_span(ns: u64) -> String {
    Span(ns).to_string()
}

/// Bits per second to text such as 10Gbps.
#[pyfunction]
fn format_rate(bps: u64) -> String {
    Rate(bps).to_string()
}

/// Bytes to text such as 25GB.
#[pyfunction]
fn format_bytes(n: u64) -> String {
    Bytes(n).to_string()
}

/// The simulator and the units of Etalon.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("is_fast", cfg!(not(debug_assertions)))?;
    m.add_class::<Control>()?;
    m.add_class::<PyScenario>()?;
    m.add_class::<control_types::Window>()?;
    m.add_class::<control_types::Ack>()?;
    m.add_class::<control_types::RateSample>()?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(stream::run_stream, m)?)?;
    m.add_function(wrap_pyfunction!(trace, m)?)?;
    m.add_function(wrap_pyfunction!(linux::run_linux, m)?)?;
    m.add("LINUX_MOST_FLOWS", etalon_scenario::MOST_PORTS)?;
    m.add("LINUX_MOST_HOSTS", etalon_scenario::address::MOST_HOSTS)?;
    m.add("KernelError", m.py().get_type::<linux::KernelError>())?;
    m.add_function(wrap_pyfunction!(scenario_schema, m)?)?;
    m.add_function(wrap_pyfunction!(congestion_controls, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::schedulers, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::compute_week, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::serve_week, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::heaviest_matching, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::maximum_matching, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::read_demand, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::read_week, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::strobe_week, m)?)?;
    m.add_function(wrap_pyfunction!(schedulers::tournament_week, m)?)?;
    m.add_function(wrap_pyfunction!(circuits::draw_circuits, m)?)?;
    m.add_function(wrap_pyfunction!(circuits::circuit_hops, m)?)?;
    m.add_function(wrap_pyfunction!(circuits::routing_entries, m)?)?;
    m.add_function(wrap_pyfunction!(circuits::match_graph, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::collective_algorithms, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::collective_steps, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::goal_contents, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::job_steps, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::deal_circuits, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::job_circuits, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::job_messages, m)?)?;
    m.add_function(wrap_pyfunction!(jobs::job_problem, m)?)?;
    m.add_class::<circuits::CircuitWays>()?;
    m.add_function(wrap_pyfunction!(parse_span, m)?)?;
    m.add_function(wrap_pyfunction!(parse_rate, m)?)?;
    m.add_function(wrap_pyfunction!(parse_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(format_span, m)?)?;
    m.add_function(wrap_pyfunction!(format_rate, m)?)?;
    m.add_function(wrap_pyfunction!(format_bytes, m)?)?;
    Ok(())
}
