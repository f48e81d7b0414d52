# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of a plan: everything about an experiment, and what its workloads come to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, StringConstraints

from etalon.circuits import Circuits
from etalon.custom.routing import Answered
from etalon.custom.source import merged
from etalon.errors import PlanError
from etalon.plan.base import Rack, Table
from etalon.plan.linux import Linux
from etalon.plan.network import AnyNetwork, CircuitNetwork, Network, Ocs
from etalon.plan.program import OnHost, Program
from etalon.plan.routing import Routing
from etalon.plan.routing.written import Written
from etalon.plan.schedules import AnySchedule, Rotation, Strobe
from etalon.plan.tcp import Tcp
from etalon.plan.workloads import base
from etalon.plan.workloads.base import Setting, Workload
from etalon.plan.workloads.bulk import Bulk
from etalon.plan.workloads.dfsio import Dfsio
from etalon.plan.workloads.flow import Flow
from etalon.plan.workloads.generator import Generator
from etalon.plan.workloads.incast import Incast
from etalon.plan.workloads.job import Job
from etalon.plan.workloads.permutation import Permutation
from etalon.plan.workloads.poisson import Poisson
from etalon.plan.workloads.rings import Rings
from etalon.plan.workloads.shuffle import Shuffle
from etalon.plan.workloads.trace import Trace
from etalon.units import MS, Duration, Time, problem, shown

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")
]


def _flow(value: Any) -> Any:
    number = type(value) is int and value >= 0
    if not number and not (isinstance(value, str) and value):
        raise problem(f"{shown(value)} is not a flow: {CHOICE}")
    return value


CHOICE = "choose one by its number, from 0, or by the name of its class"
ChosenFlow = Annotated[Annotated[int, Field(ge=0)] | str, BeforeValidator(_flow)]
"""The number of a flow, or the name of a class of flows. Whether it exists is checked with the whole plan."""


class Measure(Table):
    """What a run measures beside its summary."""

    pair: tuple[Rack, Rack] | None = None
    """The rack pair under test; by default the pair of the first workload between racks, or 0 to 1 if there is none."""
    weeks_per_run: int = Field(default=3, strict=True, ge=1, le=1000)
    """The expected-sequence graph averages pieces of this many weeks."""
    flows: tuple[ChosenFlow, ...] = ()
    """Flows whose cwnd, ssthresh and RTT the table `tcp` records over time: numbers as in the table `flows`, or names of
    classes."""
    reordering: bool = Field(default=False, strict=True)
    """Whether to record the order in which the pair's data leaves the network (table `reordering`), and unnecessary
    retransmissions (`spurious`)."""
    ports: bool = Field(default=False, strict=True)
    """Whether to record every egress port, in networks of kinds "tree", "leaf-spine", "dumbbell" and "ocs" (table `ports`)."""
    links: Duration | None = None
    """In networks of kind "ocs": the length of the intervals in which to record the bytes on uplinks and links to hosts (table
    `links`)."""


