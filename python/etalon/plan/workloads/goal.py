# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of jobs in GOAL, the textual language of LogGOPSim."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.workloads.given_file import Stamp


class Contents(NamedTuple):
    """What a trace comes to."""

    ranks: int
    operations: int
    pairs: int
    """Pairs of ranks that exchange anything."""


@lru_cache(maxsize=8)
def contents(path: Path, _: Stamp) -> Contents:
    """What a file holds, read once for each state that it is in. Raises `PlanError` with its line, and `OSError`."""
    if path.exists() and not path.is_file():
        raise PlanError("is not a file", file=str(path))
    found = _core.goal_contents(str(path))
    if len(found) == 3:
        return Contents(*found)
    line, why = found
    raise PlanError(why, file=f"{path}:{line}" if line else str(path))
