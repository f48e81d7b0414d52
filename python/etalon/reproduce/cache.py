"""Finished points, kept in the output folder so that no point is run twice by the same program."""

from __future__ import annotations

import shutil
from pathlib import Path

from etalon import build, store
from etalon.plan import Plan
from etalon.results import Run

POINTS = "points"


class Cache:
    """Runs in `points/<build>/<plan>`, both named by digest: another build of the core never finds these."""

    def __init__(self, folder: Path) -> None:
        self._points = folder / POINTS

    def path(self, plan: Plan) -> Path:
        """Where the plan's run is kept."""
        return self._points / build.digest() / plan.digest[:24]

    def has(self, plan: Plan) -> bool:
        """Whether the plan's whole run is there."""
        return store.finished(self.path(plan), plan)

    def load(self, plan: Plan) -> Run:
        """The plan's run."""
        return store.load_run(self.path(plan))

    def add(self, run: Run) -> None:
        """Keeps a run."""
        store.save_run(run, self.path(run.plan), force=True)

    def forget(self, *, all_of_it: bool) -> None:
        """Removes the runs of other builds, and this one's too if asked."""
        if self._points.is_dir():
            for entry in self._points.iterdir():
                if all_of_it or entry.name != build.digest():
                    shutil.rmtree(entry, ignore_errors=True)
