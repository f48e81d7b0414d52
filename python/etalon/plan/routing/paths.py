# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shortest paths within a slice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way, cut_off


class Paths(Way):
    """What both kinds of shortest paths have."""

    paths: int = Field(default=1, strict=True, ge=1, le=64)
    """Largest number of paths between two racks; the shortest ones are used."""
    equal: bool = Field(default=False, strict=True)
    """Whether to use only paths as short as the shortest."""
    spread: Literal["flow", "packet"] = "flow"
    """"flow": a hash assigns each flow one path (ECMP); "packet": each packet takes another path (spraying)."""

    def settings(self) -> dict[str, Any]:
        """As the core takes them."""
        return {"paths": self.paths, "equal": self.equal, "spray": self.spread == "packet"}


class Expander(Paths):
    """Several hops within one slice, never over a circuit that goes at its end (Opera, NSDI 2020, section 3.1)."""

    which: ClassVar = 'of kind "expander"'
    about: ClassVar = "the shortest paths within a slice, over circuits that outlast it: Opera's"
    kind: Literal["expander"] = "expander"
    """Several hops within a slice, over circuits that outlast it."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {"expander": self.settings()}

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that do not reach each other over what stays."""
        return cut_off(key, net, racks, staying=True)


class Ksp(Paths):
    """Several hops within one slice, over all its circuits: k shortest paths."""

    which: ClassVar = 'of kind "ksp"'
    about: ClassVar = "the k shortest paths within a slice, over all its circuits"
    kind: Literal["ksp"] = "ksp"
    """Several hops within a slice, over all its circuits."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {"ksp": self.settings()}

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that do not reach each other."""
        return cut_off(key, net, racks, staying=False)
