# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all kinds of schedule share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from etalon import files
from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.network import CircuitNetwork, Network
from etalon.plan.schedules import configuration
from etalon.plan.schedules.configuration import (
    MOST_KINDS,
    SHORTEST_DAY,
    Change,
    Lengths,
    too_long,
    wrong_day,
)
from etalon.units import MS, TIME, US, Duration, Size, Time, shown

MB = 10**6


class Schedule(Table):
    """Which circuits exist when."""

    kind: str
    about: ClassVar[str] = ""
    """A line for `etalon list schedulers`."""
    computed: ClassVar[bool] = False
    """Whether circuits follow from what happens: computed from demand, week after week, or asked for by jobs."""
    for_circuit_switches: ClassVar[bool] = False
    """Whether it is for networks with several circuit switches."""

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The schedule as the core takes it; None without circuits."""
        raise NotImplementedError

    def circuits(self, network: Network) -> tuple[CircuitNetwork, ...]:
        """The kinds of circuits in this network, in the order of their planes, from 1 on; at least one."""
        return (network.circuit,)

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        raise NotImplementedError


class Rule(Schedule):
    """A week of (day, night) configurations that repeats, until it is changed."""

    day: Duration = 180 * US
    """How long a day's circuits stay up."""
    night: Time = 20 * US
    """Reconfiguration time of the circuit switch."""
    change: tuple[Change, ...] = ()
    """Weeks that follow the first, each from its time on."""

    @property
    def lengths(self) -> Lengths:
        """Of days and nights that do not say."""
        return self.day, self.night

    @property
    def changes(self) -> list[Change]:
        """The changes in order of time."""
        return sorted(self.change, key=lambda change: change.at)

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The weeks as the core takes them."""
        weeks: dict[str, Any] = {"configurations": self.expand(network, seed)}
        circuits = self.circuits(network)
        if self.change:
            weeks["changes"] = [
                {
                    "at_ns": change.at,
                    "configurations": configuration.expand(
                        change.configurations, self.lengths, network, circuits
                    ),
                }
                for change in self.changes
            ]
        return weeks

    def first_circuits(self, network: Network) -> tuple[CircuitNetwork, ...]:
        """The kinds of circuits of the first week."""
        return (network.circuit,)

    def circuits(self, network: Network) -> tuple[CircuitNetwork, ...]:
        """The kinds of circuits in this network, in the order in which they first appear."""
        found = dict.fromkeys(self.first_circuits(network))
        for change in self.changes:
            found |= dict.fromkeys(configuration.kinds(change.configurations, network))
        return tuple(found) or (network.circuit,)

    def wrong_weeks(self, network: Network, first: int) -> Iterator[PlanError]:
        """That the first week, whose length in ns this is, is too long, and what is wrong with those that follow it."""
        yield from too_long("schedule.day", self.day, first)
        for index, change in enumerate(self.change):
            key = f"schedule.change.{index}.configurations"
            week = change.configurations
            yield from configuration.problems(key, week, self.lengths, network)
            yield from too_long(key, self.day, configuration.length(week, self.lengths))
        if len(kinds := self.circuits(network)) > MOST_KINDS:
            yield PlanError(
                f"circuits differ in rate or delay in {len(kinds)} ways; at most {MOST_KINDS} are possible",
                key="schedule.configurations",
            )

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations: per destination its source rack (-1: none), day and night in ns."""
        raise NotImplementedError


class Windowed(Schedule):
    """A week that a scheduler computes for a demand."""

    day: Duration = 180 * US
    """The shortest day."""
    night: Time = 20 * US
    """Reconfiguration time of the circuit switch."""
    window: Duration = 2 * MS
    """The length of a week."""
    threshold: Size = 1 * MB
    """Solstice leaves demand below this to the packet network, if any demand is above it, or if hosts announce their
    demand."""

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with days and the window."""
        if self.day < SHORTEST_DAY:
            yield from wrong_day("schedule", self.day, 0)
        if not self.has_room:
            yield PlanError(
                f"{shown(TIME.format(self.window))} has no room for one day of {TIME.format(self.day)} and its "
                f"night of {TIME.format(self.night)}",
                key="schedule.window",
                value=TIME.format(self.window),
            )
        yield from too_long("schedule.window", self.window, self.window)

    @property
    def has_room(self) -> bool:
        """Whether a day and its night fit into the window."""
        return self.day + self.night <= self.window


def text_of(path: Path, key: str) -> str:
    """What a file holds that the plan names at `key`."""
    try:
        if path.exists() and not path.is_file():
            raise PlanError(f"{shown(str(path))} is not a file", key=key)
        return files.text_of(path, "schedule or demand")
    except FileNotFoundError:
        raise PlanError(f"there is no file {shown(str(path))}", key=key) from None
    except UnicodeDecodeError:
        raise PlanError(f"{shown(str(path))} is not text", key=key) from None
    except OSError as error:
        raise PlanError(f"{shown(str(path))} cannot be read: {error.strerror}", key=key) from None
