# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flows of plans that have more than are listed: they are made while the plan is run, and forgotten when they are over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from etalon.errors import PlanError
from etalon.plan.experiment import WORKLOADS, Experiment
from etalon.plan.network import Network
from etalon.plan.schedules.computed import Computed
from etalon.plan.transport import Mptcp
from etalon.plan.workloads import base

if TYPE_CHECKING:
    from etalon.plan.workloads.batches import Batch

MOST_FLOWS = 100_000_000
"""Flows of a plan, listed or not."""


def kinds(plan: Experiment) -> list[dict[str, Any]]:
    """What flows have in common, a flow of each kind as the core takes it: those of a workload that are of one class."""
    hosts = list(plan.setting().all_hosts())
    ends = hosts[0], hosts[-1]
    return [
        workload.one(*ends, 1, flow_class=name)
        for key, workload in plan.keyed_workloads()
        for name in workload.classes(plan.setting(key))
    ]


def batches(plan: Experiment) -> Iterator[Batch]:
    """The flows by the batch, in the order in which they start."""
    from etalon.plan.workloads.batches import merged, of_kinds

    sources, first = [], 0
    for key, workload in plan.keyed_workloads():
        setting = plan.setting(key)
        sources.append(of_kinds(workload.batches(setting), first))
        first += len(workload.classes(setting))
    return merged(sources)


def said(plan: Experiment) -> list[dict[str, Any]]:
    """What the flows follow from, for the plan's digest: workloads, and what stands in their files."""
    return [{"key": key, **workload.identity()} for key, workload in plan.keyed_workloads()]


def problems(plan: Experiment) -> Iterator[PlanError]:
    """What needs the flows to be listed, if they are not."""
    counts = {key: work.expected(plan.setting(key)) for key, work in plan.keyed_workloads()}
    total = sum(counts.values())
    if total <= base.MOST_FLOWS:
        return
    has = f"the plan has {total:.0f} flows"
    if total > MOST_FLOWS:
        yield PlanError(
            f"{has}; at most {MOST_FLOWS} are run",
            key=max(counts, key=lambda key: counts[key]),
            value=round(total),
        )
    listed = f"{has}, and above {base.MOST_FLOWS} they are not listed:"
    for key, workload in plan.named_workloads():
        count = workload.expected(plan.setting(key))
        if count > base.MOST_FLOWS and not workload.streams:
            *some, last = (f"[[{name}]]" for name, work in WORKLOADS.items() if work.streams)
            yield PlanError(
                f"{listed} only {', '.join(some)} and {last} can have {count:.0f}",
                key=key,
                value=round(count),
            )
        if workload.connect is not None:
            yield PlanError(f"{listed} each connects when it starts", key=f"{key}.connect")
        if isinstance(workload.transport, Mptcp):
            yield PlanError(f"{listed} MPTCP cannot carry them", key=f"{key}.transport")
    for key, wrong in (
        ("measure.flows", plan.measure.flows),
        ("measure.reordering", plan.measure.reordering),
    ):
        if wrong:
            yield PlanError(f"{listed} single flows cannot be followed", key=key)
    if plan.dfsio:
        yield PlanError(f"{listed} jobs cannot run beside them", key="dfsio")
    if plan.generator:
        yield PlanError(f"{listed} generators cannot run beside them", key="generator")
    if plan.job:
        yield PlanError(f"{listed} jobs cannot run beside them", key="job")
    if plan.program:
        yield PlanError(f"{listed} programs cannot run beside them", key="program")
    schedule = plan.schedule
    if (
        isinstance(plan.network, Network)
        and isinstance(schedule, Computed)
        and schedule.estimator != "voq"
    ):
        yield PlanError(
            f'{listed} hosts announce no demand of them; take the estimator "voq"',
            key="schedule.estimator",
            value=schedule.estimator,
        )
