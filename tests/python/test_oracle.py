# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results against an oracle that computes every column again from the packet trace, on random experiments and both engines."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import drawn_today, need_kernel
from etalon import _core
from etalon import engine as engines
from etalon.plan import Plan
from etalon.results import Run
from oracle import graphs, packets, ports, recompute, reordering
from oracle.plans import (
    changing_plan,
    crowded_plan,
    dumbbell_plan,
    graph_plan,
    port_plan,
    random_plan,
)

PLANS = range(50)
pytestmark = pytest.mark.filterwarnings("ignore::etalon.errors.PlanWarning")  # random plans are odd
SLACK = 2
"""Nanoseconds by which the rounding of a transmission's end may differ, each time a gate closes."""


def traced(plan: Plan, run: Run, engine: str, folder: Path) -> recompute.Trace:
    """The trace of a run, and of two weeks more."""
    return traced_with_columns(plan, run, engine, folder)[0]


def traced_with_columns(
    plan: Plan, run: Run, engine: str, folder: Path
) -> tuple[recompute.Trace, dict[str, Any]]:
    """The trace, and its events as the core gives them."""
    longer = plan.duration + 2 * plan.week_ns + 1_000_000
    capture = folder / "trace.pcapng"
    answer = engines.named(engine).trace(
        plan.replace({"duration": f"{longer}ns"}), _core.Control(), 0, longer, capture
    )
    trace = recompute.Trace(
        plan=plan.resolve(),
        events=recompute.events(answer["events"]),
        packets=packets.read(capture),
        begin=plan.warmup,
        end=run.meta["simulated_ns"],
        inclusive=run.meta["simulated_ns"] < plan.duration,
    )
    return trace, answer["events"]


def hold(run: Run, trace: recompute.Trace) -> None:
    """Every column that packets tell."""
    hold_pairs(run, trace)
    for row, expected in zip(run.flows.iter_rows(named=True), recompute.flows(trace), strict=True):
        for column, value in expected.items():
            if column == "retransmits" and not whole(trace):
                continue  # what a host sends again may not have reached the network when counting begins or ends
            slack = (
                1 if column == "end_ns" else 0
            )  # Linux's clock and the network's are rounded to each other
            assert abs(row[column] - value) <= slack, (row["flow"], column)
    if run.plan.measure.reordering:
        hold_reordering(run, trace)


def hold_reordering(run: Run, trace: recompute.Trace) -> None:
    expected, in_vain = reordering.reordering(trace)
    found: dict[str, reordering.Days] = {
        of: {quantity: Counter() for quantity in reordering.QUANTITIES} for of in expected
    }
    for row in run.reordering.iter_rows(named=True):
        found[row["of"]][row["quantity"]][row["value"]] = row["count"]
    assert found == expected
    for flow, value in in_vain.items():
        assert run.flows["spurious"][flow] == value, flow


def whole(trace: recompute.Trace) -> bool:
    """Whether the run saw its packets from their beginning to their end."""
    return trace.begin == 0 and trace.inclusive


def hold_pairs(run: Run, trace: recompute.Trace) -> None:
    rows = {(row["src"], row["dst"]): row for row in run.pairs.iter_rows(named=True)}
    expected = recompute.pairs(trace)
    assert rows.keys() == expected.keys()
    closings = sum(event.kind in ("night", "circuit_down") for event in trace.events)
    for pair, columns in expected.items():
        row = rows[pair]
        for column, value in columns.items():
            if column == "dropped":
                assert sum(row[f"dropped_{why}"] for why in ("voq", "shrink", "hold")) == value
            elif column.endswith("capacity_bytes"):
                plane = column.split("_")[0]
                slack = closings * SLACK * trace.rate(plane, pair) / 8e9 + 1
                assert row[column] == pytest.approx(value, abs=slack), (pair, column)
            elif column.endswith("utilization"):
                assert 0 <= row[column] <= 1, (pair, column)
                assert row[column] == pytest.approx(value, rel=1e-3, abs=1e-9), (pair, column)
            elif value is None:
                assert row[column] is None, (pair, column)
            else:
                assert row[column] == pytest.approx(value, rel=1e-12), (pair, column)
        hold_latency(run, trace, pair)


def hold_latency(run: Run, trace: recompute.Trace, pair: recompute.Pair) -> None:
    """Percentiles come from bins narrower than 0.4 %."""
    for plane in (None, *trace.planes):
        times = recompute.latencies(trace, pair, plane)
        for percentile in (50, 99):
            found = run.latency(percentile, plane, pair)
            if not times:
                assert math.isnan(found)
                continue
            at = min(max(math.ceil(percentile / 100 * len(times)) - 1, 0), len(times) - 1)
            assert found * 1000 == pytest.approx(times[at], rel=0.004, abs=2), (pair, plane)


@pytest.mark.parametrize("seed", drawn_today(range(40), 12))
def test_no_plane_carries_more_than_it_could(seed: int) -> None:
    """Hosts' links slower than circuits: what stands in front of hosts when measurement begins was carried before."""
    run = et.run(crowded_plan(seed))
    for row in run.pairs.iter_rows(named=True):
        for plane in run.planes:
            assert row[f"{plane}_payload_bytes"] <= row[f"{plane}_capacity_bytes"], (row, plane)
            assert 0 <= row[f"{plane}_utilization"] <= 1, (row, plane)


@pytest.mark.parametrize("seed", drawn_today(range(6), 3))
def test_senders_of_linux(seed: int) -> None:
    need_kernel()
    run = et.run(graph_plan(seed), engine="linux")
    hold_senders(run, (run.plan.warmup, run.meta["simulated_ns"]))


