# SPDX-License-Identifier: MIT OR Apache-2.0
"""This machine, in threads of this process (the core releases the GIL), watched by the thread that asked."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from etalon import _core
from etalon.campaign.executors.base import Done, hearing
from etalon.engine import Engine, Progress
from etalon.errors import Interrupted
from etalon.plan import Plan
from etalon.results import Run

TICK_S = 0.05


class Local:
    """Threads of this process; the default."""

    NAME = "local"
    DESCRIPTION = "this machine, one run a processor"

    def check(self) -> None:
        """Nothing is needed."""

    def execute(
        self,
        plans: Sequence[Plan],
        engine: Engine,
        *,
        jobs: int | None = None,
        progress: Progress | None = None,
        done: Done | None = None,
    ) -> list[Run]:
        """Runs plans; see `Executor`."""
        tasks = [_Task(plan) for plan in plans]
        workers = min(jobs or processors(), max(len(tasks), 1))
        with ThreadPoolExecutor(workers, thread_name_prefix="etalon") as pool:
            for task in tasks:
                task.future = pool.submit(engine.run, task.plan, task.control)
            try:
                hearing(lambda: _watch(tasks, progress, done), lambda: _stop(tasks))
            except Interrupted:
                raise  # all have stopped
            except BaseException:
                _stop(tasks)
                raise
        return [task.future.result() for task in tasks if task.future is not None]


@dataclass
class _Task:
    plan: Plan
    control: _core.Control = field(default_factory=_core.Control)
    future: Future[Run] | None = None


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _watch(tasks: list[_Task], progress: Progress | None, done: Done | None) -> None:
    """Waits until all tasks are done, with progress; raises what the first failed task raised."""
    open_tasks = dict(enumerate(tasks))
    while open_tasks:
        for index, task in list(open_tasks.items()):
            if task.future is not None and task.future.done():
                run = task.future.result()
                del open_tasks[index]
                if done is not None:
                    done(index, run)
        if progress is not None:
            waiting = sum(task.control.progress for task in open_tasks.values())
            progress((len(tasks) - len(open_tasks) + waiting) / len(tasks))
        if open_tasks:
            _wait(open_tasks)


def _wait(tasks: dict[int, _Task]) -> None:
    """Sleeps a tick, or less if the first of the tasks is done: in short steps, so that Ctrl-C is heard at once."""
    first = next(iter(tasks.values()))
    until = time.monotonic() + TICK_S
    while time.monotonic() < until and not (first.future is not None and first.future.done()):
        time.sleep(0.002)


def _stop(tasks: list[_Task]) -> list[Run]:
    """Ends all tasks soon and returns what those that had begun have measured."""
    futures = [task.future for task in tasks if task.future is not None]
    for future in futures:
        future.cancel()
    for task in tasks:
        task.control.stop()
    return [f.result() for f in futures if not f.cancelled() and f.exception() is None]
