"""Finished points, kept in the output folder so that no point is run twice by the same program."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from etalon.engine import Engine
from etalon.plan import Plan
from etalon.results import Run, store

POINTS = "points"


class Cache:
    """Runs in `points/<build>/<plan>`, both named by digest: another build of the engine never finds these."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self._points = folder / POINTS
        self._engine = engine

    def path(self, plan: Plan) -> Path:
        """Where the plan's run is kept."""
        return self._points / self._engine.digest(plan) / plan.digest[:24]

    def has(self, plan: Plan) -> bool:
        """Whether the plan's whole run is there."""
        return store.finished(self.path(plan), plan, self._engine.NAME)

    def load(self, plan: Plan) -> Run:
        """The plan's run."""
        return store.load_run(self.path(plan))

    def add(self, run: Run) -> None:
        """Keeps a run."""
        store.save_run(run, self.path(run.plan), force=True)

    def forget(self, plans: Iterable[Plan], *, all_of_it: bool) -> None:
        """Removes the runs of builds that would run none of these plans, and all others too if asked."""
        builds = {self._engine.digest(plan) for plan in plans}
        if self._points.is_dir():
            for entry in self._points.iterdir():
                if all_of_it or entry.name not in builds:
                    shutil.rmtree(entry, ignore_errors=True)
