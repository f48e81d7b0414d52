# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an engine is. A new one is a file here with a class, and a line in `ENGINES`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from etalon import _core
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.progress import Progress, Status
from etalon.results import Run


@dataclass(frozen=True)
class Options:
    """What is set for an engine, whatever the plan. Results do not depend on it."""

    patience_s: float = 60.0
    """A run that has done nothing for so long, in seconds of wall-clock time, is given up, where an engine can hang."""


class Engine(Protocol):
    """What runs a plan. One belongs to whoever asked for it; threads may share it."""

    NAME: str
    DESCRIPTION: str

    @property
    def options(self) -> Options:
        """What was set for it."""

    def problems(self, plan: Plan) -> list[PlanError]:
        """What of this plan the engine cannot do."""

    def missing(self, plans: Sequence[Plan]) -> str:
        """A sentence on what `prepare` has to make for these plans and how long that takes; empty if nothing."""

    def prepare(
        self, plans: Sequence[Plan], progress: Progress | None = None, status: Status | None = None
    ) -> None:
        """Makes what the engine needs for these plans, which may take minutes the first time."""

    def digest(self, plan: Plan) -> str:
        """Which build of the engine would run this plan. Results of another are never taken for its own."""

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan. Raises `EngineFailed`, with what was measured, if it does not come to the end."""

    def trace(
        self, plan: Plan, control: _core.Control, start_ns: int, end_ns: int, pcapng: Path | None
    ) -> dict[str, Any]:
        """Runs a plan up to `end_ns`; gives the events of [start_ns, end_ns) and writes its packets to `pcapng`."""
