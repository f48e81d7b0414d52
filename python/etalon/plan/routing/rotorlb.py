"""RotorLB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way, never_met
from etalon.units import Time


class RotorLb(Way):
    """Hosts keep packets until their rack has a circuit to the destination, and offer what is left to others for two hops
    (RotorNet, SIGCOMM 2017, section 3.2). Packets themselves go over one circuit; flows are carried by the transport of this
    name."""

    which: ClassVar = 'of kind "rotorlb"'
    about: ClassVar = "hosts wait for the direct circuit, and offer the rest for two hops: RotorLB"
    kind: Literal["rotorlb"] = "rotorlb"
    """By the transport RotorLB: flows of `transport = "rotorlb"`, and those of `"ndp"` that are of this class."""
    hops: int = Field(default=2, strict=True, ge=1, le=2)
    """Circuits that a packet may cross: 2, by a host that relays it, or 1."""
    margin: Time | None = None
    """Hosts stop sending so long before a circuit goes; without it, as long as the last packet takes to its uplink and over
    it. What is late goes back to its host."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {"rotorlb": {"two_hops": self.hops == 2, "margin_ns": self.margin}}

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that never meet."""
        return never_met(key, net, racks)
