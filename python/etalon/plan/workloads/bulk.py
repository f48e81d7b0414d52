# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[bulk]]` table: flows without end between two racks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Count, Rack
from etalon.plan.workloads.base import Setting, Workload
from etalon.units import TIME, Time, shown


class Bulk(Workload):
    """Flows without end from one rack to another."""

    about: ClassVar = "endless flows between two racks: host i to host i"
    src: Rack = Field(alias="from")
    """Source rack."""
    dst: Rack = Field(alias="to")
    """Destination rack."""
    flows: Count | None = None
    """Number of flows; flow i runs from host i to host i, starting over after the last host. By default one for each
    host."""
    stop: Time | None = None
    """When the flows are reset; by default they last to the end of the experiment."""

    @property
    def racks(self) -> tuple[int, int]:
        """Source and destination rack."""
        return self.src, self.dst

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them."""
        for index in range(int(self.expected(setting))):
            host = index % setting.hosts
            yield self.one((self.src, host), (self.dst, host), None, stop=self.stop)

    def expected(self, setting: Setting) -> float:
        """How many flows that is."""
        return setting.hosts if self.flows is None else self.flows

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with these flows in a network of this size."""
        for end, rack in (("from", self.src), ("to", self.dst)):
            if rack >= setting.racks:
                yield PlanError(
                    f"there is no rack {rack} (racks 0..{setting.racks - 1})",
                    key=f"{key}.{end}",
                    value=rack,
                )
        if self.src == self.dst:
            yield PlanError(
                f"rack {self.src} would send to itself", key=f"{key}.to", value=self.dst
            )
        if self.stop is not None and self.stop <= self.start:
            yield PlanError(
                f"{shown(TIME.format(self.stop))} must be later than the start at {TIME.format(self.start)}",
                key=f"{key}.stop",
                value=self.stop,
            )
        yield from super().problems(key, setting)
