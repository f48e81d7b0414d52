# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circuits that jobs request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.network import Network, Ocs
from etalon.plan.network.base import Racks
from etalon.plan.schedules.base import Schedule
from etalon.plan.schedules.configuration import MOST_KINDS, Circuit, no_matching
from etalon.units import MS, US, Time, problem, shown


def _initial(value: Any) -> Any:
    if value in ("ring", "none") or isinstance(value, (list, tuple)):
        return value
    raise problem(f'{shown(value)} must be "ring", "none", or a list like [[0, 1], [1, 0]]')


class Asked(Schedule):
    """Circuits that stay until a job requests others. A request is granted whole, or waits; only circuits that change go
    dark."""

    about: ClassVar = "circuits that stay until a job asks for others (`job.circuits`)"
    which: ClassVar = 'of kind "asked"'
    computed: ClassVar = True
    kind: Literal["asked"] = "asked"
    """Circuits that jobs request."""
    initial: Annotated[Literal["ring", "none"] | tuple[Circuit, ...], BeforeValidator(_initial)] = (
        "ring"
    )
    """The initial circuits: "ring", one from each rack to the next (with several uplinks, every other one leads back);
    "none"; or a list like [[0, 1], [1, 0]]."""
    reconfiguration: Time = 10 * US
    """Reconfiguration time: how long circuits that change are dark."""
    request: Time = 2 * US
    """Delay of a request from a host to the controller, and of the controller's recall of circuits that another job waits
    for."""
    hold: Time = 50 * US
    """Least time that a granted circuit stays up."""
    share: Literal["fair", "fifo"] = "fair"
    """Which of several waiting requests is granted first: "fifo", the oldest; "fair", that too, but a job that has had more
    circuit time than others waits longer, by the difference."""
    ask: Literal["all", "first"] = "all"
    """When a job requests the circuits of a step: when all ranks of the step are ready, or when the first is."""
    ahead: bool = False
    """Whether a job requests the circuits of its next step as soon as it has those of this one."""

    def pairs(self, network: Racks) -> list[tuple[int, int]]:
        """The circuits at the start: source and destination rack."""
        return [(src, dst) for _, src, dst in self.dealt(network)]

    def dealt(self, network: Racks) -> list[tuple[int, int, int]]:
        """The circuits at the start: uplink, source and destination rack."""
        racks = range(network.racks)
        if self.initial == "ring":
            # Every other uplink leads backwards.
            return [
                (uplink, rack, (rack + (-1 if uplink % 2 else 1)) % network.racks)
                for uplink in range(network.uplinks)
                for rack in racks
            ]
        circuits = [] if isinstance(self.initial, str) else self.initial
        return _core.deal_circuits(circuits, network.uplinks)

    @property
    def changes(self) -> dict[str, Any]:
        """How circuits change, as the core takes it."""
        return {
            "reconfiguration_ns": self.reconfiguration,
            "request_ns": self.request,
            "hold_ns": self.hold,
            "share": self.share,
            "ask": self.ask,
            "ahead": self.ahead,
        }

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The circuits as the core takes them."""
        sources = [-1] * network.racks
        for src, dst in self.pairs(network):
            sources[dst] = src
        first = {"sources": sources, "day_ns": 1 * MS, "night_ns": 0, "plane": 1}
        return {"configurations": [first], "asked": self.changes}

    def uplinks(self, network: Ocs) -> list[dict[str, Any]]:
        """The circuit switches of a network of circuits as the core takes them: each has one matching, until it changes."""
        sources = [[-1] * network.racks for _ in range(network.uplinks)]
        for uplink, src, dst in self.dealt(network):
            sources[uplink][dst] = src
        link = {"rate_bps": network.circuits.rate, "delay_ns": network.circuits.delay}
        return [
            {**link, "rotation": [{"sources": row, "day_ns": 1 * MS, "night_ns": 0}]}
            for row in sources
        ]

    def wrong_uplinks(self, network: Ocs) -> Iterator[PlanError]:
        """What is wrong with this schedule in a network of circuits."""
        if network.uplinks > MOST_KINDS:
            yield PlanError(
                f"a rack has at most {MOST_KINDS} uplinks where circuits are asked for, not {network.uplinks}",
                key="network.circuits.switches",
                value=network.uplinks,
            )
        for name in ("guard", "skew"):
            if getattr(network, name):
                yield PlanError(
                    "circuits on request have no days whose ends need guarding",
                    key=f"network.{name}",
                )
        if not isinstance(self.initial, str):
            yield from no_matching("schedule.initial", self.initial, network.racks, network.uplinks)

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        if not isinstance(self.initial, str):
            yield from no_matching("schedule.initial", self.initial, network.racks)
        if network.night == "all":
            yield PlanError(
                "circuits on request have no nights in which the packet network could be dark",
                key="network.night",
                value=network.night,
            )
