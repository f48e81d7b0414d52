# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all workloads of a plan share: hosts, congestion control, class, and the flows that they resolve to."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, StringConstraints

from etalon import controls as registry
from etalon.custom.control import written
from etalon.custom.source import is_allowed, is_reference
from etalon.errors import EtalonError, PlanError
from etalon.plan.base import Table
from etalon.plan.transport import PlainTcp, Tdtcp, Transport
from etalon.units import TIME, Time, problem, shown

if TYPE_CHECKING:
    from etalon.plan.workloads.batches import Batch

MOST_FLOWS = 100_000
"""Flows of a plan that are listed before it is run. Of more, each is made when it starts and forgotten when it is over."""

HostId = tuple[int, int]
"""Rack and host."""


def read_host(value: Any) -> HostId:
    """A host as plans name it: "r0h3" is rack 0, host 3."""
    if isinstance(value, tuple) and len(value) == 2:
        return value
    found = re.fullmatch(r"r(\d+)h(\d+)", value) if isinstance(value, str) else None
    if found is None:
        raise problem(
            f'{shown(value)} is not a host: a host is written like "r0h3" (rack 0, host 3)'
        )
    return int(found[1]), int(found[2])


def write_host(host: HostId) -> str:
    """A host as plans name it."""
    return f"r{host[0]}h{host[1]}"


Host = Annotated[HostId, BeforeValidator(read_host), PlainSerializer(write_host, return_type=str)]
"""Rack and host, written "r0h3"."""


def _controls(value: Any) -> str | tuple[str, ...]:
    """A name, or names."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise problem(f'{shown(value)} must be a congestion control, like "cubic", or a list')
    if not names:
        raise problem("must name at least one congestion control")
    return value if isinstance(value, str) else tuple(names)


Controls = Annotated[str | tuple[str, ...], BeforeValidator(_controls)]
"""A congestion control, or one for each network."""

FlowClass = Annotated[
    str, StringConstraints(max_length=40, pattern=r"^([A-Za-z0-9][A-Za-z0-9._+-]*)?$")
]
"""The name of a class of flows; empty for none."""


@dataclass(frozen=True)
class Setting:
    """What workloads need to know of the experiment around them. Rates in bit/s, times in ns."""

    racks: int
    hosts: int
    duration: int
    seed: int
    packet_rate: int
    """Of a rack's uplink to the packet network; of the narrowest link of a dumbbell."""
    circuit_rate: int
    """Of a circuit; that of the packet network where there are none."""
    racks_per_pod: int
    """Racks that are one pod of a tree; all of them in other networks."""
    uplinks: int = 1
    """Circuits of each direction that a rack may have at a time."""
    key: str = ""
    """Where the workload stands in the plan: names its random stream."""

    def random(self) -> random.Random:
        """The workload's own random stream: the same for the same seed and place in the plan, whatever else is there.

        Only `random()` of it may be used, whose numbers Python keeps the same from version to version.
        """
        return random.Random(f"etalon {self.seed} {self.key}")

    def all_hosts(self) -> Iterator[HostId]:
        """All hosts, rack by rack."""
        return ((rack, host) for rack in range(self.racks) for host in range(self.hosts))


