"""The `[[poisson]]` table: flows that arrive at random, with sizes from a published distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Choice
from etalon.plan.workloads.base import Setting, Workload
from etalon.plan.workloads.flow_sizes import FLOW_SIZES
from etalon.units import SIZE, Duration, Rate, S, Size, shown


class Poisson(Workload):
    """Flows between random hosts of different racks that begin at random: a Poisson process for each sending rack."""

    about: ClassVar = (
        "flows that begin at random, with sizes as published of web search or data mining"
    )
    sizes: Annotated[str, Choice(tuple(FLOW_SIZES))] = "websearch"
    """Distribution of sizes: "websearch" of DCTCP (SIGCOMM 2010, figure 4), "datamining" of VL2 (SIGCOMM 2009, figure 2)."""
    load: Annotated[float, Field(ge=1e-6, le=10)]
    """Payload that each rack offers, as a share of `of`."""
    of: Rate | None = None
    """Without it, the rate of the packet network."""
    period: Duration | None = None
    """Flows begin within this time; without it, to the end of the experiment."""
    small: Size | None = None
    """If set, flows up to this size are of the class "small", others of the class "big"."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, rack by rack."""
        draw = setting.random().random
        sizes = FLOW_SIZES[self.sizes]
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

    def expected(self, setting: Setting) -> float:
        """About how many flows that is."""
        return setting.racks * (self._end(setting) - self.start) * self._flows_per_ns(setting)

    def _end(self, setting: Setting) -> int:
        return setting.duration if self.period is None else self.start + self.period

    def _flows_per_ns(self, setting: Setting) -> float:
        rate = setting.packet_rate if self.of is None else self.of
        return self.load * rate / (8 * FLOW_SIZES[self.sizes].mean) / S

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        if self.small is not None and self.flow_class:
            yield PlanError(
                f"{shown(SIZE.format(self.small))} divides flows into classes; leave out class",
                key=f"{key}.small",
            )
        yield from super().problems(key, setting)
