# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs whose circuits follow from Harvest's dynamic program, in networks of circuits: messages may take several hops, and racks
may have two uplinks. In hybrid networks, where a message takes one circuit or the packet network, the core has a program of its
own."""

from __future__ import annotations

import json
from typing import Any

from etalon import _core
from etalon.collectives import cheapest
from etalon.errors import PlanError
from etalon.plan.experiment import Experiment
from etalon.plan.network import Ocs
from etalon.plan.schedules.asked import Asked
from etalon.plan.workloads.job import Job


def resolved(plan: Experiment, job: Job) -> dict[str, Any]:
    """A job as the core takes it. Raises `PlanError` if there is no plan of its circuits."""
    found = job.job(plan.setting())
    network, schedule = plan.network, plan.schedule
    if isinstance(network, Ocs) and isinstance(schedule, Asked) and job.circuits == "plan":
        found["circuits"] = {"list": _stages(found, network, schedule)}
    return found


def _stages(job: dict[str, Any], network: Ocs, schedule: Asked) -> list[dict[str, Any]]:
    """The circuits that a job asks for, from which step on."""
    if network.uplinks > 2:
        raise PlanError(
            f"Harvest's model plans one or two circuits of a rack, not {network.uplinks}: list them, or set "
            "network.circuits.switches"
        )
    every = _core.job_messages(json.dumps({**job, "circuits": "none"}))
    costs = cheapest(
        [messages for _, messages in every],
        racks=network.racks,
        degree=network.uplinks,
        rate=network.circuits.rate,
        alpha=network.host.delay,
        delta=network.circuits.delay,
        reconfiguration=schedule.request + schedule.reconfiguration,
    )
    stages: list[dict[str, Any]] = []
    for (step, _), cost in zip(every, costs, strict=True):
        if not stages or cost.changed:
            circuits = [[src, dst] for src, dst, count in cost.topology for _ in range(count)]
            stages.append({"step": step, "circuits": circuits})
    return stages