class Experiment(Table):
    """An experiment: network, schedule, transports, workload. Times are virtual (as the papers print them)."""

    name: Name = "experiment"
    """Names the folder of the results; by default the name of the file."""
    description: str = ""
    """A sentence for the report."""
    seed: int = Field(default=1, strict=True, ge=0, le=2**63 - 1)
    """Seed of all random streams."""
    duration: Duration = 960 * MS
    """Length of the experiment."""
    warmup: Time = Field(default_factory=lambda data: int(data.get("duration", 0)) // 20)
    """Measurement covers [warmup, duration). Default: a twentieth of the duration."""
    tdf: int = Field(default=20, strict=True, ge=1, le=10_000)
    """Time dilation factor: the speed of the end hosts' clocks relative to the network's."""
    end_when_done: bool = Field(default=False, strict=True)
    """The experiment ends as soon as every flow and every job is over; programs do not count."""
    network: AnyNetwork = Network()
    schedule: AnySchedule = Strobe()
    routing: Routing = Routing()
    tcp: Tcp = Tcp()
    measure: Measure = Measure()
    linux: Linux = Linux()
    bulk: tuple[Bulk, ...] = ()
    flow: tuple[Flow, ...] = ()
    rings: tuple[Rings, ...] = ()
    shuffle: tuple[Shuffle, ...] = ()
    permutation: tuple[Permutation, ...] = ()
    incast: tuple[Incast, ...] = ()
    poisson: tuple[Poisson, ...] = ()
    trace: tuple[Trace, ...] = ()
    dfsio: tuple[Dfsio, ...] = ()
    generator: tuple[Generator, ...] = ()
    job: tuple[Job, ...] = ()
    program: tuple[Program, ...] = ()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """All that the engine sends."""
        return tuple(workload for kind in WORKLOADS for workload in getattr(self, kind))

    @cached_property
    def programs(self) -> tuple[OnHost, ...]:
        """Its programs, each on one host."""
        network = self.network
        return tuple(
            one for program in self.program for one in program.each(network.racks, network.hosts)
        )

    def named_workloads(self) -> Iterator[tuple[str, Workload]]:
        """Each workload with its dotted key; a number only where there are several."""
        for kind in WORKLOADS:
            workloads: tuple[Workload, ...] = getattr(self, kind)
            for index, workload in enumerate(workloads):
                yield f"{kind}.{index}" if len(workloads) > 1 else kind, workload

    @cached_property
    def circuits(self) -> tuple[CircuitNetwork, ...]:
        """The kinds of circuits of its network: TDNs from 1 on."""
        network = self.network
        return self.schedule.circuits(network) if isinstance(network, Network) else ()

    @cached_property
    def sources(self) -> dict[str, str]:
        """The text of the user's code that it runs, by the name of its file. Raises `PlanError` if a name has two texts."""
        every = (self.schedule, *self.routing.classes.values(), *self.workloads)
        return merged(getattr(one, "source", {}) for one in every)

    @cached_property
    def slices(self) -> Circuits | None:
        """Who meets whom in each slice, if it has several circuit switches. Raises `PlanError`."""
        network, schedule = self.network, self.schedule
        if not isinstance(network, Ocs) or not isinstance(schedule, Rotation):
            return None
        return schedule.net(network, self.seed)

    @cached_property
    def answered(self) -> dict[str, Answered]:
        """The time-flow tables that the user's routing functions return, by class. Calls them, and raises `EtalonError` if one
        may not run, fails, or returns something else."""
        net = self.slices
        if net is None:
            return {}
        ways = self.routing.classes.items()
        return {
            name: Answered(way.kind, way.source, net)
            for name, way in ways
            if isinstance(way, Written)
        }

    def setting(self, key: str = "") -> Setting:
        """What the workload at `key` needs to know of this experiment."""
        network = self.network
        return Setting(
            network.racks,
            network.hosts,
            self.duration,
            self.seed,
            *network.rates,
            network.racks_per_pod,
            network.uplinks,
            key,
        )

    def keyed_workloads(self) -> Iterator[tuple[str, Workload]]:
        """Each workload with the key that names its random stream, in the order of the flows."""
        for kind in WORKLOADS:
            for index, workload in enumerate(getattr(self, kind)):
                yield f"{kind}.{index}", workload

    @cached_property
    def expected_flows(self) -> float:
        """About how many flows it has."""
        return sum(work.expected(self.setting(key)) for key, work in self.keyed_workloads())

    @cached_property
    def streamed(self) -> bool:
        """Whether it has so many flows that they are not listed, but made while it is run."""
        return self.expected_flows > base.MOST_FLOWS

    @cached_property
    def flows(self) -> list[dict[str, Any]]:
        """Every flow as the core takes it, in the order of `WORKLOADS`. Raises `PlanError` if they are too many."""
        if self.streamed:
            raise PlanError(f"has {self.expected_flows:.0f} flows, too many to list them")
        return [
            flow
            for key, workload in self.keyed_workloads()
            for flow in workload.all_flows(self.setting(key))
        ]

    @property
    def followed_flows(self) -> list[int]:
        """Numbers of the flows that `measure.flows` names, in ascending order."""
        chosen = set(self.measure.flows)
        return [
            number
            for number, flow in enumerate(self.flows if chosen else ())
            if number in chosen or flow.get("class", "") in chosen
        ]

    @property
    def measured_pair(self) -> tuple[int, int]:
        """Source and destination rack of the pair under test."""
        if self.measure.pair is not None:
            return self.measure.pair
        pairs = [work.racks for work in self.workloads]
        crossing = [pair for pair in pairs if pair[0] != pair[1]]
        if self.network.carries_within_racks:
            return next(iter([*crossing, *pairs]), (0, 0))
        return next(iter(crossing), (0, 1))

    @property
    def pair_in_question(self) -> tuple[int, int] | None:
        """The measured pair; None if the plan names none and its flows join all racks alike."""
        alike = bool(self.workloads) and all(work.everywhere for work in self.workloads)
        if self.measure.pair is None and alike and self.network.racks > 2:
            return None
        return self.measured_pair


WORKLOADS: dict[str, type[Workload]] = {
    name: table
    for name, field in Experiment.model_fields.items()
    for table in get_args(field.annotation)[:1]
    if isinstance(table, type) and issubclass(table, Workload)
}
"""The tables that flows come from, in the order of the flows: fields of `Experiment`."""
