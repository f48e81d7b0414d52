# SPDX-License-Identifier: MIT OR Apache-2.0
"""The runs of a campaign on disk: a folder for each plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from etalon.engine import Engine
from etalon.errors import EngineFailed
from etalon.plan import Plan
from etalon.results import Run, store


@dataclass(frozen=True)
class Store:
    """Where runs are kept, and which of them are those of this engine."""

    engine: Engine
    place: Callable[[Plan], Path]
    """The folder of a plan's run."""
    replace: bool = True
    """Whether any results in that folder may be replaced, or only partial ones of the same plan."""

    def has(self, plan: Plan) -> bool:
        """Whether the plan's whole run is there, made by this build of the engine."""
        return store.finished(self.place(plan), plan, self.engine.NAME, self.engine.digest(plan))

    def partial(self, plan: Plan) -> bool:
        """Whether partial results of the plan are there."""
        return store.unfinished(self.place(plan), plan, self.engine.NAME)

    def whole(self, plan: Plan) -> bool:
        """Whether the place holds whole results, whatever of."""
        return store.complete(self.place(plan))

    def claim(self, plan: Plan) -> None:
        """Refuses, before anything is run, a place that may not be written."""
        store.claim(self.place(plan), self._may_replace(plan))

    def load(self, plan: Plan) -> Run:
        """The plan's run."""
        return Run.load(self.place(plan))

    def add(self, run: Run) -> None:
        """Keeps a run."""
        run.save(self.place(run.plan), force=self._may_replace(run.plan))

    def add_failed(self, failure: EngineFailed) -> Path:
        """Keeps what was measured up to an engine's failure; gives the file with its console."""
        run = replace(failure.run, console=failure.console)
        self.add(run)
        return self.place(run.plan) / store.CONSOLE

    def _may_replace(self, plan: Plan) -> bool:
        return self.replace or self.partial(plan)
