# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circuits that jobs ask for: an example by hand, closed forms, what holds for any job, and what is wrong with plans."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import etalon as et
from etalon import _core
from etalon import engine as engines

RATE = 100e9


def circuits(racks: int, *jobs: Any, hosts: int = 1, **schedule: Any) -> et.Plan:
    """A network of circuits alone, whose ACKs go around."""
    host = {"rate": "100Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(
        racks=racks,
        hosts=hosts,
        circuits_only=True,
        ack_bypass="1us",
        circuit=("100Gbps", "500ns"),
        host=host,
        voq=1000,
    )
    settings = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True}
    return et.experiment(net, et.asked(net, **schedule), *jobs, tcp={"max_cwnd": 200}, **settings)


def test_two_jobs_and_three_requests_by_hand() -> None:
    """Job 0 is on racks 0 and 1, job 1 on 1 and 2; it is the controller's own example, to the nanosecond.

    Job 0 asks at 0 for 0>1, which is up, and 1>0, there at 2 + 10 us. Job 1 asks at 1 us, and waits until 1>0 has been
    up for 50 us: 62 us. Its circuits are up at 72 us and stay until 122 us; the second iteration of job 0 has its at 132 us.
    """
    mine = et.job(et.all_to_all("20kB"), iterations=2, ranks=["r0h0", "r1h0"], circuits="each")
    other = et.job(et.all_to_all("20kB"), ranks=["r1h1", "r2h0"], circuits="each", start="1us")
    run = et.run(circuits(3, mine, other, hosts=2))
    steps = run.steps.sort("job", "iteration", "rank")
    rows = steps.select("job", "iteration", "rank", "asked_ns", "granted_ns").rows()
    first, second = rows[:2], rows[2:4]
    assert first == [(0, 0, 0, 0, 2_000), (0, 0, 1, 0, 12_000)]
    assert rows[4:] == [(1, 0, 0, 1_000, 72_000), (1, 0, 1, 1_000, 72_000)]
    asked = steps.filter((pl.col("job") == 0) & (pl.col("iteration") == 1))["asked_ns"]
    # It asks as soon as both ranks have received all.
    assert asked.to_list() == [int(steps["received_ns"][:2].max())] * 2  # type: ignore[arg-type]
    assert [granted for *_, granted in second] == [132_000, 132_000]
    assert run.iterations["changes"].to_list() == [1, 1, 1]
    assert run.iterations["dark_ns"].to_list() == [10_000] * 3


ALGORITHMS = [
    ("all_reduce", "cyclic"),
    ("all_reduce", "swing"),
    ("all_reduce", "recursive-doubling"),
    ("all_to_all", "direct"),
    ("all_to_all", "pairwise"),
    ("broadcast", "binomial"),
    ("broadcast", "chain"),
]


@pytest.mark.parametrize(("kind", "name"), ALGORITHMS)
def test_a_job_asks_for_what_its_messages_need(kind: str, name: str) -> None:
    """In circuits alone whatever arrives had a circuit: each message is sent when it is there."""
    job = et.job({kind: "256kB", "algorithm": name}, iterations=2, circuits="each")
    schedule = {"hold": "0us", "reconfiguration": "3us", "initial": "none"}
    run = et.run(circuits(8, job, **schedule))
    assert (run.iterations["end_ns"] >= 0).all()
    steps = run.steps
    assert (steps["received_ns"] > steps["granted_ns"]).all()
    asked = steps.filter(pl.col("asked_ns") >= 0)
    assert (asked["granted_ns"] >= asked["asked_ns"] + 2_000).all()
    assert int(run.iterations["changes"].sum()) > 0
    again = et.run(circuits(8, job, **schedule))
    assert again.steps.equals(steps) and again.iterations.equals(run.iterations)


