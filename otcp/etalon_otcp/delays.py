# SPDX-License-Identifier: MIT OR Apache-2.0
"""From measured times to one-way delays (CNSM'16, section III.A.1).

A frame's time holds half of the control path to the switch it leaves and half of that to the switch it reaches. The paper
takes echo for the control path; out to the controller's port and in again (loop) goes through what frames go through.
"""

from __future__ import annotations

import statistics
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from enum import StrEnum
from typing import Generic, TypeVar

LEAST_NS = 1_000
"""A link takes no less: 200 m of fibre; what is measured below is noise."""


class Calibrate(StrEnum):
    """What stands for the control path."""

    LOOP = "loop"
    ECHO = "echo"


class Statistic(StrEnum):
    """What stands for n samples."""

    MIN = "min"
    MEDIAN = "median"
    MEAN = "mean"

    def of(self, samples: Iterable[int]) -> float:
        """The statistic of the samples, of which there is at least one."""
        match self:
            case Statistic.MIN:
                return min(samples)
            case Statistic.MEDIAN:
                return statistics.median(samples)
            case Statistic.MEAN:
                return statistics.fmean(samples)


K = TypeVar("K", bound=Hashable)


class Samples(Generic[K]):
    """The newest n times of each key, in ns."""

    def __init__(self, most: int) -> None:
        self._times: dict[K, deque[int]] = defaultdict(lambda: deque(maxlen=most))

    def add(self, key: K, time_ns: int) -> None:
        """Takes a time."""
        self._times[key].append(time_ns)

    def forget(self, key: K) -> None:
        """Drops a key's times."""
        self._times.pop(key, None)

    def count(self, key: K) -> int:
        """How many times there are of a key."""
        return len(self._times.get(key, ()))

    def of(self, key: K, statistic: Statistic) -> float | None:
        """A key's statistic in ns; None without samples."""
        times = self._times.get(key)
        return statistic.of(times) if times else None


def link_ns(raw: float, control_from: float, control_to: float) -> int:
    """One-way delay of a link from a frame's whole time and the control paths' round trips."""
    return max(LEAST_NS, round(raw - control_from / 2 - control_to / 2))


def host_ns(raw: float, control: float) -> int:
    """One-way delay to a host from an ARP probe's whole time: half of the round trip."""
    return max(LEAST_NS, round((raw - control) / 2))
