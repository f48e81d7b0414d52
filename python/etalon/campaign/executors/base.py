# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an executor is, and how one says that it is not installed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Protocol

from etalon.engine import Engine, Progress
from etalon.errors import Interrupted, PlanError
from etalon.plan import Plan
from etalon.results import Run

Done = Callable[[int, Run], None]
"""Told each run, with its place in the list of plans, as soon as it is complete."""


class Executor(Protocol):
    """Where plans are run. Results never depend on it."""

    NAME: str
    DESCRIPTION: str

    def check(self) -> None:
        """Refuses what is not installed, with the command that installs it."""

    def execute(
        self,
        plans: Sequence[Plan],
        engine: Engine,
        *,
        jobs: int | None = None,
        progress: Progress | None = None,
        done: Done | None = None,
    ) -> list[Run]:
        """Runs plans on an engine that is prepared for them, `jobs` at a time; the results are in the order of the plans.

        Ctrl-C stops what runs and raises `Interrupted` with all that was measured. If one plan fails, all stop.
        """


def hearing(work: Callable[[], None], end: Callable[[], list[Run]]) -> None:
    """Does the work. Ctrl-C raises `Interrupted` with the runs that `end` gives, which is called again if Ctrl-C cuts it short.

    One Ctrl-C may interrupt twice: where Polars is at work it raises a KeyboardInterrupt of its own, and Python then raises
    the one that it kept meanwhile, in the first function that is called.
    """
    try:
        work()
    except KeyboardInterrupt:
        runs = None
        while runs is None:
            try:  # and nothing is called before it, not even `suppress`
                runs = end()
            except KeyboardInterrupt:
                continue
        raise Interrupted(runs) from None


def require(executor: str, *modules: str) -> None:
    """Refuses an executor whose packages are not installed."""
    if all(find_spec(module) for module in modules):
        return
    command = shlex.join([sys.executable, "-m", "pip", "install", f"etalon-rdcn[{executor}]"])
    raise PlanError(f"--executor {executor}: {modules[0]} is not installed; {command}")
