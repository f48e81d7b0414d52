# SPDX-License-Identifier: MIT OR Apache-2.0
"""Executors: sweeps on other processes are those of this one, byte for byte, also if workers die."""

from __future__ import annotations

import os
import pkgutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import Answer as Printed
from conftest import need_module
from etalon import engine
from etalon.campaign import executors
from etalon.campaign.executors import base, cluster
from etalon.campaign.executors.cluster import WorkerLost
from etalon.campaign.executors.worker import Answer, Task, perform
from etalon.engine import sim
from etalon.errors import EtalonError, Interrupted, PlanError
from etalon.plan import Plan

GRID = {"network.voq": [4, 8, 16], "bulk.cc": ["reno", "cubic"]}
POINTS = 6


@pytest.fixture
def longer(small: Plan) -> Plan:
    """Long enough that a worker is found at work."""
    return small.replace({"duration": "2s", "warmup": "10ms"})


@pytest.fixture
def local(longer: Plan, tmp_path: Path) -> dict[str, bytes]:
    """The files of a local sweep."""
    et.sweep(longer, GRID, folder=tmp_path / "local")
    return files(tmp_path / "local")


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class FakePool:
    """Workers of this process, of which the first `deaths` die."""

    def __init__(self, deaths: int) -> None:
        self.deaths = deaths
        self.submitted: list[Task] = []
        self.cancelled = 0

    def submit(self, task: Task) -> Task:
        self.submitted.append(task)
        return task

    def answer(self, handle: Task) -> Answer:
        if self.deaths:
            self.deaths -= 1
            raise WorkerLost("killed")
        return perform(handle)

    def cancel(self, handle: Task) -> None:
        self.cancelled += 1


class Fake(cluster.Cluster):
    """An executor over such a pool."""

    NAME = "fake"
    DESCRIPTION = "a fake"
    MODULES = ()
    AT_ONCE = 2

    def __init__(self, deaths: int = 0) -> None:
        self.pool = FakePool(deaths)

    @contextmanager
    def open(self, jobs: int) -> Iterator[FakePool]:
        yield self.pool


def use(monkeypatch: pytest.MonkeyPatch, executor: Any) -> None:
    """Puts an executor into the list."""
    monkeypatch.setitem(executors.EXECUTORS, executor.NAME, executor)


def kill_one(
    monkeypatch: pytest.MonkeyPatch, pool: Any, pid_of: Callable[[], int | None]
) -> list[Any]:
    """Kills a worker that is at work once the first answer is there, and another if that one had just answered.

    Gives the handles of all that was submitted.
    """
    handles: list[Any] = []
    answers: list[Answer] = []
    killed: dict[int, int] = {}  # the answers that were there, by process
    lost: list[WorkerLost] = []
    submit, answer = pool.submit, pool.answer

    def counting(self: Any, task: Task) -> Any:
        handles.append(submit(self, task))
        return handles[-1]

    def killing(self: Any, handle: Any) -> Answer | None:
        try:
            found: Answer | None = answer(self, handle)
        except WorkerLost as loss:
            lost.append(loss)
            raise
        if found is not None:
            answers.append(found)
        if not lost and len(answers) > max(killed.values(), default=0):
            pid = pid_of()
            if pid is not None and pid not in killed:
                killed[pid] = len(answers)
                os.kill(pid, signal.SIGKILL)
        return found

    monkeypatch.setattr(pool, "submit", counting)
    monkeypatch.setattr(pool, "answer", killing)
    return handles


def children(pid: int) -> list[int]:
    """The processes that a process has started and that are there."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for one in threads for child in (one / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> Iterator[int]:
    """Those, and theirs."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def test_a_run_survives_the_way_to_a_worker_and_back(small: Plan) -> None:
    here = et.run(small)
    there = perform(Task.of(small, engine.named("sim"))).run(small)
    assert there.meta == here.meta
    for name in ("flows", "pairs", "latency_histogram", "sequence", "days", "writes", "programs"):
        assert getattr(there, name).equals(getattr(here, name))
        assert getattr(there, name).schema == getattr(here, name).schema


