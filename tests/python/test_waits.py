# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each request for circuits is granted within the bound of docs/jobs.md, 'How long a request waits'."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import accumulate
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import drawn_today

RACKS = 6


def plan(jobs: list[Any], jitter: str = "0us", **schedule: Any) -> et.Plan:
    host = {"rate": "100Gbps", "delay": "0us", "jitter": jitter}
    net = et.network(
        racks=RACKS,
        hosts=len(jobs),
        circuits_only=True,
        ack_bypass="1us",
        circuit=("100Gbps", "500ns"),
        host=host,
        voq=1000,
    )
    settings: Any = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True}
    return et.experiment(net, et.asked(net, **schedule), *jobs, tcp={"max_cwnd": 200}, **settings)


def longest_use(rows: pl.DataFrame) -> int:
    """How long a job uses the circuits of a step at most, until all messages are read: from when they are up, or, without a
    request, from when the job has gone on to the step before and some rank has come to this one, or further."""
    done: dict[int, int] = defaultdict(int)
    steps: list[tuple[int, int | None, int]] = []
    for _, of_step in rows.sort("iteration", "step").group_by(
        "iteration", "step", maintain_order=True
    ):
        messages = of_step.filter(pl.col("peer") >= 0).rows(named=True)
        ready = {row["rank"]: row["ready_ns"] for row in messages}
        # Who only receives comes when it has done all before.
        come = [ready.get(row[end], done[row[end]]) for row in messages for end in ("rank", "peer")]
        granted = [row["granted_ns"] for row in messages if row["asked_ns"] >= 0]
        if messages:
            end = max(row["received_ns"] for row in messages)
            steps.append((min(come), min(granted, default=None), end))
        for row in of_step.rows(named=True):
            end = row["received_ns"] if row["peer"] < 0 else row["sent_ns"]
            done[row["rank"]] = max(done[row["rank"]], end)
            if row["peer"] >= 0:
                done[row["peer"]] = max(done[row["peer"]], row["received_ns"])
    further = list(accumulate((come for come, *_ in reversed(steps)), min))[::-1]
    longest = before = 0
    for (_, granted_at, end), come_at in zip(steps, further, strict=True):
        before = max(before, come_at) if granted_at is None else granted_at
        longest = max(longest, end - before)
    return longest


def waits(run: et.Run) -> list[tuple[int, int]]:
    """How long each request waited until its circuits were up, and the bound."""
    week, jobs = run.plan.schedule, len(run.plan.job)
    sends = run.steps.filter(pl.col("peer") >= 0)
    longest = max(longest_use(run.steps.filter(pl.col("job") == job)) for job in range(jobs))
    turn = max(
        week.reconfiguration + week.hold,
        max(week.reconfiguration, week.request) + longest + week.request,
    )
    found = []
    for number, job in enumerate(run.plan.job):
        mine = sends.filter((pl.col("job") == number) & (pl.col("asked_ns") >= 0))
        first = pl.col("granted_ns").min().alias("first")
        granted = None
        requests = mine.group_by("asked_ns").agg(first).sort("asked_ns")
        for asked, up in requests.rows():
            bound = asked + week.request + jobs * turn + week.reconfiguration
            if week.share == "fair" and granted is not None:
                had = asked + week.request - (granted - week.reconfiguration)
                bound += len(job.ranks) * had
            for ready, until in (
                mine.filter(pl.col("asked_ns") == asked).select("ready_ns", "granted_ns").rows()
            ):
                found.append((until - asked, max(ready, bound) - asked))
            granted = up
    return found


def check(run: et.Run) -> int:
    """Holds each request to the bound. Returns the longest wait."""
    assert (run.iterations["end_ns"] >= 0).all()
    found = waits(run)
    assert found
    for wait, bound in found:
        assert wait <= bound, (wait, bound)
    return max(wait for wait, _ in found)


def work(some: random.Random, ranks: int) -> Any:
    size = f"{some.choice([1, 60_000, 400_001])}B"
    pairs = [[rank, rank + 1] for rank in range(0, ranks - 1, 2)]
    return some.choice(
        [
            et.all_reduce(size, algorithm="ring"),
            et.all_gather(size, algorithm="ring"),
            et.all_to_all(size, algorithm="direct"),
            et.broadcast(size, algorithm="chain"),
            et.all_reduce(size, among=pairs[: some.randint(1, len(pairs))]),
        ]
    )


def random_plan(seed: int, share: str) -> et.Plan:
    """Two or three jobs that want the same racks."""
    some = random.Random(f"waits {seed}")
    jobs = []
    for number in range(some.choice([2, 3])):
        racks = some.sample(range(RACKS), some.randint(2, RACKS))
        deeds = [work(some, len(racks)) for _ in range(some.randint(1, 3))]
        if some.random() < 0.5:
            deeds.insert(0, et.compute(f"{some.randint(1, 60)}us", jitter="5us"))
        ranks = [f"r{rack}h{number}" for rack in racks]
        iterations = some.choice([2, 10])
        jobs.append(et.job(*deeds, ranks=ranks, iterations=iterations, circuits="each"))
    return plan(
        jobs,
        jitter=some.choice(["0us", "1us"]),
        reconfiguration=some.choice(["0us", "7us"]),
        request=some.choice(["0us", "2us"]),
        hold=some.choice(["0us", "30us"]),
        initial=some.choice(["ring", "none"]),
        share=share,
    )


@pytest.mark.parametrize("share", ["fair", "fifo"])
@pytest.mark.parametrize("seed", drawn_today(range(60), 6))
def test_each_request_is_granted_within_the_bound(seed: int, share: str) -> None:
    check(et.run(random_plan(seed, share)))


@pytest.mark.parametrize("share", ["fair", "fifo"])
def test_who_always_has_more_to_send_gives_way(share: str) -> None:
    """The first rank of a chain is in the next step before the message of this one is received: its circuit is always used. It
    used to keep it through all iterations, some 24 ms."""
    chain = et.job(
        et.broadcast("16MB", algorithm="chain"),
        iterations=20,
        circuits="each",
        ranks=[f"r{rack}h0" for rack in range(4)],
    )
    two = ["r0h1", "r2h1"]
    other = et.job(
        *(et.send("80kB", 0, 1), et.send("80kB", 1, 0)), iterations=5, circuits="each", ranks=two
    )
    assert check(et.run(plan([chain, other], hold="5us", share=share))) < 300_000


@pytest.mark.parametrize("share", ["fair", "fifo"])
def test_who_keeps_circuits_has_its_turn_too(share: str) -> None:
    """A job that waits and keeps some circuits meanwhile has ever more circuit time, while the other changes between two
    and hardly has any. It used to wait until the other job had ended, some 36 ms."""
    some = et.all_reduce("2MB", among=[[0, 1]]), et.all_reduce("200kB", among=[[0, 1], [2, 3]])
    ranks = [f"r{rack}h0" for rack in range(4)]
    keeps = et.job(*some, iterations=3, circuits="each", ranks=ranks)
    changes = et.job(
        *(et.send("80kB", 0, 1), et.send("80kB", 0, 2)),
        iterations=300,
        circuits="each",
        ranks=["r2h1", "r4h1", "r5h1"],
    )
    run = et.run(plan([keeps, changes], hold="50us", share=share, initial="none"))
    assert check(run) < 1_000_000
