// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers, and what they are made of.

use std::time::Instant;

use etalon_schedule::{
    Bipartite, Demand, Options, Pairing, Params, SCHEDULERS, extend_to_maximum, largest_assignment,
    mimicked_strobe, parse_original, parse_week, scheduler, served, strobe, tournament,
};
use etalon_sim::Computed;
use etalon_switch::{Configuration, Matching, Plane, Schedule};
use etalon_units::{Bytes, Rate, Span};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::convert::value_error;

/// Name and description of each scheduler that computes weeks.
#[pyfunction]
pub(crate) fn schedulers() -> Vec<(&'static str, &'static str)> {
    SCHEDULERS.iter().map(|s| (s.name, s.about)).collect()
}

/// The configurations of a week: per destination its source rack (-1: none), day and night.
pub(crate) fn configurations<'py>(
    py: Python<'py>,
    week: &Schedule,
) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for c in week.configurations() {
        let sources = (0..week.racks()).map(|dst| c.matching.source_of(dst).map_or(-1, i32::from));
        let one = PyDict::new(py);
        one.set_item("sources", sources.collect::<Vec<_>>())?;
        one.set_item("day_ns", c.day.0)?;
        one.set_item("night_ns", c.night.0)?;
        all.append(one)?;
    }
    Ok(all)
}

/// The configurations of a strobe schedule, of real racks or of racks that stand for more.
#[pyfunction(name = "strobe")]
#[pyo3(signature = (racks, day_ns, night_ns, mimicked=None))]
pub(crate) fn strobe_week(
    py: Python<'_>,
    racks: u16,
    day_ns: u64,
    night_ns: u64,
    mimicked: Option<u16>,
) -> PyResult<Bound<'_, PyList>> {
    let (day, night) = (Span(day_ns), Span(night_ns));
    let week = match mimicked {
        Some(mimicked) => mimicked_strobe(racks, mimicked, day, night),
        None => strobe(racks, day, night),
    };
    configurations(py, &week.map_err(value_error)?)
}

/// The configurations of a tournament schedule.
#[pyfunction(name = "tournament")]
pub(crate) fn tournament_week(
    py: Python<'_>,
    racks: u16,
    day_ns: u64,
    night_ns: u64,
) -> PyResult<Bound<'_, PyList>> {
    let week = tournament(racks, Span(day_ns), Span(night_ns)).map_err(value_error)?;
    configurations(py, &week)
}

/// The configurations of a week that a file holds, in our form, or in that of the original emulator.
#[pyfunction]
pub(crate) fn read_week<'py>(
    py: Python<'py>,
    text: &str,
    racks: u16,
    dilation: u64,
) -> PyResult<Bound<'py, PyList>> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let week = if first.parse::<u64>().is_ok() {
        parse_original(text, racks, dilation).map_err(value_error)?
    } else {
        parse_week(text, racks).map_err(value_error)?
    };
    configurations(py, &week)
}

/// The rows of a demand matrix that a file holds.
#[pyfunction]
pub(crate) fn read_demand(text: &str) -> PyResult<Vec<Vec<u64>>> {
    let demand: Demand = text.parse().map_err(value_error)?;
    Ok((0..demand.racks())
        .map(|src| demand.row(src).to_vec())
        .collect())
}

fn rows(matrix: &PyReadonlyArray2<'_, u64>) -> Vec<Vec<u64>> {
    matrix
        .as_array()
        .rows()
        .into_iter()
        .map(|row| row.to_vec())
        .collect()
}

/// Computes a week for a demand matrix (bytes, row by row the source racks').
#[pyfunction]
#[pyo3(signature = (name, demand, *, window_ns, min_day_ns, night_ns, circuit_bps, packet_bps, threshold_bytes, only_big, seed))]
#[allow(clippy::too_many_arguments)] // keywords all
pub(crate) fn compute_week<'py>(
    py: Python<'py>,
    name: &str,
    demand: PyReadonlyArray2<'py, u64>,
    window_ns: u64,
    min_day_ns: u64,
    night_ns: u64,
    circuit_bps: u64,
    packet_bps: u64,
    threshold_bytes: u64,
    only_big: bool,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let demand = Demand::new(&rows(&demand)).map_err(value_error)?;
    let circuit = Rate(circuit_bps);
    let (window, min_day, night) = (Span(window_ns), Span(min_day_ns), Span(night_ns));
    let params =
        Params::new(window, min_day, night, circuit, Rate(packet_bps)).map_err(value_error)?;
    let options = Options {
        big: Bytes(threshold_bytes),
        only_big,
        week: None,
        rng: ChaCha8Rng::seed_from_u64(seed),
    };
    let mut scheduler = scheduler(name, options).map_err(value_error)?;
    let (week, took) = py.detach(|| {
        let start = Instant::now();
        let week = scheduler.schedule(&demand, &params);
        (week, start.elapsed())
    });
    let week = week.map_err(value_error)?;
    let carried = served(&week, &demand, circuit);
    let out = PyDict::new(py);
    out.set_item("configurations", configurations(py, &week)?)?;
    out.set_item("served_bytes", carried.circuits.entries())?;
    out.set_item("idle_ns", carried.idle.0)?;
    out.set_item("took_ns", took.as_nanos() as u64)?;
    Ok(out)
}

