"""Runs plans on an engine, in threads (the core releases the GIL), watched by the thread that asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from etalon import _core
from etalon.engine import linux, sim
from etalon.errors import Interrupted, PlanError
from etalon.plan import Plan
from etalon.plan.explain import gather
from etalon.results import Run

Progress = Callable[[float], None]
"""Told the share of the work that is done, 0 to 1, a few times a second."""
Done = Callable[[int, Run], None]
"""Told each run, with its place in the list of plans, as soon as it is complete."""

Told = Callable[[str], None]
"""Told each step of a preparation, in a few words."""

TICK_S = 0.05


class Engine(Protocol):
    """What runs a plan."""

    NAME: str
    DESCRIPTION: str

    def problems(self, plan: Plan) -> list[PlanError]:
        """What of this plan the engine cannot do."""

    def needs(self, plans: Sequence[Plan]) -> list[int]:
        """What `prepare` would have to build, if anything: the HZ of each kernel."""

    def prepare(
        self, plans: Sequence[Plan], progress: Progress | None = None, told: Told | None = None
    ) -> None:
        """Gets what the engine needs for these plans, which may take minutes the first time."""

    def digest(self, plan: Plan) -> str:
        """Which build of the engine would run this plan. Results of another are never taken for its own."""

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan."""

    def trace(
        self, plan: Plan, control: _core.Control, start_ns: int, end_ns: int, pcapng: Path | None
    ) -> dict[str, Any]:
        """Runs a plan up to `end_ns`; gives the events of [start_ns, end_ns) and writes its packets to `pcapng`."""


ENGINES: dict[str, Engine] = {one.NAME: one for one in (sim.Simulator(), linux.LINUX)}
"""The engines by name."""


def named(name: str) -> Engine:
    """The engine called `name`."""
    if name not in ENGINES:
        known = " or ".join(f'"{engine}"' for engine in ENGINES)
        raise PlanError(f'there is no engine "{name}"; the engine is {known}')
    return ENGINES[name]


def check(plans: Sequence[Plan], engine: str) -> None:
    """Refuses plans that the engine cannot run."""
    for plan in plans:
        found = named(engine).problems(plan)
        if found:
            raise gather(found, plan.name)


def prepare(plans: Sequence[Plan], engine: str) -> None:
    """Refuses plans that the engine cannot run, and gets what it needs for them."""
    check(plans, engine)
    named(engine).prepare(plans)


def building(missing: Sequence[int]) -> str:
    """The sentence that asks for patience while kernels are built."""
    which = " and ".join(f"HZ {hz}" for hz in missing)
    return (
        f"--engine linux needs a kernel with {which}, which is built now and kept: "
        f"this takes up to {8 * len(missing)} minutes on two processors, once"
    )


@dataclass
class _Task:
    plan: Plan
    control: _core.Control = field(default_factory=_core.Control)
    future: Future[Run] | None = None


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(
    plans: Sequence[Plan],
    *,
    engine: str = "sim",
    jobs: int | None = None,
    progress: Progress | None = None,
    done: Done | None = None,
) -> list[Run]:
    """Runs plans, `jobs` at a time; the results are in the order of the plans and do not depend on `jobs`.

    Ctrl-C stops what runs and raises `Interrupted` with all that was measured. If one plan fails, all stop.
    """
    prepare(plans, engine)
    chosen = named(engine)
    tasks = [_Task(plan) for plan in plans]
    workers = min(jobs or processors(), max(len(tasks), 1))
    with ThreadPoolExecutor(workers, thread_name_prefix="etalon") as pool:
        for task in tasks:
            task.future = pool.submit(chosen.run, task.plan, task.control)
        try:
            _watch(tasks, progress, done)
        except KeyboardInterrupt:
            raise Interrupted(_stop(tasks)) from None
        except BaseException:
            _stop(tasks)
            raise
    return [task.future.result() for task in tasks if task.future is not None]


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
