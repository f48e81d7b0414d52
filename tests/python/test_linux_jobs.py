# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs, generators and schedulers in Python on the Linux engine: virtual time stands still while what comes next is decided."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import need_kernel
from etalon import Flow, after, wait
from etalon.errors import EtalonError
from etalon.results import Run
from test_circuit_jobs import plan as on_circuits
from test_goal import ring

SOCKETS = Path(__file__).with_name("socket_ring.py")


def star(ranks: int, *jobs: Any, **more: Any) -> et.Plan:
    """One host a rack, and a packet network as fast as hosts."""
    host = {"rate": "10Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(racks=ranks, hosts=1, packet=("10Gbps", "500ns"), voq=1000, host=host)
    settings = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True, **more}
    return et.experiment(net, et.packet_only(net), *jobs, tcp={"max_cwnd": 128}, **settings)


def circuits(racks: int, *jobs: Any, **asked: Any) -> et.Plan:
    """Circuits on request, and none of packets."""
    host = {"rate": "10Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(
        racks=racks,
        hosts=1,
        circuits_only=True,
        circuit=("10Gbps", "500ns"),
        ack_bypass="1us",
        voq=1000,
        host=host,
    )
    settings = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True}
    tcp = {"max_cwnd": 128}
    return et.experiment(net, et.asked(**asked), *jobs, tcp=tcp, **settings)


def both(plan: et.Plan) -> tuple[Run, Run]:
    need_kernel()
    return et.run(plan), et.run(plan, engine="linux")


def times(run: Run) -> list[float]:
    """Of the iterations, in microseconds."""
    rows = run.iterations
    assert (rows["end_ns"] >= 0).all()
    return [(end - start) / 1e3 for start, end in rows.select("start_ns", "end_ns").rows()]


IDLE = [
    ("ring", 4, "4MB"),
    ("ring", 16, "8MB"),
    ("recursive-doubling", 4, "2MB"),
    ("recursive-doubling", 16, "1MB"),
]


@pytest.mark.parametrize(("algorithm", "ranks", "size"), IDLE)
def test_an_iteration_takes_as_long_as_on_the_simulator(
    algorithm: str, ranks: int, size: str
) -> None:
    """Within 2 %, once slow start is over."""
    work = et.job(et.all_reduce(size, algorithm=algorithm), iterations=3)
    sim, linux = both(star(ranks, work))
    assert times(linux)[1:] == pytest.approx(times(sim)[1:], rel=0.02)
    columns = ["iteration", "step", "rank", "peer", "bytes"]
    assert linux.steps[columns].sort(columns).equals(sim.steps[columns].sort(columns))
    rows = linux.steps
    assert (rows["ready_ns"] <= rows["sent_ns"]).all()
    assert (rows["sent_ns"] <= rows["received_ns"]).all()
    assert linux.flows.height == sim.flows.height
    assert linux.counted("retransmits") == 0


def test_two_runs_of_a_job_give_the_same_bytes() -> None:
    need_kernel()
    work = et.job(et.compute("50us", jitter="20us"), et.all_reduce("1MB"), iterations=2)
    first, second = (et.run(star(4, work), engine="linux") for _ in range(2))
    assert first.meta["digest"] == second.meta["digest"]
    assert first.steps.equals(second.steps)


def test_computations_take_what_the_plan_says() -> None:
    work = et.job(
        et.compute("1ms", jitter="100us"),
        et.send("10kB", 0, 1),
        iterations=3,
        slow=[{"rank": 1, "times": 1.5}],
    )
    sim, linux = both(star(2, work))
    assert linux.iterations["compute_ns"].to_list() == sim.iterations["compute_ns"].to_list()
    assert linux.iterations["slowest_ns"].to_list() == sim.iterations["slowest_ns"].to_list()


def test_a_trace_runs_on_linux_too(tmp_path: Path) -> None:
    (tmp_path / "ring.goal").write_text(ring(4, 4_000_000))
    traced = et.job(file=str(tmp_path / "ring.goal"), iterations=2)
    sim, linux = both(star(4, traced))
    assert times(linux)[1:] == pytest.approx(times(sim)[1:], rel=0.02)


@pytest.mark.parametrize(
    ("algorithm", "ranks", "size"),
    [
        ("swing", 8, "2MB"),
        ("swing", 16, "4MB"),
        ("cyclic", 8, "2MB"),
        ("recursive-doubling", 8, "1MB"),
    ],
)
def test_circuits_are_asked_for(algorithm: str, ranks: int, size: str) -> None:
    """These need the circuits of each step: as many changes, dark for as long, as on the simulator."""
    work = et.job(et.all_reduce(size, algorithm=algorithm), circuits="each", iterations=4)
    sim, linux = both(circuits(ranks, work, reconfiguration="10us", hold="0us"))
    for column in ("changes", "dark_ns"):
        assert linux.iterations[column].to_list() == sim.iterations[column].to_list()
    assert times(linux)[1:] == pytest.approx(times(sim)[1:], rel=0.02)
    asked = linux.steps.filter(pl.col("asked_ns") >= 0)
    assert asked.height > 0
    took = asked["granted_ns"] - asked["asked_ns"]
    assert took.min() == 2_000  # the request, where circuits are there
    assert set(took) >= {12_000}  # and the change


LINE = et.dumbbell(rate="10Gbps", delay="10us", queue=None, hosts=4)
SHORT: dict[str, Any] = {"duration": "20ms", "warmup": "0s", "tdf": 1}


def closed_loop(network: Any, think: int = 500_000) -> Any:
    """Two clients, which ask, wait for the answer and think."""

    def client(number: int) -> Any:
        for _ in range(4):
            request = yield Flow(network.host(0, number), network.host(1, number), "1kB", "request")
            yield after(request)
            yield after((yield Flow(network.host(1, number), network.host(0, number), "200kB")))
            yield wait(think)

    for number in range(2):
        yield client(number)


