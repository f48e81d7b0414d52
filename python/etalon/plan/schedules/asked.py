# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circuits that jobs request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from etalon.errors import PlanError
from etalon.plan.network import Network
from etalon.plan.schedules.base import Schedule
from etalon.plan.schedules.configuration import Circuit, no_matching
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
    """The initial circuits: "ring", one from each rack to the next; "none"; or a list like [[0, 1], [1, 0]]."""
    reconfiguration: Time = 10 * US
    """Reconfiguration time: how long circuits that change are dark."""
    request: Time = 2 * US
    """Delay of a request from a host to the controller, and of the controller's recall of circuits that another job waits
    for."""
    hold: Time = 50 * US
    """Least time that a granted circuit stays up."""
    share: Literal["fair", "fifo"] = "fair"
    """Which of several waiting requests is granted first: "fair", that of the job with the least circuit time so far;
    "fifo", the oldest."""
    ask: Literal["all", "first"] = "all"
    """When a job requests the circuits of a step: when all ranks of the step are ready, or when the first is."""
    ahead: bool = False
    """Whether a job requests the circuits of its next step as soon as it has those of this one."""

    def pairs(self, network: Network) -> list[tuple[int, int]]:
        """The circuits at the start: source and destination rack."""
        if self.initial == "ring":
            return [(rack, (rack + 1) % network.racks) for rack in range(network.racks)]
        return [] if isinstance(self.initial, str) else [*self.initial]

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The circuits as the core takes them."""
        sources = [-1] * network.racks
        for src, dst in self.pairs(network):
            sources[dst] = src
        first = {"sources": sources, "day_ns": 1 * MS, "night_ns": 0, "plane": 1}
        asked = {
            "reconfiguration_ns": self.reconfiguration,
            "request_ns": self.request,
            "hold_ns": self.hold,
            "share": self.share,
            "ask": self.ask,
            "ahead": self.ahead,
        }
        return {"configurations": [first], "asked": asked}

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        if not isinstance(self.initial, str):
            yield from no_matching("schedule.initial", self.initial, network.racks)
        if network.night == "all":
            yield PlanError(
                "circuits that are asked for have no nights in which the packet network could serve nobody",
                key="network.night",
                value=network.night,
            )
