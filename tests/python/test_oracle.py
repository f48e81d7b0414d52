"""Results against an oracle that computes every column again from the packet trace, on random experiments and both engines."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

import etalon as et
from conftest import need
from etalon import _core, kernel
from etalon import engine as engines
from etalon.plan import Plan
from etalon.results import Run
from oracle import packets, recompute, reordering
from oracle.plans import random_plan

PLANS = range(50)
pytestmark = pytest.mark.filterwarnings("ignore::etalon.errors.PlanWarning")  # random plans are odd
SLACK = 2
"""Nanoseconds by which the rounding of a transmission's end may differ, each time a gate closes."""


def traced(plan: Plan, run: Run, engine: str, folder: Path) -> recompute.Trace:
    """The trace of a run, and of two weeks more."""
    longer = plan.duration + 2 * plan.week_ns + 1_000_000
    capture = folder / "trace.pcapng"
    answer = engines.named(engine).trace(
        plan.replace({"duration": f"{longer}ns"}), _core.Control(), 0, longer, capture
    )
    return recompute.Trace(
        plan=plan.resolve(),
        events=recompute.events(answer["events"]),
        packets=packets.read(capture),
        begin=plan.warmup,
        end=run.meta["simulated_ns"],
        inclusive=run.meta["simulated_ns"] < plan.duration,
    )


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


@pytest.mark.parametrize("seed", PLANS)
def test_simulator(seed: int, tmp_path: Path) -> None:
    plan = random_plan(seed)
    run = et.run(plan)
    hold(run, traced(plan, run, "sim", tmp_path))


@pytest.mark.parametrize("seed", PLANS)
def test_linux(seed: int, tmp_path: Path) -> None:
    need(kernel.find(250), "the kernel, which `etalon kernel build` builds,")
    plan = random_plan(seed)
    run = et.run(plan, engine="linux")
    hold(run, traced(plan, run, "linux", tmp_path))