CHAINS = [
    ("reduce", "chain"),
    ("reduce", "tree"),
    ("broadcast", "chain"),
    ("broadcast", "binomial"),
    ("all_gather", "cyclic"),
    ("all_gather", "ring"),
    ("all_reduce", "halving-doubling"),
    ("reduce_scatter", "ring"),
    ("all_to_all", "bruck"),
]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("size", ["1B", "7B", "1kB", "500kB"])
@pytest.mark.parametrize(("kind", "name"), CHAINS)
def test_ranks_may_run_ahead(kind: str, name: str, size: str, alone: bool) -> None:
    """A rank that only sends, or only receives, is soon iterations away from others, as are all where most messages are empty.

    Whatever it asks for, and whenever, the same messages are sent as without circuits.
    """
    racks = 8 if name in ("cyclic", "halving-doubling") else 5
    work = {kind: size, "algorithm": name}
    ways: dict[str, Any] = {"circuits_only": True, "ack_bypass": "1us"}
    if not alone:
        ways = {"packet": ("10Gbps", "1us")}
    host = {"rate": "100Gbps", "delay": "0us", "jitter": "0us" if alone else "1us"}
    net = et.network(racks=racks, hosts=1, circuit=("100Gbps", "500ns"), voq=256, host=host, **ways)
    settings = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True}
    messages = {}
    for ask in ("first", "all", "none"):
        circuits = "none" if ask == "none" else "each"
        schedule: dict[str, Any] = {"hold": "30us", "ahead": size == "7B", "ask": ask}
        job = et.job(work, iterations=5, circuits=circuits)
        other = et.network(racks=racks, hosts=1, packet=("10Gbps", "1us"), voq=256, host=host)
        run = et.run(
            et.experiment(other, et.packet_only(other), job, **settings)
            if ask == "none"
            else et.experiment(net, et.asked(net, **schedule), job, **settings)
        )
        assert run.iterations.height == 5 and (run.iterations["end_ns"] >= 0).all()
        steps = run.steps
        assert (steps["received_ns"] >= steps["sent_ns"]).all()
        assert (steps["sent_ns"] >= steps["ready_ns"]).all()
        names = ("iteration", "step", "rank", "peer", "bytes")
        messages[ask] = sorted(steps.select(names).rows())
    assert messages["first"] == messages["all"] == messages["none"]


def test_a_ring_keeps_its_circuits() -> None:
    """They are up from the start, and each step needs them again: it asks once, and nothing changes."""
    job = et.job(et.all_reduce("1MB"), iterations=3, circuits="each")
    run = et.run(circuits(8, job))
    assert run.iterations["changes"].to_list() == [0, 0, 0]
    assert len(run.steps.filter(pl.col("asked_ns") >= 0)) == 8


def test_a_plan_asks_for_nothing_that_another_job_uses() -> None:
    """Some of the circuits at the start are between ranks of the other job: jobs of different racks run as if alone."""
    ranks = [[f"r{rack}h0" for rack in racks] for racks in ((0, 1, 2), (3, 4, 5))]
    planned = et.job(et.all_to_all("4MB"), iterations=3, circuits="plan", ranks=ranks[0])
    other = et.job(et.all_to_all("3MB"), iterations=3, circuits="each", ranks=ranks[1])
    initial = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    alone = et.run(circuits(6, planned, initial=initial))
    beside = et.run(circuits(6, planned, other, initial=initial))
    assert (alone.iterations["changes"] > 0).any()
    first = beside.iterations.filter(pl.col("job") == 0)
    assert first["end_ns"].to_list() == alone.iterations["end_ns"].to_list()


@pytest.mark.parametrize("share", ["fair", "fifo"])
def test_jobs_that_keep_their_circuits_give_way(share: str) -> None:
    """Two rings in opposite directions need the same ports all the time."""
    back = [f"r{rack}h1" for rack in reversed(range(4))]
    jobs = [
        et.job(et.all_reduce("400kB"), iterations=3, circuits="each", ranks=ranks)
        for ranks in ([f"r{rack}h0" for rack in range(4)], back)
    ]
    run = et.run(circuits(4, *jobs, hosts=2, hold="5us", share=share))
    assert (run.iterations["end_ns"] >= 0).all()
    waits = run.steps.filter(pl.col("asked_ns") >= 0)
    longest = int((waits["granted_ns"] - waits["asked_ns"]).max())  # type: ignore[arg-type]
    sending = (run.steps["received_ns"] - run.steps["granted_ns"]).filter(
        run.steps["granted_ns"] >= 0
    )
    turn = 10_000 + 5_000 + 4 * 2_000 + int(sending.max())  # type: ignore[arg-type]
    assert longest <= 2 * turn
    ends = run.iterations.group_by("job").agg(pl.col("end_ns").max())["end_ns"].to_list()
    assert max(ends) < 1.3 * min(ends)


