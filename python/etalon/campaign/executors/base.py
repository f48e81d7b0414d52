"""What an executor is, and how one says that it is not installed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol, TypedDict, Unpack

from etalon.engine import Done, Progress
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.results import Run


class Options(TypedDict):
    """Those of `etalon.engine.execute`."""

    engine: str
    jobs: int | None
    progress: Progress | None
    done: Done | None


class Executor(Protocol):
    """Where plans are run. Results never depend on it."""

    NAME: str
    DESCRIPTION: str

    def check(self) -> None:
        """Refuses what is not installed, with the command that installs it."""

    def execute(self, plans: Sequence[Plan], **options: Unpack[Options]) -> list[Run]:
        """Runs plans, as `etalon.engine.execute` does."""


def require(executor: str, *modules: str) -> None:
    """Refuses an executor whose packages are not installed."""
    if all(find_spec(module) for module in modules):
        return
    command = shlex.join([sys.executable, "-m", "pip", "install", f"etalon-rdcn[{executor}]"])
    raise PlanError(f"--executor {executor}: {modules[0]} is not installed; {command}")