def test_a_worker_needs_no_file_of_the_plan(small_file: Path, tmp_path: Path) -> None:
    import pickle

    (tmp_path / "flows.txt").write_text("r0h0 r1h0 100000 11000000\n")
    text = small_file.read_text().partition("[[bulk]]")[0]
    small_file.write_text(f'{text}[[trace]]\nfile = "flows.txt"\n')
    plan = Plan.load(small_file)
    here = et.run(plan)
    sent = pickle.dumps(Task.of(plan, engine.named("sim")))
    (tmp_path / "flows.txt").unlink()
    assert perform(pickle.loads(sent)).run(plan).meta == here.meta


def test_another_build_on_a_worker_is_refused(small: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.of(small, engine.named("sim"))
    monkeypatch.setattr(sim.build, "digest", lambda: "another")
    with pytest.raises(EtalonError, match="install the same Etalon on all machines"):
        perform(task).run(small)


def test_a_task_whose_worker_died_is_run_again(
    longer: Plan, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake(deaths=2)
    use(monkeypatch, fake)
    et.sweep(longer, GRID, folder=tmp_path / "fake", executor="fake")
    assert len(fake.pool.submitted) == POINTS + 2
    assert files(tmp_path / "fake") == local


def test_a_plan_that_kills_its_workers_is_given_up(
    small: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake(deaths=100)
    use(monkeypatch, fake)
    with pytest.raises(EtalonError, match="3 workers that ran this plan died, the last with: kil"):
        et.sweep(small, GRID, executor="fake")
    assert len(fake.pool.submitted) <= 2 * cluster.ATTEMPTS
    assert fake.pool.cancelled == 1, "nothing is left in the queue"


def test_an_interrupted_sweep_goes_on_with_another_executor(
    longer: Plan, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake()
    use(monkeypatch, fake)

    def stop(share: float) -> None:
        if share > 0:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        et.sweep(longer, GRID, folder=tmp_path / "sweep", executor="fake", progress=stop)
    complete = len(stopped.value.runs)
    assert 0 < complete < POINTS
    assert (tmp_path / "sweep/table.partial.parquet").exists()
    fake.pool.submitted.clear()
    et.sweep(longer, GRID, folder=tmp_path / "sweep", executor="fake")
    assert len(fake.pool.submitted) == POINTS - complete
    assert files(tmp_path / "sweep") == local


@pytest.mark.parametrize(
    ("executor", "place"),
    [
        ("local", "etalon.campaign.executors.local._stop"),
        ("local", "concurrent.futures.Future.cancel"),
        ("fake", "etalon.campaign.executors.cluster._Work.complete"),
    ],
)
def test_ctrl_c_that_interrupts_again_still_stops(
    longer: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str, place: str
) -> None:
    """As where Polars is at work, which raises a KeyboardInterrupt before Python raises its own."""
    use(monkeypatch, Fake())
    real, calls = pkgutil.resolve_name(place), []

    def again(*args: object) -> object:
        calls.append(place)
        if len(calls) <= 2:
            raise KeyboardInterrupt
        return real(*args)

    def stop(share: float) -> None:
        if share > 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(place, again)
    # On this machine runs that are not stopped would last until the test is given up.
    plan = longer.replace({"duration": "60min"}) if executor == "local" else longer
    with pytest.raises(Interrupted) as stopped:
        et.sweep(plan, GRID, folder=tmp_path / "sweep", executor=executor, jobs=2, progress=stop)
    assert len(calls) > 2
    assert len(stopped.value.runs) < POINTS


def test_programs_stay_on_this_machine(small: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Fake())
    plan = et.experiment(small.network, et.program("r0h0", "true"), duration="30ms")
    with pytest.raises(PlanError, match="--executor local does"):
        Fake().execute([plan], engine.named("linux"))


@pytest.mark.slow
@pytest.mark.alone
def test_dask_of_two_workers_one_of_them_killed(
    longer: Plan, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_module("distributed", "dask")
    import dask
    from distributed import LocalCluster

    from etalon.campaign.executors.dask import DaskPool

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        dask.config.set({"scheduler-address": workers.scheduler_address}),
    ):
        handles = kill_one(monkeypatch, DaskPool, lambda: workers.workers[1].pid)
        et.sweep(longer, GRID, folder=tmp_path / "dask", executor="dask")
    assert len(handles) > POINTS, "a plan was run again"
    assert files(tmp_path / "dask") == local


def test_a_dask_scheduler_that_does_not_answer(
    etalon: Callable[..., Printed], small_file: Path, tmp_path: Path
) -> None:
    need_module("distributed", "dask")
    import dask

    (tmp_path / "empty").mkdir()
    settings = {
        "scheduler-address": "tcp://127.0.0.1:9",
        "distributed.comm.timeouts.connect": "100ms",
    }
    with dask.config.set(settings):
        for folder in ("new", "empty"):
            out = ("--out", tmp_path / folder)
            answer = etalon(
                "sweep", small_file, "--set", "network.voq=4,8", "--executor", "dask", *out
            )
            assert answer.code == 1
            (line,) = answer.err.splitlines()
            assert line.startswith(
                "error: the Dask scheduler at tcp://127.0.0.1:9 cannot be reached: "
            )
    assert not (tmp_path / "new").exists()
    assert not any((tmp_path / "empty").iterdir())


@pytest.mark.alone
def test_dask_on_this_machine(longer: Plan, local: dict[str, bytes], tmp_path: Path) -> None:
    need_module("distributed", "dask")
    et.sweep(longer, GRID, folder=tmp_path / "dask", executor="dask", jobs=2)
    assert files(tmp_path / "dask") == local


@pytest.mark.slow
@pytest.mark.alone
def test_ray_of_two_workers_one_of_them_killed(
    longer: Plan, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_module("ray", "ray")
    import ray

    from etalon.campaign.executors.ray import RayPool

    def busy() -> int | None:
        """A worker at work, which Ray names after its task."""
        for pid in descendants(os.getpid()):
            with suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::perform"):
                    return pid
        return None

    handles = kill_one(monkeypatch, RayPool, busy)
    et.sweep(longer, GRID, folder=tmp_path / "ray", executor="ray", jobs=2)
    assert not ray.is_initialized()
    assert len(handles) > POINTS, "a plan was run again"
    assert files(tmp_path / "ray") == local


@pytest.mark.slow
@pytest.mark.alone
def test_slurm_jobs_one_of_them_killed(
    longer: Plan, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_module("submitit", "slurm")
    from etalon.campaign.executors.slurm import Slurm, SlurmPool

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    use(monkeypatch, Slurm("local"))  # submitit's own: the same jobs as processes of this machine

    def busy() -> int | None:
        """The process of a job: the one that watches it has the job's number."""
        at_work = (pid for job in handles if not job.done() for pid in children(int(job.job_id)))
        return next(at_work, None)

    handles = kill_one(monkeypatch, SlurmPool, busy)
    et.sweep(longer, GRID, folder=tmp_path / "slurm", executor="slurm", jobs=2)
    assert len(handles) > POINTS, "a plan was run again"
    assert files(tmp_path / "slurm") == local
    assert not any((tmp_path / "cache/etalon/slurm").iterdir())


def test_slurm_needs_a_machine_that_submits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "find_spec", lambda _: True)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PlanError, match="there is no sbatch on this machine"):
        executors.named("slurm")


@pytest.mark.parametrize("name", ["ray", "dask", "slurm"])
def test_what_is_not_installed_gets_the_command_that_installs_it(
    name: str,
    small_file: Path,
    etalon: Callable[..., Printed],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "find_spec", lambda _: None)
    answer = etalon("sweep", small_file, "--seeds", 2, "--executor", name, "--out", "there")
    assert answer.code == 2
    assert f"-m pip install 'etalon-rdcn[{name}]'" in answer.err
    assert not (tmp_path / "there").exists()


def test_an_executor_that_does_not_exist_gets_a_sentence(
    small_file: Path, etalon: Callable[..., Printed]
) -> None:
    answer = etalon("sweep", small_file, "--seeds", 2, "--executor", "spark")
    assert answer.code == 2
    assert "choose local, ray, dask or slurm" in answer.err


def test_executors_are_listed(etalon: Callable[..., Printed]) -> None:
    listed = etalon("list", "executors", "--json").json
    assert [entry["name"] for entry in listed] == ["local", "ray", "dask", "slurm"]
