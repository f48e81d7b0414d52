# SPDX-License-Identifier: MIT OR Apache-2.0
"""A week whose configurations are given, in the plan or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.network import CircuitNetwork, Network
from etalon.plan.schedules import configuration
from etalon.plan.schedules.base import Rule, text_of
from etalon.plan.schedules.configuration import Configuration
from etalon.units import TIME


class Fixed(Rule):
    """Always the same week."""

    about: ClassVar = (
        "the configurations that the plan lists, from a file, or computed once for a known demand"
    )
    which: ClassVar = 'of kind "fixed"'
    kind: Literal["fixed"] = "fixed"
    """The plan, or a file, lists the configurations."""
    configurations: tuple[Configuration, ...] = ()
    """The week, in order."""
    file: str | None = None
    """A file with the week: one line such as "180us 20us 0>1 1>0" for each day, its night and its circuits, or the
    original emulator's format (in us of the hosts' clocks)."""

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations of the week."""
        circuits = self.circuits(network)
        return configuration.expand(self.configurations, self.lengths, network, circuits)

    def first_circuits(self, network: Network) -> tuple[CircuitNetwork, ...]:
        """The kinds of circuits of the first week."""
        return configuration.kinds(self.configurations, network)

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        if not self.configurations:
            yield PlanError(
                'kind = "fixed" needs at least one configuration, '
                "for instance [{ circuits = [[0, 1], [1, 0]] }], or a file, or a demand",
                key="schedule.configurations",
            )
        week, usual = self.configurations, self.lengths
        yield from configuration.problems("schedule.configurations", week, usual, network)
        yield from self.wrong_weeks(network, configuration.length(week, usual))


def with_week(table: Mapping[str, Any], folder: Path, racks: Any, tdf: Any) -> dict[str, Any]:
    """The table of a fixed schedule with what its file holds in the file's place; paths start at `folder`."""
    schedule = dict(table)
    name = schedule.pop("file")
    if "configurations" in schedule or "demand" in schedule:
        other = "configurations" if "configurations" in schedule else "a demand"
        raise PlanError(f"the week is given already, by {other}", key="schedule.file", value=name)
    text = text_of(folder / name, "schedule.file")
    try:
        week = _core.read_week(text, racks, tdf)
    except (ValueError, TypeError, OverflowError) as error:
        raise PlanError(f"{name}: {error}", key="schedule.file") from None
    return schedule | {"configurations": [_written(one) for one in week]}


def _written(one: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of the core as a plan has it."""
    sources = enumerate(one["sources"])
    return {
        "circuits": [[src, dst] for dst, src in sources if src >= 0],
        "day": TIME.format(one["day_ns"]),
        "night": TIME.format(one["night_ns"]),
    }
