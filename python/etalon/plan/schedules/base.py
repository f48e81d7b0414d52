"""What all kinds of schedule share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.network import CircuitNetwork, Network
from etalon.units import MS, TIME, US, Duration, S, Size, Time, rounded, shown

MB = 10**6
SHORTEST_DAY = 1 * US
LONGEST_WEEK = 1000 * S


class Schedule(Table):
    """Which circuits exist when."""

    kind: str
    about: ClassVar[str] = ""
    """A line for `etalon list schedulers`."""
    computed: ClassVar[bool] = False
    """Whether weeks are computed from demand, one after the other."""

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
    """A week of (day, night) configurations that repeats."""

    day: Duration = 180 * US
    """How long circuits stay up."""
    night: Time = 20 * US
    """The time that the circuit switch takes to change its circuits."""

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The week as the core takes it."""
        return {"configurations": self.expand(network, seed)}

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations: per destination its source rack (-1: none), day and night in ns."""
        raise NotImplementedError


class Windowed(Schedule):
    """A week that a scheduler computes for a demand."""

    day: Duration = 180 * US
    """The shortest day."""
    night: Time = 20 * US
    """The time that the circuit switch takes to change its circuits."""
    window: Duration = 2 * MS
    """The length of a week."""
    threshold: Size = 1 * MB
    """Solstice: demand below it is left to the packet network, if any is above, or if hosts announce their demand."""

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


def wrong_day(key: str, day: int, night: int) -> Iterator[PlanError]:
    """That a day is too short, or a night too long for it, if so."""
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


def too_long(key: str, value: int, week: int) -> Iterator[PlanError]:
    """That the week is longer than is run, if so; `value` stands at `key`."""
    if week > LONGEST_WEEK:
        yield PlanError(
            f"the week would last {rounded(week)}; at most {rounded(LONGEST_WEEK)} is run",
            key=key,
            value=TIME.format(value),
        )


def text_of(path: Path, key: str) -> str:
    """What a file holds that the plan names at `key`."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"there is no file {shown(str(path))}", key=key) from None
    except UnicodeDecodeError:
        raise PlanError(f"{shown(str(path))} is not text", key=key) from None
    except OSError as error:
        raise PlanError(f"{shown(str(path))} cannot be read: {error.strerror}", key=key) from None
