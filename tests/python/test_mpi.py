# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which MPI this machine has, and the command of its launcher; a launcher here is a script that prints its version."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import Answer
from etalon.engine import mpi, mpi_job
from etalon.errors import EtalonError, PlanError
from etalon.plan import Plan
from fake_kernel import FakeKernel, fake

__all__ = ["fake"]

Command = Callable[..., Answer]

SAID = {
    "open": "mpiexec (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n",
    "debian": "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "mpich": "HYDRA build details:\n    Version:                                 5.0.2\n",
    "other": "mpiexec 1.0\n",
}


@pytest.fixture(autouse=True)
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi, "PATH", "/nonexistent")
    mpi.find.__globals__["_known"].cache_clear()


def launcher(folder: Path, name: str, kind: str) -> Path:
    """A program that says that it is an MPI's launcher."""
    folder.mkdir(exist_ok=True)
    place = folder / name
    place.write_text(f"#!/bin/sh\ncat <<'END'\n{SAID[kind]}END\n")
    place.chmod(0o755)
    return place


def program(folder: Path) -> str:
    """A program beside launchers."""
    folder.mkdir(exist_ok=True)
    place = folder / "prog"
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return str(place)


@pytest.mark.parametrize(
    ("kind", "name", "version"),
    [
        ("open", mpi.OPEN_MPI, "5.0.11"),
        ("debian", mpi.OPEN_MPI, "4.1.4"),
        ("mpich", mpi.MPICH, "5.0.2"),
    ],
)
def test_mpi_lies_beside_the_program(tmp_path: Path, kind: str, name: str, version: str) -> None:
    place = launcher(tmp_path / "bin", "mpiexec", kind)
    found = mpi.find(program(tmp_path / "bin"))
    assert (found.kind, found.version, found.launcher) == (name, version, place)
    assert str(found) == f"{name} {version} ({place})"
    assert mpi.find("/bin/true", place) == found


def test_an_mpi_of_this_environment_runs_any_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = launcher(tmp_path / "env", "mpiexec", "mpich")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "python"))
    assert mpi.find(program(tmp_path / "bin")).launcher == place


def test_no_mpi_and_two_get_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "python"))
    beside = program(tmp_path / "bin")
    with pytest.raises(
        EtalonError,
        match=r"there is no MPI beside .*prog, in this Python's",
    ):
        mpi.find(beside)
    launcher(tmp_path / "bin", "mpirun", "other")
    with pytest.raises(EtalonError, match="there is no MPI"):
        mpi.find(beside)
    launcher(tmp_path / "bin", "mpirun.openmpi", "debian")
    mpich = launcher(tmp_path / "bin", "mpiexec.hydra", "mpich")
    mpi.find.__globals__["_known"].cache_clear()
    with pytest.raises(EtalonError, match=r"has two MPIs, .* and .*: choose a launcher with --mpi"):
        mpi.find(beside)
    assert mpi.find(beside, mpich).kind == mpi.MPICH
    with pytest.raises(EtalonError, match="is not a launcher of Open MPI or MPICH"):
        mpi.find(beside, Path(beside))
    with pytest.raises(EtalonError, match=r"nothing: there is no such file"):
        mpi.find(beside, tmp_path / "nothing")


def test_ranks_are_spread_evenly(tmp_path: Path) -> None:
    hosts = ["r0h0", "r1h0", "r0h1"]
    one = mpi.Mpi(mpi.OPEN_MPI, "5", Path("/bin/mpiexec"))
    other = mpi.Mpi(mpi.MPICH, "5", Path("/bin/mpiexec"))
    assert one.command(hosts, 2, ["a", "b"]) == (
        *(*mpi.JOB, "/bin/mpiexec", "--host", "r0h0:1,r1h0:1", "-n", "2", *mpi.RANK, "a", "b"),
    )
    assert other.command(hosts, 4, ["a"])[4:7] == (
        *("/bin/mpiexec", "-hosts", "r0h0:2,r1h0:2,r0h1:2"),
    )


