# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of jobs against an oracle that computes them again from the packet trace; it knows collectives from the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import etalon as et
from etalon import _core
from etalon import engine as engines
from oracle import jobs, packets, recompute

RECONFIGURATION = 7_000


def job_plan(n: int, deeds: list[Any], schedule: Any = None, **job: Any) -> et.Plan:
    """Ranks on hosts without delay: what leaves a rack has arrived. ACKs have the packet network: handshakes are seen."""
    host = {"rate": "100Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(
        racks=n, hosts=1, packet=("20Gbps", "500ns"), circuit=("100Gbps", "1us"), host=host, voq=900
    )
    week = et.packet_only(net) if schedule is None else et.asked(net, **schedule)
    settings: Any = {"tdf": 1, "warmup": "0ms", "duration": "50ms", "tcp": {"max_cwnd": 60}}
    return et.experiment(net, week, et.job(*deeds, **job), **settings)


def traced(plan: et.Plan, folder: Path) -> tuple[list[recompute.Event], list[packets.Packet]]:
    capture = folder / "trace.pcapng"
    end = plan.duration
    answer = engines.named("sim").trace(plan, _core.Control(), 0, end, capture)
    return recompute.events(answer["events"]), packets.read(capture)


ASKED = {"reconfiguration": f"{RECONFIGURATION}ns", "hold": "0us"}
CASES: dict[str, tuple[int, list[tuple[str, int]], Any]] = {
    "ring over packets": (4, [("compute", 100_000), ("ring", 400_000)], None),
    "ring of five": (5, [("compute", 50_000), ("ring", 333_333)], None),
    "circuits for a ring": (4, [("ring", 400_000)], ASKED),
    "swing": (8, [("compute", 30_000), ("swing", 800_000)], ASKED),
    "all-to-all of six": (6, [("direct", 500_001), ("compute", 20_000)], ASKED),
    "doubling, ahead": (
        8,
        [("compute", 30_000), ("recursive-doubling", 200_000)],
        {**ASKED, "ahead": True},
    ),
}


def deed(kind: str, amount: int) -> Any:
    if kind == "compute":
        return et.compute(f"{amount}ns")
    if kind == "direct":
        return et.all_to_all(f"{amount}B", algorithm=kind)
    return et.all_reduce(f"{amount}B", algorithm=kind)


@pytest.mark.parametrize("case", CASES)
def test_both_tables_follow_from_the_trace(case: str, tmp_path: Path) -> None:
    n, work, schedule = CASES[case]
    slow = {1: 1.5}
    plan = job_plan(
        n,
        [deed(*one) for one in work],
        schedule,
        iterations=2,
        circuits="none" if schedule is None else "each",
        slow=[{"rank": rank, "times": times} for rank, times in slow.items()],
    )
    run = et.run(plan)
    events, seen = traced(plan, tmp_path)
    sends = run.steps.filter(run.steps["peer"] >= 0)
    places = sends.select("iteration", "step", "rank", "peer").rows()
    told = dict(zip(places, sends["sent_ns"].to_list(), strict=True))
    steps, iterations = jobs.tables(seen, range(n), work, 2, slow, told)
    columns = ("iteration", "step", "rank", "peer", "bytes", "ready_ns", "received_ns")
    assert sorted(run.steps.select(columns).rows()) == sorted(steps)
    columns = ("iteration", "start_ns", "end_ns", "compute_ns", "slowest_ns", "exposed_ns")
    assert run.iterations.select(columns).rows() == iterations
    circuits = jobs.circuits(events)
    for event in events:
        if event.kind == "dequeue" and event.plane == "circuit":
            up = any(begin <= event.time < end for begin, end in circuits[event.pair])
            assert up, f"{event} crosses a dark circuit"
    asked = run.steps.filter(run.steps["asked_ns"] >= 0)
    assert (schedule is None) == asked.is_empty()
    for row in asked.iter_rows(named=True):
        up = any(b <= row["granted_ns"] < e for b, e in circuits[row["rank"], row["peer"]])
        assert up and row["granted_ns"] >= row["asked_ns"] + 2_000, row
    changes = {time for pair in circuits.values() for time, _ in pair if time > 0}
    assert int(run.iterations["changes"].sum()) == len(changes)
    assert int(run.iterations["dark_ns"].sum()) == len(changes) * RECONFIGURATION
