"""The week of a resolved plan as intervals of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Interval = tuple[int, int]
"""Start and end in nanoseconds from the start of the week."""


@dataclass(frozen=True)
class Circuit:
    """A circuit of one day: from a rack to a rack."""

    src: int
    dst: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Week:
    """A week: its length, its circuits in order of time, and the night before each of its days."""

    length_ns: int
    circuits: tuple[Circuit, ...]
    nights: tuple[Interval, ...]

    def days(self, src: int, dst: int) -> list[Interval]:
        """When the pair has its circuit."""
        return [(c.start_ns, c.end_ns) for c in self.circuits if (c.src, c.dst) == (src, dst)]

    def packet_closed(self, src: int, dst: int) -> list[Interval]:
        """When the pair may not use the packet network: in its days and the nights before them.

        The night before the first day of the week is the end of the week before, so its interval starts below zero.
        """
        closed = []
        for start, end in self.days(src, dst):
            before = [night for night in self.nights if night[1] == start]
            closed.append((before[0][0] if before else start, end))
        return closed


def of_plan(resolved: Mapping[str, Any]) -> Week | None:
    """The week of a resolved plan, or None if it has no circuits."""
    schedule = resolved.get("schedule")
    if schedule is None:
        return None
    circuits = []
    nights = []
    now = 0
    night_before = schedule["configurations"][-1]["night_ns"]
    for configuration in schedule["configurations"]:
        nights.append((now - night_before, now))
        end = now + configuration["day_ns"]
        circuits += [
            Circuit(src, dst, now, end)
            for dst, src in enumerate(configuration["sources"])
            if src >= 0
        ]
        night_before = configuration["night_ns"]
        now = end + night_before
    return Week(now, tuple(circuits), tuple(nights))


def measured_pair(resolved: Mapping[str, Any]) -> tuple[int, int]:
    """Source and destination rack of the pair that is measured."""
    src, dst = resolved["measure"]["pair"]
    return src, dst