@pytest.mark.parametrize("seed", drawn_today(range(20), 6))
def test_dumbbells(seed: int, tmp_path: Path) -> None:
    plan = dumbbell_plan(seed)
    run = et.run(plan)
    hold(run, traced(plan, run, "sim", tmp_path))


def hold_graphs(run: Run, trace: recompute.Trace) -> None:
    """What is drawn over time, of the measured pair and of senders."""
    starts = graphs.runs(trace, run.plan.duration)
    assert run.meta["sequence_runs"] == len(starts) > 3
    for column, values in graphs.sequence(trace, starts).items():
        # The graph sums lines with slopes of 1/4096 of a byte a step.
        slack = 2 if column == "bytes" else 1e-9
        assert run.sequence[column].to_list() == pytest.approx(values, abs=slack, rel=1e-9), column
    for quantity, values in graphs.days(trace).items():
        row = run.days.row(by_predicate=pl.col("quantity") == quantity, named=True)
        mean, deviation, count = graphs.moments(values)
        assert row["count"] == count, quantity
        assert row["mean"] == pytest.approx(mean, rel=1e-9), quantity
        assert row["std"] == pytest.approx(deviation, rel=1e-6, abs=1e-3), quantity
    hold_senders(run, (trace.begin, trace.end))


def hold_senders(run: Run, within: recompute.Interval) -> None:
    """Windows and counters of the table `flows`, from that of senders' states."""
    for flow in run.plan.followed_flows:
        rows = run.tcp.filter(pl.col("flow") == flow).rows(named=True)
        row = run.flows.row(flow, named=True)
        if not rows:  # its SYN is lost, and is not sent again within the run
            assert row["bytes_delivered"] == row["mean_cwnd"] == 0, flow
            continue
        for key in ("cwnd", "ssthresh", "srtt_ns"):
            assert row[key] == rows[-1][key], (flow, key)
        assert row["recoveries"] >= graphs.entered(rows, "recovery", within), flow
        assert row["rtos"] >= graphs.entered(rows, "loss", within), flow
        expected = graphs.mean_cwnd(rows, within)
        assert row["mean_cwnd"] == pytest.approx(expected, rel=1e-3), flow


def hold_ports(plan: Plan, engine: str, folder: Path) -> None:
    """Every column of every port."""
    run = et.run(plan, engine=engine)
    trace, columns = traced_with_columns(plan, run, engine, folder)
    is_dumbbell = "dumbbell" in trace.plan["network"]
    seen = ports.of_dumbbell(trace) if is_dumbbell else ports.of_switches(trace, columns)
    assert run.ports.height
    for found in run.ports.iter_rows(named=True):
        queue = seen.get((found["at"], found["queue"]), ports.Seen())
        where = (found["from"], found["to"])
        for column, value in ports.row(trace, queue, found["rate_bps"]).items():
            assert found[column] == pytest.approx(value, rel=1e-9, abs=1e-9), (where, column)
        assert 0 <= found["utilization"] <= 1
        if is_host(where[1]) and not run.plan.resolve()["network"].get("dumbbell"):
            hold_access(trace, found, where[1])


def is_host(place: str) -> bool:
    return "h" in place


def hold_access(trace: recompute.Trace, found: dict[str, Any], host: str) -> None:
    """A port to a host carried what was captured on its way there, but for what its wire delays."""
    rack, number = map(int, host.removeprefix("r").split("h"))
    captured = len(ports.delivered(trace, (rack, number)))
    network = next(iter(trace.plan["network"].values()))
    in_wire = 2 * network["rack"]["delay_ns"] * found["rate_bps"] / 8e9 / 60 + 1
    assert captured == pytest.approx(found["packets"], abs=in_wire)


@pytest.mark.parametrize("seed", drawn_today(range(45), 12))
def test_ports(seed: int, tmp_path: Path) -> None:
    hold_ports(port_plan(seed), "sim", tmp_path)


@pytest.mark.parametrize("seed", drawn_today(range(12), 4))
def test_ports_on_linux(seed: int, tmp_path: Path) -> None:
    need_kernel()
    plan = port_plan(seed)
    hold_ports(plan.replace({"tcp.min_rto": "200ms", "tcp.initial_rto": None}), "linux", tmp_path)


@pytest.mark.parametrize("seed", drawn_today(range(12), 4))
def test_graphs_of_the_simulator(seed: int, tmp_path: Path) -> None:
    plan = graph_plan(seed)
    run = et.run(plan)
    hold_graphs(run, traced(plan, run, "sim", tmp_path))


@pytest.mark.parametrize("engine", ["sim", "linux"])
@pytest.mark.parametrize("seed", drawn_today(range(15), 4))
def test_weeks_that_change(seed: int, engine: str, tmp_path: Path) -> None:
    if engine == "linux":
        need_kernel()
    plan = changing_plan(seed)
    run = et.run(plan, engine=engine)
    hold(run, traced(plan, run, engine, tmp_path))


@pytest.mark.parametrize("seed", drawn_today(PLANS, 8))
def test_simulator(seed: int, tmp_path: Path) -> None:
    plan = random_plan(seed)
    run = et.run(plan)
    hold(run, traced(plan, run, "sim", tmp_path))


@pytest.mark.parametrize("seed", drawn_today(PLANS, 8))
def test_linux(seed: int, tmp_path: Path) -> None:
    need_kernel()
    plan = random_plan(seed)
    run = et.run(plan, engine="linux")
    hold(run, traced(plan, run, "linux", tmp_path))
