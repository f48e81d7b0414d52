"""This machine, in threads of this process."""

from __future__ import annotations

from collections.abc import Sequence

from etalon import engine as engines
from etalon.engine import Done, Progress
from etalon.plan import Plan
from etalon.results import Run


class Local:
    """Threads of this process; the default."""

    NAME = "local"
    DESCRIPTION = "this machine, one run a processor"

    def check(self) -> None:
        """Nothing is needed."""

    def execute(
        self,
        plans: Sequence[Plan],
        *,
        engine: str,
        jobs: int | None,
        progress: Progress | None,
        done: Done | None,
    ) -> list[Run]:
        """Runs plans."""
        return engines.execute(plans, engine=engine, jobs=jobs, progress=progress, done=done)