def test_a_plan_has_programs_of_mpi(tmp_path: Path, fake: FakeKernel, small: Plan) -> None:
    place = launcher(tmp_path / "bin", "mpiexec", "mpich")
    beside = program(tmp_path / "bin")
    given = {"ranks": 4, "command": [beside, "{host}"], "env": {"A": "b"}, "name": "job"}
    run = et.run(small.replace({"program": [given]}), engine="linux")
    (called,) = fake.calls[0]["plan"]["programs"]
    assert (called["rack"], called["host"]) == (0, 0)
    assert called["command"] == [
        *(*mpi.JOB, str(place), "-hosts", "r0h0:1,r1h0:1,r2h0:1,r0h1:1", "-n", "4"),
        *(*mpi.RANK, beside, "r0h0"),
    ]
    assert {"HYDRA_IFACE=eth0", "TMPDIR=/run/etalon"} < set(called["env"])
    assert called["env"][-1] == "A=b", "what the plan says comes last, and holds"
    assert "programs/job.out" in run.outputs
    with pytest.raises(PlanError, match="ranks run on several hosts"):
        small.replace({"program": [{**given, "host": "r0h0"}]})


def test_mpirun_says_which_mpi_it_found(
    tmp_path: Path, etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    place = launcher(tmp_path / "bin", "mpirun", "open")
    beside = program(tmp_path / "bin")
    ending: dict[str, Any] = {"status": 0, "stdout": b"", "stderr": b""}
    fake.programs = lambda _: ending
    answer = etalon("mpirun", small_file, "-n", "2", "--hosts", "r1h1,r0h0", "--", beside, "x")
    assert answer.code == 0
    assert f"Open MPI 5.0.11 ({place}): 2 ranks on 2 hosts, r1h1 to r0h0" in answer.err
    ((rack, host, command, _, env),) = fake.calls[0]["programs"]
    assert (rack, host) == (1, 1)
    hosts = ("--host", "r1h1:1,r0h0:1", "-n", "2")
    assert command == [*mpi.JOB, str(place), *hosts, *mpi.RANK, beside, "x"]
    assert "OMPI_MCA_btl=tcp,self" in env
    assert not any(one.startswith("ETALON_ASK=") for one in env)
    ending["status"] = 139
    answer = etalon("mpirun", small_file, "-n", "2", "--", beside)
    assert answer.code == 139
    assert "Open MPI ended with status 139; its output, and that of its ranks," in answer.err
    answer = etalon("mpirun", small_file, "-n", "2", "--hosts", "r9h0", "--", beside)
    assert answer.code == 2
    assert "--hosts: there is no host r9h0" in answer.err


def test_collectives_ask_for_circuits(
    tmp_path: Path, etalon: Command, fake: FakeKernel, small: Plan
) -> None:
    launcher(tmp_path / "bin", "mpirun", "mpich")
    beside = program(tmp_path / "bin")
    asked = {"duration": "5ms", "warmup": "0s", "schedule": {"kind": "asked"}, "bulk": []}
    given = {"ranks": 3, "command": beside, "ask": {"allreduce": "0>1 r1>r0", "all": "none"}}
    et.run(small.replace({**asked, "program": [given]}), engine="linux")
    (called,) = fake.calls[0]["plan"]["programs"]
    assert {
        "ETALON_RANKS=r0h0 r1h0 r2h0",
        "ETALON_ASK=none;allreduce=0>1 r1>r0",
        "ETALON_ASK_FROM=0",
        "ETALON_PROGRAM=0",
    } < set(called["env"])
    file = tmp_path / "asked.toml"
    small.replace(asked).save(file)
    fake.programs = lambda _: {"status": 0, "stdout": b"", "stderr": b""}
    words = ("--ask", "ring", "--ask", "alltoall=0>1", "--ask-from", "64KiB")
    assert etalon("mpirun", file, "-n", "2", *words, "--", beside).code == 0
    ((_, _, _, _, env),) = fake.calls[-1]["programs"]
    asks = {"ETALON_ASK=ring;alltoall=0>1", "ETALON_ASK_FROM=65536", "ETALON_PROGRAM=mpirun"}
    assert asks < set(env)


BAD = [
    (["--ask", "rign"], '--ask: "rign" must be "ring", "none", or circuits like'),
    (
        ["--ask", "barrier=ring"],
        '--ask: "barrier" is not a collective that can ask for circuits: choose all',
    ),
    (["--ask", "0>2"], "--ask: there is no rank 2: ranks are 0..1"),
    (["--ask-from", "1MB"], "--ask-from: needs `ask`, which names"),
    (["--ask", "ring", "--ask-from", "much"], '--ask-from: "much" does not start with a number'),
    (["--ask", "ring"], '--ask: collectives can ask for circuits where schedule.kind = "asked"'),
]


@pytest.mark.parametrize(("words", "said"), BAD)
def test_what_cannot_be_asked_for_is_said(
    tmp_path: Path, etalon: Command, fake: FakeKernel, small_file: Path, words: list[str], said: str
) -> None:
    launcher(tmp_path / "bin", "mpirun", "mpich")
    beside = program(tmp_path / "bin")
    answer = etalon("mpirun", small_file, "-n", "2", *words, "--", beside)
    assert answer.code == 2
    assert said in answer.err
    assert not fake.calls


def test_only_mpi_has_collectives(small: Plan) -> None:
    with pytest.raises(PlanError, match="only the collectives of an MPI program"):
        small.replace({"program": [{"host": "r0h0", "command": "a", "ask": "ring"}]})
    with pytest.raises(PlanError, match=r'program.0.ask.*where schedule.kind = "asked"'):
        small.replace({"program": [{"ranks": 2, "command": "a", "ask": "ring"}]})


def test_the_rank_that_ended_a_job_has_a_name(tmp_path: Path) -> None:
    job = mpi_job.Job(tmp_path / "job")
    job.look()
    assert not job.ranks
    begun = "".join(f"begun {rank} r{rank}h0 {2**30 + rank}\n" for rank in range(4))
    job.file.write_text(begun + "ended 3 r3h0 0\nended 2 r2h0 137\nended 0 r0h0 1\n")
    job.look()
    assert job.failed() == (
        "rank 2 on r2h0 was killed by SIGKILL, the first to fail; rank 3 on r3h0 had ended with status 0"
    )
    assert not job.alive, "there are no such processes"
    job.file.write_text(begun + "ended 1 r1h0 3\n")
    job.look()
    assert job.failed() == "rank 1 on r1h0 exited with status 3, the first to fail"
    job.file.write_text(begun + "ended 1 r1h0 0\n")
    job.look()
    assert job.failed() == "rank 1 on r1h0 had ended with status 0"


@pytest.mark.parametrize(("waiting", "whom"), [(1, "rank 0 on r0h0 waits"), (3, "3 ranks wait")])
def test_who_waits_for_a_rank_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int, whom: str
) -> None:
    monkeypatch.setattr(mpi_job.Rank, "alive", property(lambda rank: rank.status is None))
    watch = mpi_job.Watch(mpi_job.Job(tmp_path / "job"))
    begun = [f"begun {rank} r{rank}h0 {2**30 + rank}\n" for rank in range(waiting + 1)]
    unnumbered = "begun ? r9h0 7\n"  # a program that no launcher has numbered
    watch.job.file.write_text("".join(begun) + unnumbered + f"ended {waiting} r9h0 1\n")
    watch.job.look()
    failed = f"rank {waiting} on r{waiting}h0 exited with status 1, the first to fail"
    assert watch.why(6) == f"{failed}; {whom} for it for ever"


