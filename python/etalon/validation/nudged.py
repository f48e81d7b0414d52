# SPDX-License-Identifier: MIT OR Apache-2.0
"""Linux beside itself: how often Linux agrees with Linux, where chance alone differs."""

from __future__ import annotations

from dataclasses import replace

from etalon import _core
from etalon.engine.linux import Linux
from etalon.errors import EngineFailed
from etalon.plan import Plan
from etalon.results import Run


def nudge(plan: Plan) -> Plan:
    """The plan with hosts whose jitter is 1 ns longer: no user would call it another network, but packets meet otherwise."""
    jitter = plan.resolve()["hosts"]["jitter_ns"]
    return plan.replace({"network.host.jitter": f"{jitter + 1}ns"})


class Nudged(Linux):
    """Linux on nudged plans; its results bear the plan as it was given."""

    NAME = "nudged"
    DESCRIPTION = "Linux on hosts whose jitter is 1 ns longer than the plan's"

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs the nudged plan."""
        try:
            return replace(super().run(nudge(plan), control), plan=plan)
        except EngineFailed as failure:
            if failure.run is not None:
                failure.run = replace(failure.run, plan=plan)
            raise
