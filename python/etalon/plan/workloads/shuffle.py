# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[shuffle]]` table: everyone sends to everyone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from etalon.errors import PlanError
from etalon.plan.base import Count
from etalon.plan.workloads.base import HostId, Setting, Workload
from etalon.units import Size, Time


class Shuffle(Workload):
    """Every host sends as much to every host of every other rack."""

    everywhere: ClassVar = True
    about: ClassVar = "every host sends to every host of other racks"
    streams: ClassVar = True
    size: Size
    """Payload of each flow."""
    hosts: Count | None = None
    """Number of hosts of each rack that take part; by default all."""
    spread: Time = 0
    """Each flow starts at a random time, uniform within this time of `start`; by default, all start at once."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, in order of start."""
        pairs = self._pairs(setting)
        if not self.spread:
            yield from (self.one(src, dst, self.size) for src, dst in pairs)
            return
        draw = setting.random().random
        for late, src, dst in sorted((int(draw() * self.spread), *pair) for pair in pairs):
            yield self.one(src, dst, self.size, self.start + late)

    def _pairs(self, setting: Setting) -> Iterator[tuple[HostId, HostId]]:
        part = [host for host in setting.all_hosts() if host[1] < (self.hosts or setting.hosts)]
        return ((src, dst) for src in part for dst in part if src[0] != dst[0])

    def expected(self, setting: Setting) -> float:
        """How many flows that is."""
        hosts = self.hosts or setting.hosts
        return setting.racks * (setting.racks - 1) * hosts**2

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        if self.hosts is not None and self.hosts > setting.hosts:
            yield PlanError(
                f"there are only {setting.hosts} hosts a rack", key=f"{key}.hosts", value=self.hosts
            )
        yield from super().problems(key, setting)
