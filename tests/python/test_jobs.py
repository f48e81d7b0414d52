# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs of ranks: their times against closed forms, their tables, and what is wrong with plans."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import etalon as et
from etalon.plan.workloads.job import algorithms

MB = 1_000_000
HEADERS = 9014 / 8948
"""Of the wire over payload, at an MTU of 9000 with time stamps."""
RATE = 10e9


HOP = 9014 * 8 / RATE
"""A packet's time on a link, in seconds: two links store it and forward it."""


def star(ranks: int, job: Any) -> et.Plan:
    """A network of one host a rack, whose packet network is as fast as hosts, without circuits; windows keep queues short."""
    host = {"rate": "10Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(racks=ranks, hosts=1, packet=("10Gbps", "500ns"), voq=1000, host=host)
    settings = {"tdf": 1, "warmup": "0ms", "duration": "20s", "end_when_done": True}
    return et.experiment(net, et.packet_only(net), job, tcp={"max_cwnd": 128}, **settings)


def deed(kind: str, name: str, size: str, **more: Any) -> Any:
    return {kind.replace("-", "_"): size, "algorithm": name, **more}


def vectors_and_steps(kind: str, name: str, n: int) -> tuple[float, int]:
    """Vectors that the busiest link carries one after the other, and steps that wait for the one before."""
    return {
        ("all-reduce", "ring"): (2 * (n - 1) / n, 2 * (n - 1)),
        ("reduce-scatter", "ring"): ((n - 1) / n, n - 1),
        ("all-gather", "ring"): ((n - 1) / n, n - 1),
        ("broadcast", "binomial"): (math.ceil(math.log2(n)),) * 2,
        ("reduce", "binomial"): (math.ceil(math.log2(n)),) * 2,
    }[kind, name]


CLOSED = [
    *(
        (kind, "ring", n)
        for kind in ("all-reduce", "reduce-scatter", "all-gather")
        for n in (3, 5, 8)
    ),
    *(("broadcast", "binomial", n) for n in (3, 8)),
    ("reduce", "binomial", 8),
]
"""Algorithms in which no rank can be ahead so far that two send to one: those need circuits of their own."""


@pytest.mark.parametrize(("kind", "name", "ranks"), CLOSED)
def test_an_idle_network_takes_what_the_closed_form_says(kind: str, name: str, ranks: int) -> None:
    """In the second iteration if ranks wait for each other in it: slow start is over."""
    iterations = 2 if name == "ring" else 1
    job = et.job(deed(kind, name, "32MB"), iterations=iterations)
    run = et.run(star(ranks, job))
    vectors, steps = vectors_and_steps(kind, name, ranks)
    expected = vectors * 32 * MB * 8 / RATE * HEADERS + steps * (2 * HOP + 1e-6)
    last = run.iterations.row(-1, named=True)
    assert (last["end_ns"] - last["start_ns"]) / 1e9 == pytest.approx(expected, rel=0.02)
    assert run.counted("retransmits") == 0


def test_every_byte_sent_is_received_once() -> None:
    deeds = [deed(kind, name, "100kB") for kind, names in algorithms().items() for name in names]
    run = et.run(star(8, et.job(*deeds, iterations=2)))
    assert (run.iterations["end_ns"] >= 0).all()
    steps = run.steps
    assert (steps["received_ns"] >= 0).all()
    sent = steps["sent_ns"] <= steps["received_ns"]
    assert sent.all()
    carried = int(run.pairs.select(pl.col("^.*_bytes$")).sum().to_numpy().sum())
    assert carried >= int(steps["bytes"].sum())
    again = et.run(star(8, et.job(*deeds, iterations=2)))
    assert again.steps.equals(steps)


def test_iterations_are_what_steps_come_to() -> None:
    """The table of iterations, recomputed from that of steps."""
    slow = [{"rank": 2, "times": 2}]
    job = et.job(et.compute("1ms", jitter="200us"), et.all_reduce("1MB"), iterations=3, slow=slow)
    run = et.run(star(4, job))
    for row in run.iterations.iter_rows(named=True):
        steps = run.steps.filter(pl.col("iteration") == row["iteration"])
        computed = steps.filter(pl.col("peer") < 0)
        spans = (computed["received_ns"] - computed["ready_ns"]).to_list()
        assert row["compute_ns"] == sum(spans) // 4
        assert row["slowest_ns"] == max(spans)
        assert row["start_ns"] == computed["ready_ns"].min()
        assert row["end_ns"] == steps["received_ns"].max()
    assert 1 < run.iterations["slowest_ns"].mean() / 1e6 / 2 < 1.2  # type: ignore[operator]
    assert run.exposed_share is not None and 0.3 < run.exposed_share < 0.8


def test_a_plan_goes_through_its_file(tmp_path: Any) -> None:
    matrix = [["0B", "3kB"], ["1kB", "0B"]]
    job = et.job(et.all_to_all(matrix=matrix), et.send("5kB", 1, 0), ranks=["r1h0", "r0h0"])
    run = et.run(star(2, job))
    run.save(tmp_path / "run")
    kept = et.Run.load(tmp_path / "run")
    assert kept.steps.equals(run.steps) and kept.iterations.equals(run.iterations)
    assert sorted(run.steps["bytes"].to_list()) == [1000, 3000, 5000]


BAD = [
    ({"ranks": ["r0h0", "r0h0"]}, "job.ranks.1.*has rank 0 already"),
    ({"ranks": ["r0h0", "r9h0"]}, "job.ranks.1.*there is no host r9h0"),
    ({"ranks": "some"}, 'must be "all", or a list of hosts'),
    ({"slow": [{"rank": 1, "times": 2}] * 2}, "this rank is slow already"),
    ({"slow": [{"rank": 7, "times": 2}]}, "there is no rank 7: the job has ranks 0..5"),
    (
        {"do": [{"all_reduce": "1MB", "algorithm": "swing"}]},
        'job.do.0.algorithm: .*"swing" needs a power of 2 of ranks, not 6',
    ),
    (
        {"do": [{"all_reduce": "1MB", "algorithm": "rign"}]},
        '"rign" is no algorithm of all-reduce, which has ring',
    ),
    (
        {"do": [{"compute": "1ms", "all_reduce": "1MB"}]},
        'an entry needs one of the keys .*has "compute" and "all_reduce"',
    ),
    ({"do": [{}]}, "this has none"),
    ({"do": [{"compute": "1ms", "algorithm": "ring"}]}, '"compute" has no such key'),
    ({"do": [{"send": "1MB", "from": 1, "to": 1}]}, "rank 1 would send to itself"),
    ({"do": [{"send": "1MB", "from": 1}]}, "job.do.0.to: .*a message needs the rank"),
    ({"do": [{"all_to_all": "1MB", "matrix": [["1kB"]]}]}, "6 ranks need 6 rows of 6 sizes"),
    (
        {"do": [{"all_reduce": "1MB", "algorithm": "hierarchical", "groups": 4}]},
        "6 ranks do not form 4 groups",
    ),
    ({"do": [{"all_reduce": "1MB", "among": [[0, 1], [1, 2]]}]}, r"do.0.among.1: rank 1 is in two"),
    (
        {"do": [{"all_reduce": "1MB", "among": [[0, 1], [2]]}]},
        r"do.0.among.1: groups have two ranks",
    ),
    ({"do": [{"all_reduce": "1MB", "among": [[0, 9]]}]}, r"among.0: rank 9 is none of 0..5"),
    (
        {"do": [{"reduce": "1MB", "among": [[0, 1]], "root": 2}]},
        r"root: there is no rank 2: the coll",
    ),
    ({"transport": "ndp"}, "a job's flows use TCP, TDTCP or MPTCP"),
]


@pytest.mark.parametrize(("keys", "said"), BAD)
def test_what_is_wrong_is_said_in_one_sentence(keys: dict[str, Any], said: str) -> None:
    job = {"do": [{"all_reduce": "1MB"}], **keys}
    with pytest.raises(et.PlanError, match=said):
        et.run(star(6, et.job(et.compute("1us"))).replace({"job": [job]}))


def test_groups_work_as_jobs_of_their_own_do() -> None:
    """Two groups in one job, and two jobs of one group each; the switch between them has room for both."""
    groups = [[0, 2, 4], [5, 3, 1]]
    work = {"all_reduce": "3MB", "algorithm": "ring"}
    together = et.run(star(6, et.job({**work, "among": groups}, iterations=2)))
    jobs = [et.job(work, iterations=2, ranks=[f"r{rank}h0" for rank in ranks]) for ranks in groups]
    plan = star(6, jobs[0]).replace(
        {"job": [job.model_dump(mode="json", exclude_unset=True, by_alias=True) for job in jobs]}
    )
    apart = et.run(plan)
    columns = ["iteration", "step", "rank", "peer", "bytes", "ready_ns", "sent_ns", "received_ns"]
    host = {(job, at): rank for job, ranks in enumerate(groups) for at, rank in enumerate(ranks)}
    columns_apart = [*columns[:2], "job", *columns[2:]]
    expected = [
        (iteration, step, host[job, rank], host[job, peer], *rest)
        for iteration, step, job, rank, peer, *rest in apart.steps.select(columns_apart).rows()
    ]
    assert sorted(together.steps.select(columns).rows()) == sorted(expected)
    # A rank in six sends two thirds of its vector twice.
    assert together.busbw == pytest.approx(2 / 3 * 2 * 3 * MB * 8e9 / took_ns(together), rel=0.01)


def took_ns(run: et.Run) -> float:
    """The mean iteration, in ns."""
    rows = run.iterations
    return float((rows["end_ns"] - rows["start_ns"]).mean())  # type: ignore[arg-type]