@pytest.mark.parametrize("ask", ["all", "first"])
def test_asking_ahead_hides_changes_behind_computations(ask: str) -> None:
    job = et.job(
        et.compute("40us"),
        et.all_to_all("800kB", algorithm="pairwise"),
        iterations=2,
        circuits="each",
    )
    usual, ahead = (
        et.run(circuits(4, job, hold="0us", reconfiguration="20us", ask=ask, ahead=value))
        for value in (False, True)
    )

    def longest(run: et.Run, since: str) -> list[int]:
        """How long after that the first circuits of each iteration are there, at most."""
        first = run.steps.filter(pl.col("step") == 1).sort("iteration")
        wait = (pl.col("granted_ns") - pl.col(since)).max().alias("wait")
        return first.group_by("iteration", maintain_order=True).agg(wait)["wait"].to_list()

    # The first change of each iteration, and its request, lie behind the computation.
    assert longest(usual, "asked_ns") == [22_000, 22_000]
    assert longest(ahead, "ready_ns") == [0, 0]
    assert ahead.iterations["end_ns"].max() < usual.iterations["end_ns"].max()  # type: ignore[operator]
    assert int(ahead.steps["ready_ns"].min()) == 0  # type: ignore[arg-type]


def test_the_packet_network_carries_what_has_no_circuit() -> None:
    """Beside circuits there is a packet network: a plan changes them for big messages, and not for small ones."""
    host = {"rate": "100Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(
        racks=8, hosts=1, packet=("10Gbps", "1us"), circuit=("100Gbps", "1us"), host=host, voq=500
    )
    week = et.asked(net, reconfiguration="20us", hold="0us")
    settings: Any = {"tdf": 1, "warmup": "0ms", "duration": "1s", "end_when_done": True}
    for size, changes in (("8kB", 0), ("8MB", 7)):
        took = {}
        for circuits in ("none", "each", "plan"):
            job = et.job(et.all_to_all(size), circuits=circuits)
            run = et.run(net, week, job, **settings)
            took[circuits] = int(run.iterations["end_ns"][0])
        assert int(run.iterations["changes"][0]) == (changes and changes - 1)  # one is up
        assert took["plan"] <= 1.02 * min(took.values())


def test_a_list_names_circuits_from_a_step_on() -> None:
    pairs = [[0, 1], [1, 0]]
    job = et.job(
        et.send("100kB", 0, 1),
        et.compute("10us"),
        et.send("100kB", 1, 0),
        circuits=[{"step": 0, "circuits": pairs}],
    )
    run = et.run(circuits(2, job, initial="none"))
    sent = run.steps.filter(pl.col("peer") >= 0)
    assert sent["asked_ns"].to_list() == [0, -1]
    assert sent["granted_ns"].to_list()[0] == 12_000


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"do": [{"all_reduce": "1MB", "algorithm": "two-trees"}]}, {}, "do.0: .*must be a matching"),
    ({"circuits": "none", "do": [{"all_to_all": "1MB"}]}, {}, "without a circuit from rack"),
    (
        {"circuits": [{"step": 99, "circuits": [[0, 1]]}]},
        {},
        r"circuits.0.step: .*there is no step 99: an iteration has steps 0\.\.13",
    ),
    (
        {"circuits": [{"step": 0, "circuits": [[0, 1], [0, 2]]}]},
        {},
        "circuits.0.circuits: .*not a matching: rack 0 is the source of two circuits",
    ),
    ({"circuits": "some"}, {}, 'must be "none", "each", "plan", or a list'),
    ({}, {"initial": [[0, 1], [0, 2]]}, "schedule.initial.*not a matching"),
    ({}, {"initial": [[0, 9]]}, "rack 9, which does not exist"),
    ({}, {"initial": "star"}, '"star" must be "ring", "none", or a list'),
    ({}, {"request": "3s"}, "schedule.request: .*as long as the run"),
]


