# SPDX-License-Identifier: MIT OR Apache-2.0
"""The simulator, as an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from etalon import _core
from etalon.controls import SIM, controls
from etalon.custom.source import is_reference
from etalon.engine import build, code
from etalon.engine.protocol import Options
from etalon.errors import EtalonError, PlanError
from etalon.plan import Plan
from etalon.plan.schedules.asked import Asked
from etalon.plan.streaming import batches
from etalon.plan.transport import Mptcp, Ndp, RotorLb
from etalon.plan.workloads.job import Job
from etalon.progress import Progress, Status
from etalon.results import Run
from etalon.results.rows import FlowRows
from etalon.units import shown


class Simulator:
    """Everything is modelled, hosts and their TCP too."""

    NAME = SIM
    DESCRIPTION = (
        "the simulator: networks and hosts are models; millions of packets a second, anywhere"
    )

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()

    def problems(self, plan: Plan) -> list[PlanError]:
        """What the simulator has no model of."""
        found = list(_no_model(plan))
        if plan.program:
            found.append(
                PlanError("programs run on real hosts only: use --engine linux", key="program")
            )
        if isinstance(plan.schedule, Asked) and not plan.job:
            found.append(
                PlanError(
                    "circuits follow the requests of jobs, but the plan has no job: add a [[job]], or "
                    "take a schedule of another kind",
                    key="schedule.kind",
                    value="asked",
                )
            )
        return found

    def missing(self, plans: Sequence[Plan]) -> str:
        """Nothing."""
        return ""

    def prepare(
        self,
        plans: Sequence[Plan],
        progress: Progress | None = None,
        status: Status | None = None,
    ) -> None:
        """Nothing is needed."""

    def digest(self, plan: Plan) -> str:
        """The build of the core."""
        return build.digest()

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan."""
        rows = None
        try:
            if plan.streamed:
                resolved = plan.for_engines()
                resolved.pop("streamed")  # which is for the plan's digest
                come, rows = batches(plan), FlowRows(plan)
                text = json.dumps(resolved)
                answer = _core.run_stream(
                    text, lambda: next(come, None), rows.take, control, code.plugins(plan)
                )
            else:
                answer = _core.run(_read(plan), control, code.plugins(plan))
        except ValueError as error:
            raise EtalonError(
                f"{plan.name}: the simulator refused the plan: {error}{code.whose(plan, error)}"
            ) from error
        return Run.from_core(plan, answer, self.NAME, self.digest(plan), rows)

    def trace(
        self, plan: Plan, control: _core.Control, start_ns: int, end_ns: int, pcapng: Path | None
    ) -> dict[str, Any]:
        """Runs a plan up to `end_ns`; gives the events of [start_ns, end_ns) and writes its packets to `pcapng`."""
        path = None if pcapng is None else str(pcapng)
        try:
            return _core.trace(_read(plan), path, start_ns, end_ns, control, code.plugins(plan))
        except ValueError as error:
            raise EtalonError(
                f"{plan.name}: the simulator refused the plan: {error}{code.whose(plan, error)}"
            ) from error


def _read(plan: Plan) -> _core.Scenario:
    """The plan as the core has it. Neither table nor text of it, which may list many flows, stay in memory while it is run."""
    return _core.Scenario(json.dumps(plan.for_engines()))


def _announces(plan: Plan) -> bool:
    """Whether demand is known from hosts."""
    control = (plan.resolve()["schedule"] or {}).get("control")
    return control is not None and control["estimator"] != "voq"


def _no_model(plan: Plan) -> Iterator[PlanError]:
    """What the simulator has no model of."""
    if plan.generator and plan.dfsio:
        yield PlanError("generators cannot run beside [[dfsio]]", key="generator")
    for key, workload in plan.named_workloads():
        if isinstance(workload, Job) and isinstance(workload.transport, Mptcp):
            if _announces(plan):
                yield PlanError(
                    "in the simulator, ranks announce no demand of what MPTCP carries",
                    key=f"{key}.transport",
                )
        elif isinstance(workload.transport, Mptcp | Ndp | RotorLb) and (
            plan.dfsio or plan.job or plan.generator or _announces(plan)
        ):
            name = {"mptcp": "MPTCP", "ndp": "NDP", "rotorlb": "RotorLB"}[workload.transport.kind]
            yield PlanError(
                f"the simulator runs {name} neither beside [[dfsio]], [[job]] or [[generator]] nor where hosts announce demand",
                key=f"{key}.transport",
            )
        for name in workload.controls:
            if not is_reference(name) and SIM not in controls()[name].parameters:
                models = ", ".join(name for name, c in controls().items() if SIM in c.parameters)
                yield PlanError(
                    f"the simulator has no model of {shown(name)}; --engine linux runs the kernel's "
                    f"own, the simulator has {models}",
                    key=f"{key}.cc",
                    value=name,
                )
