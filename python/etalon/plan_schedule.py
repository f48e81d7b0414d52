"""The `[schedule]` table: which circuits exist when. A week of (day, night) configurations that repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from etalon import _core
from etalon.errors import PlanError
from etalon.plan_base import Rack, Table
from etalon.units import TIME, US, Duration, S, Time, rounded, shown

Circuit = Annotated[tuple[Rack, Rack], Field(description="source rack, destination rack")]

KINDS = {
    "strobe": "every rack meets every other rack once a week (NSDI'20 section 4.5)",
    "fixed": "the configurations that the plan lists",
    "none": "no circuits: the packet network alone",
}
"""The kinds of schedule, for `etalon list schedulers`."""

SHORTEST_DAY = 1 * US
LONGEST_WEEK = 1000 * S

MIMICKING = 3
"""Racks of the testbed whose schedule mimics more racks; the rule exists for this many."""


class Configuration(Table):
    """A day with these circuits, then a night without."""

    circuits: tuple[Circuit, ...] = ()
    """The circuits of the day, each [source rack, destination rack]."""
    day: Duration | None = None
    """Without it, the schedule's day."""
    night: Time | None = None
    """Without it, the schedule's night."""


class Schedule(Table):
    """The week."""

    kind: Literal["strobe", "fixed", "none"] = "strobe"
    """The rule: see `etalon list schedulers`."""
    day: Duration = 180 * US
    """How long circuits stay up."""
    night: Time = 20 * US
    """The time that the circuit switch takes to change its circuits."""
    mimic: int | None = Field(default=None, strict=True, ge=3, le=1024)
    """Strobe, with 3 racks only: they stand for this many, by the schedule of NSDI'20's testbed (section 4.5). Rack r
    meets rack r + 1 on the last day of the week, and rack r - 1 on all others."""
    configurations: tuple[Configuration, ...] = ()
    """Fixed: the week, in order."""

    def expand(self, racks: int) -> list[dict[str, Any]]:
        """The week as the core takes it: per destination its source rack (-1: none), day and night in ns."""
        match self.kind:
            case "strobe":
                return _core.strobe(racks, self.day, self.night, self.mimic)
            case "none":
                return []
            case "fixed":
                return [self._fixed(configuration, racks) for configuration in self.configurations]

    def _fixed(self, configuration: Configuration, racks: int) -> dict[str, Any]:
        sources = [-1] * racks
        for src, dst in configuration.circuits:
            sources[dst] = src
        day, night = self.lengths(configuration)
        return {"sources": sources, "day_ns": day, "night_ns": night}

    def lengths(self, configuration: Configuration) -> tuple[int, int]:
        """Day and night of a configuration in ns."""
        return (
            self.day if configuration.day is None else configuration.day,
            self.night if configuration.night is None else configuration.night,
        )

    def _week(self, racks: int) -> list[tuple[int, int]]:
        """Day and night of each configuration in ns."""
        match self.kind:
            case "strobe":
                return [(self.day, self.night)] * ((self.mimic or racks) - 1)
            case "none":
                return []
            case "fixed":
                return [self.lengths(configuration) for configuration in self.configurations]

    def problems(self, racks: int) -> Iterator[PlanError]:
        """What is wrong with this schedule in a network of so many racks."""
        if self.kind == "fixed":
            if not self.configurations:
                yield PlanError(
                    'kind = "fixed" needs at least one configuration, '
                    "for instance [{ circuits = [[0, 1], [1, 0]] }]",
                    key="schedule.configurations",
                )
        elif self.configurations:
            yield PlanError(
                f'only a schedule of kind "fixed" has configurations, not {shown(self.kind)}',
                key="schedule.configurations",
            )
        if self.mimic is not None:
            if self.kind != "strobe":
                yield PlanError(
                    f'only a schedule of kind "strobe" has it, not {shown(self.kind)}',
                    key="schedule.mimic",
                )
            elif racks != MIMICKING:
                yield PlanError(
                    f"{self.mimic} racks can only be stood for by {MIMICKING}, as on the testbed of NSDI'20 "
                    f"(section 4.5); this network has {racks}, and without mimic it runs them all",
                    key="schedule.mimic",
                    value=self.mimic,
                )
        if self.kind == "strobe":
            yield from _day("schedule", self.day, self.night)
        for index, configuration in enumerate(self.configurations):
            key = f"schedule.configurations.{index}"
            yield from _day(key, *self.lengths(configuration))
            yield from _matching(f"{key}.circuits", configuration.circuits, racks)
        week = sum(day + night for day, night in self._week(racks))
        if week > LONGEST_WEEK:
            yield PlanError(
                f"the week would last {rounded(week)}; at most {rounded(LONGEST_WEEK)} is run",
                key="schedule.day",
                value=TIME.format(self.day),
            )


def _day(key: str, day: int, night: int) -> Iterator[PlanError]:
    if day < SHORTEST_DAY:
        yield PlanError(
            f"{shown(TIME.format(day))} must be at least {TIME.format(SHORTEST_DAY)}: "
            "a packet of 9000 B takes 0.9us at 80 Gb/s",
            key=f"{key}.day",
            value=TIME.format(day),
        )
    if night >= day:
        share = 100 * day / (day + night)
        yield PlanError(
            f"{shown(TIME.format(night))} must be shorter than the day of {TIME.format(day)}: "
            f"the duty cycle would be {share:.0f} %",
            key=f"{key}.night",
            value=TIME.format(night),
        )


def _matching(key: str, circuits: Sequence[tuple[int, int]], racks: int) -> Iterator[PlanError]:
    sources: set[int] = set()
    destinations: set[int] = set()
    for src, dst in circuits:
        circuit = f"[{src}, {dst}]"
        for rack in (src, dst):
            if rack >= racks:
                yield PlanError(
                    f"{circuit} names rack {rack}, which does not exist (racks 0..{racks - 1})",
                    key=key,
                    value=rack,
                )
        if src == dst:
            yield PlanError(
                f"{circuit} is not a circuit: rack {src} would be joined to itself",
                key=key,
                value=src,
            )
        elif src in sources:
            yield PlanError(
                f"not a matching: rack {src} is the source of two circuits", key=key, value=src
            )
        elif dst in destinations:
            yield PlanError(
                f"not a matching: rack {dst} is the destination of two circuits", key=key, value=dst
            )
        sources.add(src)
        destinations.add(dst)