/// What circuits carry of a demand in a week that was computed elsewhere.
#[pyfunction]
pub(crate) fn serve_week<'py>(
    py: Python<'py>,
    demand: PyReadonlyArray2<'py, u64>,
    days: Vec<(Vec<i32>, u64, u64)>,
    circuit_bps: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let demand = Demand::new(&rows(&demand)).map_err(value_error)?;
    let carried = served(&week_of(days)?, &demand, Rate(circuit_bps));
    let out = PyDict::new(py);
    out.set_item("served_bytes", carried.circuits.entries())?;
    out.set_item("idle_ns", carried.idle.0)?;
    Ok(out)
}

/// A week of days: per destination its source rack (-1: none), day and night in ns.
pub(crate) fn week_of(days: Vec<(Vec<i32>, u64, u64)>) -> PyResult<Schedule> {
    let configuration = |(sources, day, night)| {
        Ok(Configuration {
            matching: Matching::try_from(sources)?,
            day: Span(day),
            night: Span(night),
            plane: Plane::CIRCUIT,
        })
    };
    let days: Result<Vec<_>, _> = days.into_iter().map(configuration).collect();
    days.and_then(Schedule::new).map_err(value_error)
}

/// A matching of the most entries of a square matrix that are `threshold` or more: the column of each row, -1 for none.
#[pyfunction]
pub(crate) fn maximum_matching(
    matrix: PyReadonlyArray2<'_, u64>,
    threshold: u64,
) -> PyResult<Vec<i32>> {
    let side = square(&matrix)?;
    let mut graph = Bipartite::new(side);
    for ((row, column), &entry) in matrix.as_array().indexed_iter() {
        if entry >= threshold {
            graph.insert(row as u16, column as u16);
        }
    }
    let mut pairing = Pairing::empty(side);
    extend_to_maximum(&graph, &mut pairing);
    Ok((0..side)
        .map(|row| pairing.column_of(row).map_or(-1, i32::from))
        .collect())
}

/// The assignment of largest sum of a square matrix: the column of each row.
#[pyfunction]
pub(crate) fn heaviest_matching(matrix: PyReadonlyArray2<'_, u64>) -> PyResult<Vec<u16>> {
    let side = square(&matrix)?;
    let weights: Vec<u64> = matrix.as_array().iter().copied().collect();
    if weights.iter().any(|&weight| weight >= 1 << 61) {
        return Err(value_error("an entry is 2^61 or more"));
    }
    Ok(largest_assignment(side, &weights))
}

fn square(matrix: &PyReadonlyArray2<'_, u64>) -> PyResult<u16> {
    let [rows, columns] = [0, 1].map(|axis| matrix.shape()[axis]);
    match u16::try_from(rows) {
        Ok(side) if rows == columns => Ok(side),
        _ => Err(value_error(format!(
            "a matrix of {rows} rows and {columns} columns is not square, or too large"
        ))),
    }
}

/// What a run keeps of the weeks that it computed.
pub(crate) fn computed<'py>(py: Python<'py>, computed: &Computed) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("weeks", computed.weeks)?;
    out.set_item("days", computed.days)?;
    let Some(largest) = &computed.largest else {
        return Ok(out);
    };
    let week = &largest.week;
    let rows = largest.demand.chunks(usize::from(week.racks()));
    out.set_item("at_ns", largest.time.0)?;
    out.set_item("demand", PyList::new(py, rows)?)?;
    out.set_item("configurations", configurations(py, week)?)?;
    Ok(out)
}