@pytest.mark.parametrize("circuits", ["none", "each", "plan"])
def test_jobs_ask_in_networks_of_circuits(circuits: str) -> None:
    """Messages over several hops of a ring, circuits of each step, and a plan of both."""
    mine, theirs = both(on_circuits(job__circuits=circuits))
    for name in ("changes", "dark_ns"):
        assert theirs.iterations[name].to_list() == mine.iterations[name].to_list()
    second = [run.iterations["end_ns"][1] - run.iterations["start_ns"][1] for run in (mine, theirs)]
    assert second[1] == pytest.approx(second[0], rel=0.005)
    assert len(theirs.cross_connects) == len(mine.cross_connects)


def test_a_generator_runs_on_linux() -> None:
    need_kernel()
    made = [
        et.run(LINE, et.workload(closed_loop), engine=name, **SHORT) for name in ("sim", "linux")
    ]
    sim, linux = (run.flows.sort("flow") for run in made)
    assert linux.height == sim.height == 16
    assert linux["bytes"].to_list() == sim["bytes"].to_list()
    assert (linux["end_ns"] > 0).all()
    for row, wanted in zip(linux.to_dicts(), sim.to_dicts(), strict=True):
        took = row["end_ns"] - row["start_ns"]
        assert took == pytest.approx(wanted["end_ns"] - wanted["start_ns"], rel=0.1)


def fails(network: Any) -> Any:
    yield after((yield Flow(network.host(0, 0), network.host(1, 0), "1kB")))
    raise ValueError("enough")


def test_a_generator_that_fails_ends_the_run() -> None:
    need_kernel()
    with pytest.raises(EtalonError, match="enough"):
        et.run(LINE, et.workload(fails), engine="linux", **SHORT)


def fullest(demand: Any, network: Any) -> Any:
    """The fullest pair alone, for the shortest day."""
    if not demand.any():
        return []
    src, dst = divmod(int(demand.argmax()), demand.shape[1])
    return [([(src, dst)], network.day_ns)]


def test_a_scheduler_in_python_runs_on_linux() -> None:
    need_kernel()
    net = et.network(racks=3, hosts=2)
    week = et.computed(net, fullest, window="1ms")
    plan = et.experiment(
        net, week, et.bulk(0, 1), et.bulk(2, 1), duration="6ms", warmup="0ms", tdf=1
    )
    run = et.run(plan, engine="linux")
    computed = run.meta["schedule"]
    assert computed["weeks"] > 10
    assert {tuple(day["sources"]) for day in computed["configurations"]} <= {
        (-1, 0, -1),
        (-1, 2, -1),
    }
    assert run.flows["circuit_bytes"].sum() > 1_000_000
    again = et.run(plan, engine="linux")
    assert again.meta["digest"] == run.meta["digest"]


def test_a_program_with_sockets_takes_as_long_as_a_job(tmp_path: Path) -> None:
    """The same ring by ranks in the kernel, and by a program that knows nothing of jobs: within 3 %, once windows are open."""
    need_kernel()
    ranks, size, iterations = 4, 4_000_000, 3
    work = et.job(et.all_reduce(f"{size}B", algorithm="ring"), iterations=iterations)
    job = et.run(star(ranks, work), engine="linux")
    words = [ranks, size, iterations]
    program = {
        "hosts": "all",
        "command": [sys.executable, str(SOCKETS), "{index}", "{peer}", *map(str, words)],
        "start": "1ms",
        "name": "ring",
    }
    plan = star(ranks, work).replace(
        {"job": [], "program": [program], "duration": "60ms", "end_when_done": False}
    )
    run = et.run(plan, engine="linux")
    told = [run.outputs[f"programs/ring-r{rank}h0.out"].decode().split() for rank in range(ranks)]
    assert all(len(words) == 3 * iterations for words in told), run.outputs
    assert all(word == "True" for words in told for word in words[2::3])
    took = []
    for at in range(iterations):
        begins, ends = ([int(words[3 * at + which]) for words in told] for which in (0, 1))
        took.append((max(ends) - min(begins)) / 1e3)
    assert took[1:] == pytest.approx(times(job)[1:], rel=0.03)


@pytest.mark.parametrize("decays", [True, False])
def test_windows_shrink_while_ranks_compute_if_the_plan_says_so(decays: bool) -> None:
    """A round trip of 2 ms, and 900 ms of computing between messages: more than four timeouts."""
    work = et.job(et.send("16MB", 0, 1), et.compute("900ms"), iterations=3)
    net = et.network(
        racks=2,
        hosts=1,
        packet={"rate": "10Gbps", "delay": "500us", "hold_queue": 2000},
        host={"rate": "10Gbps", "delay": "0us", "jitter": "0us"},
        voq=4000,
    )
    tcp = {"max_cwnd": 1000, "slow_start_after_idle": decays}
    settings: dict[str, Any] = {"tdf": 1, "warmup": "0ms", "duration": "5s", "end_when_done": True}
    runs = both(et.experiment(net, et.packet_only(net), work, tcp=tcp, **settings))
    took = []
    for run in runs:
        rows = run.steps.filter(pl.col("peer") >= 0).sort("iteration")
        took.append((rows["received_ns"] - rows["ready_ns"]).to_list())
    sim, linux = took
    assert linux[1:] == pytest.approx(sim[1:], rel=0.03)
    # 16 MB take 12.9 ms on the wire, and half a round trip: a window that stays is as fast as that.
    whole = 16e6 * 9014 / 8948 * 8 / 10
    for one in took:
        assert (one[1] > whole + 3e6) == decays
