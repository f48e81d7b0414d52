# SPDX-License-Identifier: MIT OR Apache-2.0
"""A plain drop-tail path: the network that simulators are compared on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Count, Table
from etalon.plan.network.base import Circuits, Hosts, Passage, Racks
from etalon.units import Rate, Time


class Stage(Table):
    """A drop-tail queue, a transmitter and a delay. On a return path the rate may be left out: a pure delay."""

    rate: Rate | None = None
    """Rate of the transmitter."""
    queue: Count | None = None
    """Capacity in packets; unbounded by default."""
    delay: Time = 0
    """Propagation delay after the transmitter."""

    def resolve(self) -> dict[str, Any]:
        """The stage as the core takes it."""
        return {"rate_bps": self.rate, "queue_packets": self.queue, "delay_ns": self.delay}


class Dumbbell(Racks):
    """Hosts of rack 0 send to hosts of rack 1 over one chain of drop-tail queues. No circuits, no schedule."""

    which: ClassVar = 'of kind "dumbbell"'
    kind: Literal["dumbbell"] = "dumbbell"
    """A chain of drop-tail queues."""
    hosts: int = Field(default=16, strict=True, ge=1, le=1024)
    """Hosts at each end."""
    mtu: int = Field(default=9000, strict=True, ge=576, le=65535)
    """In bytes."""
    path: tuple[Stage, ...] = Field(
        default=(Stage.model_validate({"rate": "10Gbps", "queue": 100, "delay": "30us"}),),
        min_length=1,
    )
    """The queues from sender to receiver, in order; each needs a rate."""
    return_path: tuple[Stage, ...] | None = None
    """The queues of the return path; by default one delay as long as the path's."""
    host: Hosts = Hosts()

    @property
    def racks(self) -> int:
        """The two ends."""
        return 2

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it."""
        there, back = ([stage.resolve() for stage in way] for way in (self.path, self._back))
        return {"stages": there, "return_stages": back}

    @property
    def _back(self) -> tuple[Stage, ...]:
        if self.return_path is not None:
            return self.return_path
        delay = sum(stage.delay for stage in self.path)
        return (Stage.model_construct(rate=None, queue=None, delay=delay),)

    @property
    def rates(self) -> tuple[int, int]:
        """Of the narrowest link; there are no circuits."""
        rate = min((stage.rate for stage in self.path if stage.rate is not None), default=0)
        return rate, rate

    def resolve_hosts(self) -> dict[str, Any]:
        """The hosts as the core takes them."""
        return self.host.resolve(self.racks, self.hosts, self.mtu)

    def passage(self, src: int, dst: int, circuits: Sequence[Circuits]) -> Passage:
        """The path, whichever rack sends; nothing of it within a rack."""
        if src == dst:
            return self.host.passage()
        there, back = (sum(stage.delay for stage in way) for way in (self.path, self._back))
        return self.host.passage(there, back, self.rates[0])

    def problems(self) -> Iterator[PlanError]:
        """What is wrong with its stages."""
        for index, stage in enumerate(self.path):
            if stage.rate is None:
                yield PlanError("must be given", key=f"network.path.{index}.rate")