class Workload(Table):
    """Who sends what to whom."""

    about: ClassVar[str] = ""
    """A line for `etalon list workloads`."""
    streams: ClassVar[bool] = False
    """Whether its flows can come in order of start without being listed, however many there are."""
    everywhere: ClassVar[bool] = False
    """Whether its flows join all racks alike, so that no rack pair stands out."""
    cc: Controls = "cubic"
    """Congestion control: one of `etalon list cc`, or a class of yours such as `"my.py:Halving"`, which runs only with
    `--code`. With TDTCP it may be a list, one for each network."""
    params: dict[str, int | float] = Field(default_factory=dict)
    """Parameters of the congestion control."""
    transport: Transport = PlainTcp()
    """The transport of its flows: `"tcp"`, `"tdtcp"`, `"mptcp"`, `"ndp"`, `"rotorlb"`, or a table with a `kind`."""
    flow_class: FlowClass = Field(default="", alias="class")
    """Class of its flows; results report completion times by class."""
    priority: Literal["low", "bulk"] | None = None
    """Class of its packets in a network of kind "ocs" with two classes; by default `routing.cutoff` decides."""
    start: Time = 0
    """When the first sender begins."""
    connect: Time | None = None
    """If set, flows connect before `start`, evenly spaced from this time on, as flowgrind does; leave each a round trip.
    By default, each flow connects when it starts."""

    source: dict[str, str] = Field(default_factory=dict)
    """The text of the files that this names, by their names. Reading the plan fills this in, so that the plan contains
    all code that it runs."""

    @property
    def racks(self) -> tuple[int, int]:
        """The rack pair that is measured if the plan names none."""
        return 0, 1

    def all_flows(self, setting: Setting) -> list[dict[str, Any]]:
        """The flows as the core takes them, in the order in which they connect if they do before they start."""
        flows = list(self.resolve(setting))
        if self.connect is not None:
            for index, flow in enumerate(flows):
                share = (self.start - self.connect) * index // len(flows)
                flow["connect_ns"] = self.connect + share
        return flows

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows, each of which connects when it starts."""
        raise NotImplementedError

    def expected(self, setting: Setting) -> float:
        """About how many flows that is."""
        raise NotImplementedError

    def classes(self, setting: Setting) -> tuple[str, ...]:
        """The classes of its flows."""
        if self.flow_class or self.streams:
            return (self.flow_class,)
        return tuple(dict.fromkeys(flow.get("class", "") for flow in self.resolve(setting)))

    def batches(self, setting: Setting) -> Iterator[Batch]:
        """The flows in order of start; their kinds are numbers of classes."""
        from etalon.plan.workloads.batches import packed

        flows = self.resolve(setting)
        if not self.streams:
            flows = iter(sorted(flows, key=lambda flow: int(flow["start_ns"])))
        return packed(flows, setting.hosts, self.classes(setting))

    def rack_pairs(self, setting: Setting) -> Iterator[tuple[int, int]]:
        """Racks that send, and to which; some may come more than once."""
        return ((flow["src_rack"], flow["dst_rack"]) for flow in self.resolve(setting))

    def identity(self) -> dict[str, Any]:
        """What its flows follow from."""
        return self.model_dump(mode="json")

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        if isinstance(self.cc, str):
            yield from self._wrong(key, self.cc, self.params)
        else:
            yield from self._several(key, self.cc)
        if self.connect is not None and self.connect >= self.start:
            yield PlanError(
                f"{shown(TIME.format(self.connect))} must be earlier than the start at {TIME.format(self.start)}: "
                "flows connect between the two",
                key=f"{key}.connect",
                value=self.connect,
            )

    @property
    def controls(self) -> tuple[str, ...]:
        """The congestion controls: one, or one for each network."""
        return (self.cc,) if isinstance(self.cc, str) else self.cc

    def carried(self) -> dict[str, Any]:
        """What carries flows, as the core takes it."""
        carried: dict[str, Any] = {"cc": self.controls[0], "cc_params": dict(self.params)}
        if isinstance(self.transport, Tdtcp):
            several = () if isinstance(self.cc, str) else self.cc
            carried["transport"] = self.transport.resolve(several)
        elif not isinstance(self.transport, PlainTcp):
            carried["transport"] = self.transport.resolve()
        return carried

    def _wrong(self, key: str, name: str, params: Mapping[str, float]) -> Iterator[PlanError]:
        """What is wrong with a congestion control; of one of the user's, as soon as its code may run."""
        if not is_reference(name):
            yield from registry.problems(key, name, params)
            return
        try:
            if all(map(is_allowed, self.source.values())):
                written(name, self.source, params)
        except EtalonError as error:
            yield PlanError(str(error), key=f"{key}.cc", value=name)

    def _several(self, key: str, controls: tuple[str, ...]) -> Iterator[PlanError]:
        """What is wrong with a list of congestion controls."""
        for name in dict.fromkeys(controls):
            yield from self._wrong(key, name, {})
        if not isinstance(self.transport, Tdtcp):
            yield PlanError(
                f"{shown(list(controls))} must be one congestion control; only TDTCP has one for each network",
                key=f"{key}.cc",
                value=controls,
            )
        if self.params:
            yield PlanError(
                "belong to one congestion control, but cc is a list", key=f"{key}.params"
            )

    def one(
        self,
        src: HostId,
        dst: HostId,
        size: int | None,
        start: int | None = None,
        stop: int | None = None,
        flow_class: str = "",
    ) -> dict[str, Any]:
        """One flow as the core takes it; its class is `flow_class` unless the workload has one."""
        resolved = {
            "src_rack": src[0],
            "src_host": src[1],
            "dst_rack": dst[0],
            "dst_host": dst[1],
            **self.carried(),
            "start_ns": self.start if start is None else start,
            "stop_ns": stop,
            "bytes": size,
        }
        name = self.flow_class or flow_class
        if name:
            resolved["class"] = name
        if self.priority is not None:
            resolved["priority"] = int(self.priority == "bulk")
        return resolved


def missing_host(host: HostId, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
    """That there is no such host, if so."""
    rack, number = host
    if rack >= racks or number >= hosts:
        yield PlanError(
            f"there is no host {write_host(host)} (racks 0..{racks - 1}, hosts 0..{hosts - 1})",
            key=key,
            value=write_host(host),
        )