@pytest.mark.parametrize(("keys", "schedule", "said"), BAD)
def test_what_is_wrong_is_said_in_one_sentence(
    keys: dict[str, Any], schedule: dict[str, Any], said: str
) -> None:
    job = {"do": [{"all_reduce": "1MB"}], "circuits": "each", **keys}
    plan = circuits(8, et.job(et.compute("1us")))
    changes = {"job": [job], "schedule": {**plan.to_dict()["schedule"], **schedule}}
    with pytest.raises(et.PlanError, match=said):
        et.run(plan.replace(changes))


def test_circuits_need_a_schedule_that_is_asked_and_a_job() -> None:
    job = et.job(et.all_reduce("1MB"), circuits="each")
    net = et.network(racks=4, hosts=1)
    with pytest.raises(et.PlanError, match=r'job\.0\.circuits: .*schedule\.kind = "asked"'):
        et.run(net, et.strobe(net), job)
    with pytest.raises(et.PlanError, match=r"schedule\.kind.*the plan has no job"):
        et.run(net, et.asked(net), et.bulk(0, 1))


def test_the_critical_path_goes_through_the_slow_rank() -> None:
    """Rank 1 computes longest, then waits for circuits: its message is what all wait for."""
    slow = [{"rank": 1, "times": 3}]
    job = et.job(
        et.compute("30us"), et.all_to_all("800kB", algorithm="pairwise"), circuits="each", slow=slow
    )
    run = et.run(circuits(4, job, hold="0us"))
    path = run.critical_path()
    begins, ends = [part.begin for part in path.parts], [part.end for part in path.parts]
    assert begins[1:] == ends[:-1]
    assert (begins[0], ends[-1]) == (0, int(run.iterations["end_ns"][0]))
    first, second, *_ = path.parts
    assert str(first) == "rank 1 computes: 90 us"
    assert (second.what, second.ns) == ("waits for circuits", 12_000)
    assert sum(
        path.share(what) for what in ("computes", "waits for circuits", "sends")
    ) == pytest.approx(1)
    with pytest.raises(et.EtalonError, match="no whole iteration 7"):
        run.critical_path(7)


@pytest.mark.parametrize(("before", "signal"), [("4us", 1_008_000), ("20us", 1_002_000)])
def test_signals_follow_the_grant(before: str, signal: int) -> None:
    """The job asks at 1 ms; the grant comes 2 us later, and the circuit 10 us after it. VOQs grow and ECE begins as long before
    the circuit as the plan says, but not before the grant. TDTCP's hosts hear of it 3 us after it is up."""
    host = {"rate": "100Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(
        racks=2,
        hosts=1,
        packet=("10Gbps", "1us"),
        circuit=("100Gbps", "500ns"),
        host=host,
        voq={"packets": 64, "resize": {"packets": 128, "before": before}},
        ece={"before": before},
        notify={"delay": "3us"},
    )
    one = et.job(
        et.send("1MB", 0, 1), circuits="each", start="1ms", connect="0us", transport="tdtcp"
    )
    week = et.asked(net, initial="none")
    plan = et.experiment(net, week, one, tdf=1, warmup="0ms", duration="3ms")
    answer = engines.named("sim").trace(plan, _core.Control(), 0, plan.duration, None)
    events = pl.DataFrame(dict(answer["events"]))
    kinds = ["resize", "ece_on", "circuit_up", "notify"]
    rows = events.filter(pl.col("kind").is_in(kinds)).select("kind", "t_ns", "src", "dst").rows()
    assert rows == [
        ("resize", signal, 0, 1),
        ("ece_on", signal, 0, 1),
        ("circuit_up", 1_012_000, 0, 1),
        ("notify", 1_015_000, 0, 1),
    ]