def test_a_connection_that_sends_again_is_not_quiet() -> None:
    """As /proc/net/tcp has them: one that listens, one that probes a closed window, and one with a retransmission timer."""
    titles = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    listens = "   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
    probes = "   1: 0100007F:A1B2 0100007F:0016 01 000003E8:00000000 04:00000014 00000000     0\n"
    repeats = "   2: 0100007F:A1B3 0100007F:0016 01 000003E8:00000000 01:00000014 00000003     0\n"
    assert not mpi_job.repeats(titles + listens + probes)
    assert mpi_job.repeats(titles + listens + repeats)


def timer(left_s: float, slack_ns: int, function: str = "hrtimer_wakeup") -> str:
    """A timer as /proc/timer_list has it."""
    left = round(left_s * 1e9)
    times = f"{left + 5}-{left + 5 + slack_ns} nsecs [in {left} to {left + slack_ns} nsecs]"
    return f" #0: <000000002d1dac78>, {function}, S:01\n # expires at {times}\n"


@pytest.mark.parametrize(
    ("text", "sleeps"),
    [
        ("active timers:\n", False),
        (timer(0.003, 0, "tick_sched_timer"), False),
        (timer(100, 50_000), True),  # sleep(100)
        (timer(70e-6, 50_000), False),  # what ends ranks of Open MPI
        (timer(2, 2_000_000), True),  # poll() with a timeout
        (timer(2, mpi_job.WATCH_NS), False),  # another job's watch
        (timer(2100, 100_000_000), False),  # Open MPI's event loops
        (timer(2100, 100_000_000) + timer(0.1, 50_000), True),
    ],
)
def test_who_sleeps_does_not_wait_for_ever(text: str, sleeps: bool) -> None:
    assert mpi_job.somebody_sleeps(text) == sleeps


