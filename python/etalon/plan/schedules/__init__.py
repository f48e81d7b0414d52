# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[schedule]` table: which circuits exist when. `rules.py` says how to add a kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from etalon.custom.source import MARK, is_reference
from etalon.errors import PlanError, gather
from etalon.plan.base import Kinds, Table
from etalon.plan.explain import build
from etalon.plan.network import Network
from etalon.plan.schedules.base import Schedule
from etalon.plan.schedules.computed import SCHEDULERS, Computed, Written
from etalon.plan.schedules.fixed import with_week
from etalon.plan.schedules.known import Known, with_demand
from etalon.plan.schedules.rotation import Rotation
from etalon.plan.schedules.rules import RULES
from etalon.plan.schedules.slices import Listed, with_slices
from etalon.plan.schedules.static import with_graph
from etalon.plan.schedules.strobe import Strobe
from etalon.plan.written import WRITTEN, with_source

__all__ = [
    "DESCRIPTIONS",
    "SCHEDULES",
    "AnySchedule",
    "Rotation",
    "Schedule",
    "Strobe",
    "with_files",
]

SCHEDULES = Kinds(
    "strobe",
    {**RULES, **dict.fromkeys(SCHEDULERS, Computed), WRITTEN: Written},
    {("fixed", "demand"): Known, ("fixed", "slices"): Listed},
    also={
        "rotornet": "rotor",
        "rotation": "strobe",
        "circle": "tournament",
        "matchings": "fixed",
        "birkhoff": "bvn",
        "edmonds": "max-weight",
        "helios": "max-weight",
        "c-through": "max-weight",
        "mordia": "tms",
    },
    marks={MARK: WRITTEN},
)

DESCRIPTIONS = {
    **{name: rule.about for name, rule in RULES.items()},
    **{
        name: f"computed from demand, week after week: {about}"
        for name, about in SCHEDULERS.items()
    },
    WRITTEN: Written.about,
}
"""The kinds of schedule, for `etalon list schedulers`."""

if TYPE_CHECKING:
    AnySchedule: TypeAlias = Schedule
else:
    AnySchedule = SCHEDULES.annotation()


class _Alone(Table):
    schedule: AnySchedule


def schedule(values: Mapping[str, Any], network: Network) -> Schedule:
    """The schedule of a `[schedule]` table in this network. Raises `PlanError`."""
    complete = with_files({"schedule": values, "network": {"racks": network.racks}}, Path())
    week = build(_Alone, {"schedule": complete["schedule"]}).schedule
    found = list(week.problems(network))
    if found:
        raise gather(found)
    return week


def with_files(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a plan with what the files of its schedule hold in their place; paths start at `folder`.

    So a plan says all that is run, wherever it is kept.
    """
    table = values.get("schedule")
    if not isinstance(table, Mapping):
        return dict(values)
    schedule = dict(table)
    if isinstance(schedule.get("file"), str):
        schedule = _with_file(schedule, values, folder)
    if isinstance(schedule.get("demand"), str):
        schedule = with_demand(schedule, folder)
    if is_reference(schedule.get("kind")):
        schedule = with_source(schedule, folder, "schedule.kind")
    return {**values, "schedule": schedule}


def _with_file(
    schedule: Mapping[str, Any], values: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    network = values.get("network")
    given = network if isinstance(network, Mapping) else {}
    kind = schedule.get("kind")
    if kind == "static":
        return with_graph(schedule, folder)
    if kind == "file" or (kind == "fixed" and given.get("kind") == "ocs"):
        return with_slices(schedule, folder)
    if kind != "fixed":
        raise PlanError(
            'only a schedule of kind "fixed", "file" or "static" has a file', key="schedule.file"
        )
    return with_week(schedule, folder, given.get("racks", 3), values.get("tdf", 20))
