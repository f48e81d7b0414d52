"""RotorLB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way, never_met


class RotorLb(Way):
    """Hosts keep packets until their rack has a circuit to the destination, and offer what is left to others for two hops
    (RotorNet, SIGCOMM 2017, section 3.2). Packets themselves go over one circuit; flows are carried by the transport of this
    name."""

    which: ClassVar = 'of kind "rotorlb"'
    about: ClassVar = "hosts wait for the direct circuit, and offer the rest for two hops: RotorLB"
    kind: Literal["rotorlb"] = "rotorlb"
    """By the transport RotorLB."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return "direct"

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that never meet."""
        return never_met(key, net, racks)
