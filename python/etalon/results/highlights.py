# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a run says first: its answer in a sentence, its figures with the main one first, its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from etalon import amounts
from etalon.results.metrics import METRICS, Measured
from etalon.units import counted, rounded

if TYPE_CHECKING:
    from etalon.plan import Plan


class Shown(Measured, Protocol):
    """What is read here of a run; `Run` says what each is."""

    @property
    def plan(self) -> Plan: ...
    @property
    def meta(self) -> dict[str, Any]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def flow_table(self) -> pl.LazyFrame: ...
    @property
    def latency_histogram(self) -> pl.DataFrame: ...
    @property
    def sequence(self) -> pl.DataFrame: ...
    @property
    def tcp(self) -> pl.DataFrame: ...
    @property
    def ports(self) -> pl.DataFrame: ...
    @property
    def writes(self) -> pl.DataFrame: ...
    @property
    def iterations(self) -> pl.DataFrame: ...
    @property
    def steps(self) -> pl.DataFrame: ...
    @property
    def programs(self) -> pl.DataFrame: ...
    def summary(self) -> dict[str, float | None]: ...


MOST_BARS = 1000
"""Flows that have a bar each."""


def answer(run: Shown) -> str:
    """What came out, in one sentence."""
    parts = [
        *_of_files(run),
        *_of_jobs(run),
        *(_of_finite_flows(run) or _of_circuits(run) or _of_goodput(run)),
        *_of_programs(run),
    ]
    said = "; ".join(parts[:2]) or "nothing was sent"
    if run.partial:
        share = int(run.meta["simulated_ns"]) / run.plan.duration
        said = f"stopped after {amounts.humane(share, '0..1')} of its time: {said}"
    return f"{said[0].upper()}{said[1:]}."


def _of_files(run: Shown) -> list[str]:
    if run.writes.is_empty():
        return []
    done = int((run.writes["end_ns"] >= 0).sum())
    took = "" if run.job_time is None else f", the job in {amounts.humane(run.job_time, 'ms')}"
    half = amounts.humane(run.write_time(50), "ms")
    return [
        f"{_of(done, len(run.writes), 'file')} written to HDFS, half of them within {half}{took}"
    ]


def _of_jobs(run: Shown) -> list[str]:
    if run.iterations.is_empty():
        return []
    done = int((run.iterations["end_ns"] >= 0).sum())
    if not done:
        return [f"none of {counted(len(run.iterations), 'iteration')} was done"]
    half = amounts.humane(run.iteration_time(50), "ms")
    return [f"{_of(done, len(run.iterations), 'iteration')} done: half within {half}"]


def _of_finite_flows(run: Shown) -> list[str]:
    """If no flow is without end."""
    number, finite, done = _counts(run)
    if not finite or finite < number:
        return []
    if not done:
        return [f"none of {finite} flows was done"]
    half, last = (amounts.humane(run.fct_percentile(part), "us") for part in (50, 99))
    of = ":" if done == finite else ", and of these"
    return [f"{_of(done, finite, 'flow')} done{of} half within {half}, 99 % within {last}"]


def _counts(run: Shown) -> tuple[int, int, int]:
    """How many flows there are, finite ones, and finite ones that were done."""
    finite = pl.col("bytes") >= 0
    counts = (
        pl.len(),
        finite.sum().alias("finite"),
        (finite & (pl.col("end_ns") >= 0)).sum().alias("done"),
    )
    number, finite_ones, done = run.flow_table.select(*counts).collect().row(0)
    return int(number), int(finite_ones), int(done)


def _of_circuits(run: Shown) -> list[str]:
    share = run.circuit_utilization
    if share is None:
        return []
    src, dst = run.plan.measured_pair
    used = f"{amounts.humane(share, '0..1')} of the circuit from rack {src} to rack {dst}"
    return [f"{_who(run, src, dst)} used {used}", *_of_latency(run)]


def _of_goodput(run: Shown) -> list[str]:
    if not run.goodput:
        return []
    src, dst = run.plan.measured_pair
    rate = amounts.humane(run.goodput, "bit/s")
    return [f"{_who(run, src, dst)} delivered {rate} of goodput", *_of_latency(run)]


def _of_latency(run: Shown) -> list[str]:
    half, last = (run.latency(part) for part in (50, 99))
    if half != half:
        return []
    times = [amounts.humane(one, "us") for one in (half, last)]
    return [
        f"packets spent {times[0]} in the switch at the median, {times[1]} at the 99th percentile"
    ]


def _of_programs(run: Shown) -> list[str]:
    if run.programs.is_empty():
        return []
    well = int((run.programs["status"] == 0).sum())
    said = f"{well} of {len(run.programs)} programs succeeded"
    late = sum(int(one["late_ns"]) for one in run.meta.get("polled", ()))
    if late:
        said += f" (by polling, they saw what they waited for up to {rounded(late)} later in all)"
    return [said]


