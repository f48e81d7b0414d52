# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[poisson]]` table: flows that arrive at random, with sizes from a published distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer

from etalon.errors import PlanError
from etalon.plan.workloads.base import Setting, Workload
from etalon.plan.workloads.flow_sizes import FLOW_SIZES, FlowSizes
from etalon.units import SIZE, Duration, Rate, S, Size, problem, shown

if TYPE_CHECKING:
    from etalon.plan.workloads.batches import Batch


Points = tuple[tuple[int, float], ...]
EXAMPLE = '[["1kB", 0.5], ["1MB", 1.0]]'


def _sizes(value: Any) -> str | Points:
    """A name, or points."""
    if isinstance(value, str) and value in FLOW_SIZES:
        return value
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        names = ", ".join(f'"{name}"' for name in FLOW_SIZES)
        raise problem(
            f"{shown(value)} must be one of {names}, or points of another distribution, like {EXAMPLE}"
        )
    points = tuple(_point(point) for point in value)
    below = () if points and points[0][1] == 0 else ((0, 0.0),)
    if not FlowSizes("given", "points of the plan", (*below, *points)).is_distribution:
        raise problem(
            f"{shown(value)}: sizes and shares must grow from point to point up to share 1, like {EXAMPLE}"
        )
    return points


def _point(point: Any) -> tuple[int, float]:
    if not isinstance(point, (list, tuple)) or len(point) != 2:
        raise problem(f"{shown(point)} must be a size and a share, as in {EXAMPLE}")
    size, share = point
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise problem(f"{shown(share)} must be a share of flows, from 0 to 1, as in {EXAMPLE}")
    read = size if isinstance(point, tuple) and type(size) is int else SIZE.read(size)
    return SIZE.positive(read), float(share)


def _written(sizes: str | Points) -> str | list[list[Any]]:
    if isinstance(sizes, str):
        return sizes
    return [[SIZE.format(size), share] for size, share in sizes]


Sizes = Annotated[str | Points, BeforeValidator(_sizes), PlainSerializer(_written)]
"""The name of a distribution, or sizes with the share of flows that are not longer."""


class Poisson(Workload):
    """Flows between random hosts of different racks that begin at random: a Poisson process for each sending rack."""

    everywhere: ClassVar = True
    about: ClassVar = (
        "flows that start at random, with the published sizes of web search or data mining"
    )
    streams: ClassVar = True
    sizes: Sizes = "websearch"
    """Distribution of sizes: "websearch" of DCTCP (SIGCOMM 2010, figure 4); "datamining" of VL2 (SIGCOMM 2009, figure 2);
    "opera-websearch" and "opera-datamining", the versions of Opera's authors (steps); or the points of another
    distribution: sizes in ascending order, each with the share of flows that are not longer. Sizes are uniform between
    two points, and below the first unless its share is 0."""
    load: Annotated[float, Field(ge=1e-6, le=10)]
    """Payload that each rack offers, as a share of `of`."""
    of: Rate | None = None
    """The rate that `load` refers to; by default the packet network's, in a network of kind "ocs" the total rate of a
    rack's hosts."""
    period: Duration | None = None
    """Flows start within this time; by default until the end of the experiment."""
    small: Size | None = None
    """If set, flows up to this size have the class "small", others the class "big"."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, rack by rack."""
        draw = setting.random().random
        sizes = self.distribution
        end = self._end(setting)
        for rack in range(setting.racks):
            start = float(self.start)
            while True:
                start += -math.log(1 - draw()) / self._flows_per_ns(setting)
                if start >= end:
                    break
                other = (rack + 1 + int(draw() * (setting.racks - 1))) % setting.racks
                hosts = int(draw() * setting.hosts), int(draw() * setting.hosts)
                size = sizes.at(draw())
                name = "" if self.small is None else "small" if size <= self.small else "big"
                yield self.one(
                    (rack, hosts[0]), (other, hosts[1]), size, int(start), flow_class=name
                )

    @property
    def distribution(self) -> FlowSizes:
        """Of sizes."""
        if isinstance(self.sizes, str):
            return FLOW_SIZES[self.sizes]
        below = () if self.sizes and self.sizes[0][1] == 0 else ((0, 0.0),)
        return FlowSizes("given", "points of the plan", (*below, *self.sizes))

    def classes(self, setting: Setting) -> tuple[str, ...]:
        """By size, or one."""
        return (self.flow_class,) if self.small is None else ("small", "big")

    def batches(self, setting: Setting) -> Iterator[Batch]:
        """The same flows in order of start: the draws of each rack begin where those of the one before end."""
        from etalon.plan.workloads.batches import merged
        from etalon.plan.workloads.processes import Process

        process = Process(
            float(self.start),
            self._end(setting),
            self._flows_per_ns(setting),
            setting.racks,
            setting.hosts,
            self.distribution,
            self.small,
        )
        return merged(process.flows(setting.random()))

    def rack_pairs(self, setting: Setting) -> Iterator[tuple[int, int]]:
        """All, of which each is likely to have flows."""
        racks = range(setting.racks)
        return ((src, dst) for src in racks for dst in racks if src != dst)

    def expected(self, setting: Setting) -> float:
        """About how many flows that is."""
        return setting.racks * (self._end(setting) - self.start) * self._flows_per_ns(setting)

    def _end(self, setting: Setting) -> int:
        return setting.duration if self.period is None else self.start + self.period

    def _flows_per_ns(self, setting: Setting) -> float:
        rate = setting.packet_rate if self.of is None else self.of
        return self.load * rate / (8 * self.distribution.mean) / S

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        if self.small is not None and self.flow_class:
            yield PlanError(
                f"{shown(SIZE.format(self.small))} divides flows into classes; leave out class",
                key=f"{key}.small",
            )
        yield from super().problems(key, setting)
