# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of jobs against an oracle that computes them again from the packet trace; it knows collectives from the papers."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import drawn_today
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


def random_jobs(seed: int) -> et.Plan:
    """One or two jobs that request circuits, on a hybrid network."""
    some = random.Random(f"jobs {seed}")
    racks = some.choice([4, 5, 8])
    host = {"rate": "100Gbps", "delay": "0us", "jitter": some.choice(["0us", "1us"])}
    net = et.network(
        racks=racks,
        hosts=2,
        packet=("20Gbps", "500ns"),
        circuit=("100Gbps", "1us"),
        host=host,
        voq=some.choice([20, 900]),
    )
    jobs = []
    for number in range(some.choice([1, 2])):
        work = [et.compute(f"{some.randint(1, 60)}us", jitter="5us")]
        for _ in range(some.randint(1, 2)):
            size = f"{some.choice([1, 60_000, 400_001])}B"
            work.append(
                some.choice(
                    [
                        et.all_reduce(size, algorithm="ring"),
                        et.all_gather(size, algorithm="ring"),
                        et.all_to_all(size, algorithm="direct"),
                    ]
                )
            )
        chosen = some.sample(range(racks), some.randint(2, racks))
        ranks = [f"r{rack}h{number}" for rack in chosen]
        jobs.append(et.job(*work, ranks=ranks, iterations=2, circuits="each"))
    schedule = et.asked(
        net,
        reconfiguration=some.choice(["0us", "7us"]),
        request=some.choice(["0us", "2us"]),
        hold=some.choice(["0us", "30us"]),
        share=some.choice(["fair", "fifo"]),
        ask=some.choice(["all", "first"]),
        ahead=some.random() < 0.3,
        initial=some.choice(["ring", "none"]),
    )
    return et.experiment(net, schedule, *jobs, tdf=1, warmup="0ms", duration="300ms", seed=seed)


@pytest.mark.parametrize("seed", drawn_today(range(120), 12))
def test_jobs_keep_the_rules(seed: int, tmp_path: Path) -> None:
    plan = random_jobs(seed)
    run = et.run(plan)
    events, seen = traced(plan, tmp_path)
    assert len(run.iterations) == 2 * len(plan.job)
    circuits = jobs.circuits(events)
    for event in events:
        if event.kind == "dequeue" and event.plane == "circuit":
            up = any(begin <= event.time < end for begin, end in circuits[event.pair])
            assert up, f"{event} crosses a dark circuit"
    hold = plan.schedule.hold
    spans = [span for pair in circuits.values() for span in pair]
    assert all(down - up >= hold for up, down in spans if up > 0)
    # Each byte of each message is received once, and no message before it could be.
    expected: dict[tuple[Any, Any], int] = defaultdict(int)
    hosts = [[tuple(place) for place in job.ranks] for job in plan.job]
    rows = list(run.steps.filter(run.steps["peer"] >= 0).iter_rows(named=True))
    for row in rows:
        places = hosts[row["job"]]
        expected[places[row["rank"]], places[row["peer"]]] += row["bytes"]
        assert row["ready_ns"] <= row["sent_ns"] <= row["received_ns"]
        if row["asked_ns"] >= 0:
            assert row["asked_ns"] <= row["granted_ns"]
    assert jobs.delivered(seen) == {pair: size for pair, size in expected.items() if size}
    # A rank goes on when all that it was to receive is there.
    needs: dict[tuple[int, ...], int] = defaultdict(int)
    for row in rows:
        place = (row["job"], row["iteration"], row["step"], row["peer"])
        needs[place] = max(needs[place], row["received_ns"])
    for row in rows:
        before = (row["job"], row["iteration"], row["step"] - 1, row["rank"])
        assert row["ready_ns"] >= needs.get(before, 0), row
