# SPDX-License-Identifier: MIT OR Apache-2.0
"""The week of a resolved plan as intervals of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    plane: int = 1
    """Its kind: the number of its plane."""


@dataclass(frozen=True)
class Week:
    """A week: its length, its circuits in order of time, and the night before each of its days."""

    length_ns: int
    circuits: tuple[Circuit, ...]
    nights: tuple[Interval, ...]
    dark: bool = False
    """The packet network serves nobody in any night."""

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

    def planes(self, src: int, dst: int, start_ns: int) -> list[tuple[int, int | None]]:
        """Which plane serves the pair in the week from `start_ns` on: until when, and its number, None for none."""
        closed = self.packet_closed(src, dst) + (list(self.nights) if self.dark else [])
        edges = {edge % self.length_ns for interval in closed for edge in interval}
        edges |= {edge for interval in self.days(src, dst) for edge in interval}
        later = (edge + n * self.length_ns for edge in edges for n in range(3))
        until = sorted(
            {edge for edge in later if start_ns < edge < start_ns + self.length_ns}
            | {start_ns + self.length_ns}
        )
        found: list[tuple[int, int | None]] = []
        for start, end in zip([start_ns, *until], until, strict=False):
            plane = self._plane(src, dst, start % self.length_ns, closed)
            if found and found[-1][1] == plane:
                found.pop()
            found.append((end, plane))
        return found

    def _plane(self, src: int, dst: int, at_ns: int, closed: Sequence[Interval]) -> int | None:
        for c in self.circuits:
            if (c.src, c.dst) == (src, dst) and c.start_ns <= at_ns < c.end_ns:
                return c.plane
        # The night before the first day of the week is also its last.
        times = (at_ns, at_ns - self.length_ns)
        return None if any(a <= at < b for at in times for a, b in closed) else 0


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
            Circuit(src, dst, now, end, configuration.get("plane", 1))
            for dst, src in enumerate(configuration["sources"])
            if src >= 0
        ]
        night_before = configuration["night_ns"]
        now = end + night_before
    dark = resolved["network"].get("rdcn", {}).get("night") == "all"
    return Week(now, tuple(circuits), tuple(nights), dark)


def rates(resolved: Mapping[str, Any]) -> list[int]:
    """The rates of a reconfigurable network's planes, by number, in bit/s; zero for a packet network that is not there."""
    network = resolved["network"]["rdcn"]
    planes = [network["packet"] or {"rate_bps": 0}, *network["circuits"]]
    return [plane["rate_bps"] for plane in planes]


def measured_pair(resolved: Mapping[str, Any]) -> tuple[int, int]:
    """Source and destination rack of the pair that is measured."""
    src, dst = resolved["measure"]["pair"]
    return src, dst
