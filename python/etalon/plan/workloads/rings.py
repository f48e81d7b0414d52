# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[rings]]` table: rings of big flows among small ones (Etalon'18, section 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.workloads.base import Setting, Workload
from etalon.units import SIZE, Duration, Rate, S, Size


class Sizes(Table):
    """A range of flow sizes; a size is drawn from it uniformly."""

    in_order: ClassVar = ("least", "most")
    least: Size
    """Smallest size."""
    most: Size
    """Largest size."""


class Rings(Workload):
    """Every rack sends big flows to the next rack, or the next few, and small flows to all others (Etalon'18, 5.3)."""

    about: ClassVar = "rings of big flows among small ones (Etalon'18, section 5.3)"
    rings: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    """Ring k joins rack r to rack r + k with big flows."""
    big: Sizes = Sizes.model_validate(["9MB", "90MB"])
    """Sizes of big flows: by default ["9MB", "90MB"], 1,000 to 10,000 packets of 9000 bytes."""
    small: Sizes = Sizes.model_validate(["90kB", "900kB"])
    """Sizes of small flows: by default ["90kB", "900kB"], 10 to 100 packets."""
    big_rate: Rate | None = None
    """Load that a rack offers in big flows, all rings together; by default a third of a circuit's rate."""
    small_rate: Rate | None = None
    """Load that a rack would offer in small flows if it sent them evenly to all racks; by default a third of the packet
    network's rate. It sends none to itself and to racks that receive its big flows."""
    period: Duration | None = None
    """Flows start within this time: each pair's first at once, the next one when the previous one would have ended at its
    pair's rate. By default to the end of the experiment."""
    limit: Duration | None = 2 * S
    """A flow that lasts longer is killed."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, pair by pair."""
        draw = setting.random().random
        end = self._end(setting)
        for src in range(setting.racks):
            for dst in range(setting.racks):
                if src == dst:
                    continue
                rate, sizes, name = self._pair(src, dst, setting)
                start = self.start
                while start < end:
                    hosts = int(draw() * setting.hosts), int(draw() * setting.hosts)
                    size = sizes.least + int(draw() * (sizes.most - sizes.least + 1))
                    stop = None if self.limit is None else start + self.limit
                    yield self.one((src, hosts[0]), (dst, hosts[1]), size, start, stop, name)
                    start += max(size * 8 * S // rate, 1)

    def expected(self, setting: Setting) -> float:
        """About how many flows that is."""
        number = 0.0
        for dst in range(1, setting.racks):
            rate, sizes, _ = self._pair(0, dst, setting)
            mean = (sizes.least + sizes.most) / 2
            number += 1 + (self._end(setting) - self.start) * rate / (8e9 * mean)
        return setting.racks * number

    def _end(self, setting: Setting) -> int:
        return setting.duration if self.period is None else self.start + self.period

    def _pair(self, src: int, dst: int, setting: Setting) -> tuple[int, Sizes, str]:
        """Rate in bit/s, sizes and class of the flows between two racks."""
        if (dst - src) % setting.racks <= self.rings:
            rate = setting.circuit_rate // 3 if self.big_rate is None else self.big_rate
            return max(rate // self.rings, 1), self.big, "big"
        rate = setting.packet_rate // 3 if self.small_rate is None else self.small_rate
        return max(rate // setting.racks, 1), self.small, "small"

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        if self.rings >= setting.racks:
            yield PlanError(
                f"{self.rings} rings need at least {self.rings + 1} racks; this network has {setting.racks}",
                key=f"{key}.rings",
                value=self.rings,
            )
        for name, sizes in (("big", self.big), ("small", self.small)):
            if sizes.most < sizes.least:
                yield PlanError(
                    f"the largest size {SIZE.format(sizes.most)} is below the smallest {SIZE.format(sizes.least)}",
                    key=f"{key}.{name}",
                )
        if self.flow_class:
            yield PlanError(
                'its flows are of the classes "big" and "small"; leave the key out',
                key=f"{key}.class",
                value=self.flow_class,
            )
        yield from super().problems(key, setting)
