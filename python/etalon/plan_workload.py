"""The `[[bulk]]` and `[[flow]]` tables: who sends what to whom, with which congestion control."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from etalon import controls as registry
from etalon.errors import PlanError
from etalon.plan_base import Count, Rack, Table
from etalon.units import TIME, Size, Time, problem, shown

KINDS = {
    "bulk": "flows without end between two racks: host i to host i",
    "flow": "one flow of a given size between two hosts, with its completion time",
    "program": "a program on a host, such as iperf3 or ping (Linux engine only)",
}
"""The kinds of workload, for `etalon list workloads`."""


def _read_host(value: Any) -> tuple[int, int]:
    if isinstance(value, tuple) and len(value) == 2:
        return value
    found = re.fullmatch(r"r(\d+)h(\d+)", value) if isinstance(value, str) else None
    if found is None:
        raise problem(
            f'{shown(value)} is not a host: a host is written like "r0h3" (rack 0, host 3)'
        )
    return int(found[1]), int(found[2])


def write_host(host: tuple[int, int]) -> str:
    """A host as plans name it."""
    return f"r{host[0]}h{host[1]}"


Host = Annotated[
    tuple[int, int], BeforeValidator(_read_host), PlainSerializer(write_host, return_type=str)
]
"""Rack and host, written "r0h3"."""


class Bulk(Table):
    """Flows without end from one rack to another."""

    src: Rack = Field(alias="from")
    """Source rack."""
    dst: Rack = Field(alias="to")
    """Destination rack."""
    cc: str = "cubic"
    """Congestion control: see `etalon list cc`."""
    params: dict[str, int | float] = Field(default_factory=dict)
    """Parameters of the congestion control."""
    flows: Count | None = None
    """How many; flow i runs from host i to host i, beginning again after the last. Without it, one for each host."""
    start: Time = 0
    """When the senders begin."""
    stop: Time | None = None
    """When the flows are killed (reset); without it they last to the end of the experiment."""

    @property
    def racks(self) -> tuple[int, int]:
        """Source and destination rack."""
        return self.src, self.dst

    def resolve(self, hosts: int) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them."""
        for index in range(hosts if self.flows is None else self.flows):
            host = index % hosts
            yield _resolved(self, (self.src, host), (self.dst, host), stop=self.stop, size=None)

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
        yield from registry.problems(key, self.cc, self.params)


class Flow(Table):
    """One flow of a given size."""

    src: Host = Field(alias="from")
    """Sending host: rack and number."""
    dst: Host = Field(alias="to")
    """Receiving host, in another rack."""
    size: Size
    """Payload to send."""
    start: Time = 0
    """When the sender begins."""
    cc: str = "cubic"
    """Congestion control: see `etalon list cc`."""
    params: dict[str, int | float] = Field(default_factory=dict)
    """Parameters of the congestion control."""

    @property
    def racks(self) -> tuple[int, int]:
        """Source and destination rack."""
        return self.src[0], self.dst[0]

    def resolve(self, hosts: int) -> Iterator[dict[str, Any]]:
        """The flow as the core takes it."""
        yield _resolved(self, self.src, self.dst, stop=None, size=self.size)

    def problems(self, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
        """What is wrong with this flow in a network of this size."""
        for end, (rack, host) in (("from", self.src), ("to", self.dst)):
            if rack >= racks or host >= hosts:
                yield PlanError(
                    f"there is no host r{rack}h{host} (racks 0..{racks - 1}, hosts 0..{hosts - 1})",
                    key=f"{key}.{end}",
                    value=f"r{rack}h{host}",
                )
        if self.src == self.dst:
            yield PlanError(f"host {write_host(self.src)} would send to itself", key=f"{key}.to")
        elif self.src[0] == self.dst[0]:
            yield PlanError(
                f"both hosts are in rack {self.src[0]}; traffic within a rack does not pass the switch",
                key=f"{key}.to",
            )
        yield from registry.problems(key, self.cc, self.params)


def _resolved(
    workload: Bulk | Flow,
    src: tuple[int, int],
    dst: tuple[int, int],
    *,
    stop: int | None,
    size: int | None,
) -> dict[str, Any]:
    return {
        "src_rack": src[0],
        "src_host": src[1],
        "dst_rack": dst[0],
        "dst_host": dst[1],
        "cc": workload.cc,
        "cc_params": dict(workload.params),
        "start_ns": workload.start,
        "stop_ns": stop,
        "bytes": size,
    }


@cache
def controls() -> dict[str, dict[str, Any]]:
    """The congestion controls that plans may name: description, engines and parameters, by name."""
    return {name: control.as_dict() for name, control in registry.controls().items()}
