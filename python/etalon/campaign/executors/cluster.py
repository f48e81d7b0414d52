# SPDX-License-Identifier: MIT OR Apache-2.0
"""Executors over a cluster: one task a plan; a task whose worker died is submitted again, a few times."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from etalon.campaign.executors import base
from etalon.campaign.executors.base import Done
from etalon.campaign.executors.local import processors
from etalon.campaign.executors.worker import Answer, Task
from etalon.engine import Engine, Progress
from etalon.errors import EtalonError, PlanError
from etalon.plan import Plan
from etalon.results import Run

ATTEMPTS = 3
"""Workers that may die of one plan before the sweep is given up."""
TICK_S = 0.05


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


class Cluster(ABC):
    """An executor over a cluster: it says what the cluster is, here is how plans are run on any."""

    NAME: str
    DESCRIPTION: str
    MODULES: ClassVar[tuple[str, ...]]
    """Packages that it needs."""
    AT_ONCE: int | None = None
    """Tasks that are queued at a time, unless the user says otherwise; None for all."""

    def check(self) -> None:
        """Refuses if what it needs is not installed."""
        base.require(self.NAME, *self.MODULES)

    @abstractmethod
    def open(self, jobs: int) -> AbstractContextManager[Pool]:
        """Joins the cluster that the environment names, or starts one of `jobs` workers on this machine."""

    def execute(
        self,
        plans: Sequence[Plan],
        engine: Engine,
        *,
        jobs: int | None = None,
        progress: Progress | None = None,
        done: Done | None = None,
    ) -> list[Run]:
        """Runs plans; see `Executor`. The results are those of a local run. Ctrl-C gives up runs that are not complete."""
        for plan in plans:
            if plan.program:
                raise PlanError(
                    f"programs run in a folder of this machine; --executor {self.NAME} would not find it, "
                    "--executor local does",
                    key="program",
                )
            if plan.streamed:
                raise PlanError(
                    f"the plan has {plan.expected_flows:.0f} flows, whose rows stay on the disk of the machine that runs it; "
                    f"--executor {self.NAME} would not bring them here, --executor local does",
                    file=plan.name,
                )
        if not plans:
            return []
        tasks = [Task.of(plan, engine) for plan in plans]
        work = _Work(tasks, progress, done)
        workers = min(jobs or processors(), len(plans))
        with self.open(workers) as pool:
            try:
                at_once = jobs or self.AT_ONCE or len(plans)
                base.hearing(lambda: work.finish(pool, at_once), work.complete)
            finally:
                for handle in work.handles.values():
                    pool.cancel(handle)
        return work.complete()


@dataclass
class _Work:
    """The tasks of a sweep and what has come of them; a task's index is its name."""

    tasks: list[Task]
    progress: Progress | None
    done: Done | None
    handles: dict[int, Any] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)

    def complete(self) -> list[Run]:
        """The runs that are there, in the order of the tasks."""
        return [self.runs[index] for index in sorted(self.runs)]

    def finish(self, pool: Pool, at_once: int) -> None:
        """Has all tasks run, at most `at_once` of them queued at a time."""
        waiting = deque(range(len(self.tasks)))
        while waiting or self.handles:
            while waiting and len(self.handles) < at_once:
                index = waiting.popleft()
                self.handles[index] = pool.submit(self.tasks[index])
            waiting.extendleft(self._collect(pool))
            if self.progress is not None:
                self.progress(len(self.runs) / len(self.tasks))
            if self.handles:
                time.sleep(TICK_S)

    def _collect(self, pool: Pool) -> list[int]:
        """Takes the answers that are there; gives the tasks whose worker died."""
        lost = []
        for index, handle in list(self.handles.items()):
            task = self.tasks[index]
            try:
                answer = pool.answer(handle)
            except WorkerLost as loss:
                del self.handles[index]
                self._mourn(index, loss)
                lost.append(index)
                continue
            if answer is None:
                continue
            del self.handles[index]
            self.runs[index] = answer.run(task.plan)
            if self.done is not None:
                self.done(index, self.runs[index])
        return lost

    def _mourn(self, index: int, loss: WorkerLost) -> None:
        self.deaths[index] = self.deaths.get(index, 0) + 1
        if self.deaths[index] >= ATTEMPTS:
            raise EtalonError(
                f"{self.tasks[index].plan.name}: {ATTEMPTS} workers that ran this plan died, the last with: {loss}; "
                "complete runs are kept. Do the workers have enough memory?"
            ) from loss
