"""What an executor is, and what it asks of a cluster."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any, Protocol

from etalon.engine import Done, Progress
from etalon.errors import PlanError
from etalon.executors.worker import Answer, Task
from etalon.plan import Plan
from etalon.results import Run


class Executor(Protocol):
    """Where plans are run. Results never depend on it."""

    NAME: str
    DESCRIPTION: str

    def check(self) -> None:
        """Refuses what is not installed, with the command that installs it."""

    def execute(
        self,
        plans: Sequence[Plan],
        *,
        engine: str,
        jobs: int | None,
        progress: Progress | None,
        done: Done | None,
    ) -> list[Run]:
        """Runs plans, as `etalon.engine.execute` does."""


class WorkerLost(Exception):
    """The worker that ran a task died; says how the cluster put it."""


class Pool(Protocol):
    """The workers of a cluster. A handle stands for a task that was submitted."""

    def submit(self, task: Task) -> Any:
        """Queues a task; gives its handle."""

    def answer(self, handle: Any) -> Answer | None:
        """What came of a task, None while it is not over. Raises `WorkerLost` if its worker died."""

    def cancel(self, handle: Any) -> None:
        """Drops a task that is not over; one that a worker has begun may go on to its end there."""


class Cluster(Protocol):
    """What an executor over a cluster adds to `cluster.execute`."""

    NAME: str
    AT_ONCE: int | None
    """Tasks that are queued at a time, unless the user says otherwise; None for all."""

    def open(self, jobs: int) -> AbstractContextManager[Pool]:
        """Joins the cluster that the environment names, or starts one of `jobs` workers on this machine."""


def require(executor: str, *modules: str) -> None:
    """Refuses an executor whose packages are not installed."""
    if all(find_spec(module) for module in modules):
        return
    command = shlex.join([sys.executable, "-m", "pip", "install", f"etalon-rdcn[{executor}]"])
    raise PlanError(f"--executor {executor}: {modules[0]} is not installed; {command}")
