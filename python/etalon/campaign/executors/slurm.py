# SPDX-License-Identifier: MIT OR Apache-2.0
"""Slurm, through submitit: every run is a job of the cluster that `sbatch` of this machine submits to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from etalon import cache
from etalon.campaign.executors import worker
from etalon.campaign.executors.cluster import Cluster, WorkerLost
from etalon.campaign.executors.worker import Answer, Task
from etalon.errors import EtalonError, PlanError

LIMIT_MINUTES = 60
"""Time limit of a job; SBATCH_TIMELIMIT overrides it, as the other SBATCH_ variables do what they are for."""


class Slurm(Cluster):
    """An executor over Slurm; `cluster` may be another of submitit's, such as "local" or "debug"."""

    NAME = "slurm"
    DESCRIPTION = (
        "a job a run, by sbatch; partition and limits from SBATCH_PARTITION, SBATCH_TIMELIMIT, ..."
    )
    MODULES = ("submitit",)
    AT_ONCE = 100

    def __init__(self, cluster: str = "slurm") -> None:
        self.cluster = cluster

    def check(self) -> None:
        """Refuses if submitit or Slurm itself is not installed."""
        super().check()
        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise PlanError(
                "--executor slurm: there is no sbatch on this machine; run it where jobs are submitted"
            )

    @contextmanager
    def open(self, jobs: int) -> Iterator[SlurmPool]:
        """A folder for what jobs and this process tell each other; all machines must see it."""
        import submitit

        try:
            parent = cache.folder("slurm")
            parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=parent))
        except OSError as error:
            raise EtalonError(f"{error.filename}: could not be made: {error.strerror}") from error
        try:
            executor = submitit.AutoExecutor(folder=folder, cluster=self.cluster)
            executor.update_parameters(
                name="etalon", timeout_min=LIMIT_MINUTES, cpus_per_task=1, tasks_per_node=1
            )
            yield SlurmPool(executor)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class SlurmPool:
    """The jobs of one sweep; a handle is a job."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def submit(self, task: Task) -> Any:
        """Queues a job."""
        return self.executor.submit(worker.perform, task)

    def answer(self, handle: Any) -> Answer | None:
        """What came of a job, None while it is not over."""
        from submitit.core.utils import FailedJobError, UncompletedJobError

        if not handle.done():
            return None
        try:
            answer: Answer = handle.result()
        except FailedJobError:
            raise  # the function's own, which would fail again
        except UncompletedJobError as error:
            raise WorkerLost(f"job {handle.job_id} ended as {handle.state}") from error
        return answer

    def cancel(self, handle: Any) -> None:
        """Drops a job, also one that runs."""
        handle.cancel(check=False)