def test_what_a_rank_started_ends_with_it() -> None:
    parents = {2: 1, 3: 1, 4: 2, 5: 4, 6: 3, 7: 1}
    assert sorted(mpi_job.offspring([2, 7], parents)) == [2, 4, 5, 7]


def test_a_launcher_may_end_its_ranks_when_the_run_is_over(tmp_path: Path) -> None:
    """All processes hear of the end; who started the launcher waits for it, and blames no rank."""
    place = tmp_path / "launcher"
    place.write_text(
        "#!/bin/sh\ntrap 'sleep 0.3; echo over; exit 1' INT\necho ready\nwhile :; do sleep 0.02; done\n"
    )
    place.chmod(0o755)
    job = subprocess.Popen(
        [sys.executable, "-I", "-S", mpi_job.__file__, str(place)],
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), mpi_job.QUIET: "60"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert job.stdout is not None and job.stdout.readline() == "ready\n"
    (tmp_path / f"job-{job.pid}").write_text("begun 0 r0h0 7\nended 0 r0h0 130\n")
    os.killpg(job.pid, signal.SIGINT)
    assert job.wait(20) == 1
    assert job.communicate() == ("over\n", "")


def test_a_plan_says_which_rank_failed_and_where_its_output_is(
    tmp_path: Path, fake: FakeKernel, small: Plan
) -> None:
    launcher(tmp_path / "bin", "mpiexec", "mpich")
    told = f"trace\n{mpi_job.SAID}rank 2 on r2h0 exited with status 1, the first to fail\n"
    fake.programs = lambda _: {"status": 255, "stdout": b"", "stderr": told.encode()}
    given = {"ranks": 3, "command": [program(tmp_path / "bin")], "name": "job"}
    run = et.run(small.replace({"program": [given]}), engine="linux")
    (failed,) = run.failed_programs
    assert failed.endswith(
        "prog: rank 2 on r2h0 exited with status 1, the first to fail; "
        "its output is in programs/job.out and programs/job.err"
    )


def test_a_job_may_be_quiet_while_circuits_are_away(small: Plan) -> None:
    assert mpi.quiet(small) == "ETALON_QUIET=6"
    slow = {"schedule": {"kind": "asked", "reconfiguration": "30s", "hold": "0s"}, "bulk": []}
    made = small.replace({**slow, "tdf": 1, "duration": "100s", "warmup": "0s"})
    assert mpi.quiet(made) == "ETALON_QUIET=60"
