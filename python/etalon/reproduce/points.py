# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finished points, kept in the output folder so that no point is run twice by the same program."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from etalon.campaign.store import Store
from etalon.engine import Engine

POINTS = "points"


def store_in(folder: Path, engine: Engine) -> Store:
    """Runs in `points/<build>/<plan>`, both named by digest: another build of the engine never finds these."""
    points = folder / POINTS
    return Store(engine, lambda plan: points / engine.digest(plan) / plan.digest[:24])


def forget(folder: Path, builds: Collection[str], *, all_of_it: bool) -> None:
    """Removes the runs of other builds than these, and of these too if asked."""
    points = folder / POINTS
    if points.is_dir():
        for entry in points.iterdir():
            if all_of_it or entry.name not in builds:
                shutil.rmtree(entry, ignore_errors=True)
