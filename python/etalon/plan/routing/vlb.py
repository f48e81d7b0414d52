# SPDX-License-Identifier: MIT OR Apache-2.0
"""Valiant load balancing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way, never_met


class Vlb(Way):
    """The first hop uses any circuit that is up, the second the direct one (RotorNet, SIGCOMM 2017, section 3.2)."""

    which: ClassVar = 'of kind "vlb"'
    about: ClassVar = "over any circuit that is up, and from there directly: Valiant load balancing"
    kind: Literal["vlb"] = "vlb"
    """At most two hops, the first over any circuit that is up."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return "vlb"

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that never meet."""
        return never_met(key, net, racks)
