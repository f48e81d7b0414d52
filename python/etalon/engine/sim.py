"""The simulator, as an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from etalon import _core
from etalon.engine import build
from etalon.errors import EtalonError, PlanError
from etalon.plan import Plan, controls
from etalon.results import Run


class Simulator:
    """Everything is modelled, hosts and their TCP too."""

    NAME = "sim"
    DESCRIPTION = (
        "the simulator: networks and hosts are models; millions of packets a second, anywhere"
    )

    def problems(self, plan: Plan) -> list[PlanError]:
        """What the simulator has no model of."""
        found = list(controls.problems_of_sim(plan))
        if plan.program:
            found.append(
                PlanError("programs run on real hosts only; --engine linux has them", key="program")
            )
        return found

    def needs(self, plans: Sequence[Plan]) -> list[int]:
        """Nothing."""
        return []

    def prepare(
        self,
        plans: Sequence[Plan],
        progress: Callable[[float], None] | None = None,
        told: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is needed."""

    def digest(self, plan: Plan) -> str:
        """The build of the core."""
        return build.digest()

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan."""
        try:
            answer = _core.run(json.dumps(plan.resolve()), control)
        except ValueError as error:
            raise EtalonError(f"{plan.name}: the simulator refused the plan: {error}") from error
        return Run.from_core(plan, answer, self.NAME, self.digest(plan))

    def trace(
        self, plan: Plan, control: _core.Control, start_ns: int, end_ns: int, pcapng: Path | None
    ) -> dict[str, Any]:
        """Runs a plan up to `end_ns`; gives the events of [start_ns, end_ns) and writes its packets to `pcapng`."""
        path = None if pcapng is None else str(pcapng)
        try:
            return _core.trace(json.dumps(plan.resolve()), path, start_ns, end_ns, control)
        except ValueError as error:
            raise EtalonError(f"{plan.name}: the simulator refused the plan: {error}") from error
