"""The workloads of plans: who sends what to whom, with which congestion control. Here `[[bulk]]` and `[[flow]]`.

A workload of another kind is a file of its own, a line in `KINDS` and one in `WORKLOADS` below, and a field of `Plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Count, Rack
from etalon.plan.workloads.base import Host, Setting, Workload, missing_host, write_host
from etalon.plan.workloads.dfsio import Dfsio
from etalon.plan.workloads.incast import Incast
from etalon.plan.workloads.poisson import Poisson
from etalon.plan.workloads.rings import Rings
from etalon.plan.workloads.shuffle import Shuffle
from etalon.plan.workloads.trace import Trace
from etalon.units import TIME, Size, Time, shown

__all__ = [
    "KINDS",
    "WORKLOADS",
    "Bulk",
    "Dfsio",
    "Flow",
    "Host",
    "Incast",
    "Poisson",
    "Rings",
    "Setting",
    "Shuffle",
    "Trace",
    "Workload",
    "write_host",
]

KINDS = {
    "bulk": "flows without end between two racks: host i to host i",
    "flow": "one flow of a given size between two hosts, with its completion time",
    "rings": "rings of big flows among small ones (Etalon'18, section 5.3)",
    "shuffle": "every host sends to every host of other racks",
    "incast": "many hosts send to one at the same time",
    "poisson": "flows that begin at random, with sizes as published of web search or data mining",
    "trace": "flows from a file: source, destination, bytes, start",
    "dfsio": "tasks that write files to HDFS, placed by HDFS or by reHDFS (simulator only)",
    "program": "a program on a host, such as iperf3 or ping (Linux engine only)",
}
"""The kinds of workload, for `etalon list workloads`."""


class Bulk(Workload):
    """Flows without end from one rack to another."""

    src: Rack = Field(alias="from")
    """Source rack."""
    dst: Rack = Field(alias="to")
    """Destination rack."""
    flows: Count | None = None
    """How many; flow i runs from host i to host i, beginning again after the last. Without it, one for each host."""
    stop: Time | None = None
    """When the flows are killed (reset); without it they last to the end of the experiment."""

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

    def problems(self, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
        """What is wrong with these flows in a network of this size."""
        for end, rack in (("from", self.src), ("to", self.dst)):
            if rack >= racks:
                yield PlanError(
                    f"there is no rack {rack} (racks 0..{racks - 1})",
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
        yield from super().problems(key, racks, hosts)


class Flow(Workload):
    """One flow of a given size."""

    src: Host = Field(alias="from")
    """Sending host: rack and number."""
    dst: Host = Field(alias="to")
    """Receiving host, in another rack."""
    size: Size
    """Payload to send."""

    @property
    def racks(self) -> tuple[int, int]:
        """Source and destination rack."""
        return self.src[0], self.dst[0]

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flow as the core takes it."""
        yield self.one(self.src, self.dst, self.size)

    def expected(self, setting: Setting) -> float:
        """One."""
        return 1

    def problems(self, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
        """What is wrong with this flow in a network of this size."""
        yield from missing_host(self.src, f"{key}.from", racks, hosts)
        yield from missing_host(self.dst, f"{key}.to", racks, hosts)
        if self.src == self.dst:
            yield PlanError(f"host {write_host(self.src)} would send to itself", key=f"{key}.to")
        elif self.src[0] == self.dst[0]:
            yield PlanError(
                f"both hosts are in rack {self.src[0]}; traffic within a rack does not pass the switch",
                key=f"{key}.to",
            )
        yield from super().problems(key, racks, hosts)


WORKLOADS: dict[str, type[Workload]] = {
    "bulk": Bulk,
    "flow": Flow,
    "rings": Rings,
    "shuffle": Shuffle,
    "incast": Incast,
    "poisson": Poisson,
    "trace": Trace,
    "dfsio": Dfsio,
}
"""The tables that flows come from, in the order of the flows."""
