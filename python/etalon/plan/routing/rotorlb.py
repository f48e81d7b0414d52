# SPDX-License-Identifier: MIT OR Apache-2.0
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
    """Hosts keep packets until their rack has a circuit to the destination, and offer the rest to others for two hops
    (RotorNet, SIGCOMM 2017, section 3.2). The transport of this name carries the flows."""

    which: ClassVar = 'of kind "rotorlb"'
    about: ClassVar = "hosts wait for the direct circuit, and offer the rest for two hops: RotorLB"
    kind: Literal["rotorlb"] = "rotorlb"
    """RotorLB carries this class: flows of `transport = "rotorlb"`, and flows of `"ndp"` in it."""
    hops: int = Field(default=2, strict=True, ge=1, le=2)
    """Largest number of circuits that a packet crosses: 2, over a host that relays it, or 1."""
    margin: Time | None = None
    """How long before the end of a circuit hosts stop sending; by default the time of the last packet to its uplink and
    over it. Packets that are late return to their host."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {"rotorlb": {"two_hops": self.hops == 2, "margin_ns": self.margin}}

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that never meet."""
        return never_met(key, net, racks)