def _of(done: int, number: int, what: str) -> str:
    """How many of how many."""
    if done == number:
        return f"the {what} was" if number == 1 else f"all {number} {what}s were"
    return f"{done} of {number} {what}s {'was' if done == 1 else 'were'}"


def _who(run: Shown, src: int, dst: int) -> str:
    """The congestion controls of the measured pair's flows."""
    of_pair = run.flow_table.filter((pl.col("src_rack") == src) & (pl.col("dst_rack") == dst))
    has = "cc" in of_pair.collect_schema().names()
    names = (
        of_pair.select("cc").unique(maintain_order=True).collect()["cc"].to_list() if has else []
    )
    names = [name for name in names if name]
    return f"flows with {' and '.join(names)}" if 0 < len(names) <= 3 else "the flows"


def figures_of(run: Shown) -> dict[str, str]:
    """Name and caption of each figure that the run has data for, the main one first."""
    resolved = run.plan.resolve()
    src, dst = resolved["measure"]["pair"]
    of_pair = (pl.col("src") == src) & (pl.col("dst") == dst)
    number, _, done = _counts(run)
    has = {
        "sequence": run.sequence.height and number and not run.plan.streamed,
        "cwnd": run.tcp.height,
        "latency_cdf": run.latency_histogram.filter(of_pair).height,
        "goodput": run.goodput is not None and 0 < number <= MOST_BARS,
        "fct_cdf": done,
        "network_bytes": done,
        "ports": run.ports.height,
        "gantt": run.steps.height and run.iterations.height,
        "write_cdf": run.writes.filter(pl.col("end_ns") >= 0).height,
        "demand": "demand" in run.meta.get("schedule", {}),
        "schedule": "demand" not in run.meta.get("schedule", {})
        and resolved.get("schedule") is not None,
    }
    captions = _CAPTIONS | {
        "latency_cdf": (
            f"Time in the switch of packets over 1000 B from rack {src} to rack {dst}, "
            "by the network that carried them."
        ),
        "schedule": (
            f"One week of circuits, coloured by the sending rack, and when the packet network is open to packets "
            f"from rack {src} to rack {dst}."
        ),
    }
    chosen = [name for name in captions if has[name]]
    for main in (
        "fct_cdf",
        "write_cdf",
        "gantt",
    ):  # what a run of finite flows, files or jobs is about
        if main in chosen and (main != "fct_cdf" or not _endless(run)):
            chosen.remove(main)
            chosen.insert(0, main)
    return {name: captions[name] for name in chosen}


def _endless(run: Shown) -> bool:
    """Whether some flow has no end."""
    number, finite, _ = _counts(run)
    return finite < number


_CAPTIONS = {
    "sequence": (
        "Bytes that a flow has sent (mean over flows and weeks) and length of the VOQ, from the end of a circuit on. "
        "Circuit days are shaded."
    ),
    "cwnd": (
        "Congestion window, threshold (dashed) and smoothed RTT of the flows that `measure.flows` names. "
        "Circuit days are shaded if they can be told apart."
    ),
    "latency_cdf": "",
    "goodput": "Goodput of each flow over the measured time.",
    "fct_cdf": "Completion times of finite flows; flows cut off by the end of the run count as not done.",
    "network_bytes": "Payload that each network carried, all rack pairs.",
    "ports": "Utilisation of egress ports, the busiest first.",
    "gantt": "Each rank's steps in the first iteration of the first job; blank is waiting for other ranks.",
    "write_cdf": "Times to write a file to HDFS.",
    "demand": (
        "The largest demand that a week was computed for, and that week: when racks' circuits have something to send."
    ),
    "schedule": "",
}
"""In the order of a report."""


def summary_rows(run: Shown) -> list[tuple[str, str, str, str]]:
    """Every metric that the run has: what it is, value, unit, name. Metrics of one dimension share a unit, if it suits them."""
    rows = rows_of({name: value for name, value in run.summary().items() if value is not None})
    if run.plan.week_ns:
        return rows
    # Measured as one network, whatever it consists of.
    return [(row[0].replace("packet network", "network"), *row[1:]) for row in rows]


def rows_of(values: Mapping[str, float]) -> list[tuple[str, str, str, str]]:
    """These metrics as rows."""
    units = amounts.units_of((METRICS[name].unit, value) for name, value in values.items())
    rows = []
    for name, value in values.items():
        metric = METRICS[name]
        scale = units(metric.unit, [value])
        if 0 < abs(value) < scale.size / 10:  # 2 us beside 100 ms
            scale = amounts.scale([value], metric.unit)
        rows.append((metric.description, scale.text(value), scale.unit, name))
    return rows
