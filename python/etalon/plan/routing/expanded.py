# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ways through the time-expanded graph: earliest arrival, and uniform cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way, out_of_reach


class Earliest(Way):
    """The path that arrives first, including waits for circuits (Hop-On Hop-Off)."""

    which: ClassVar = 'of kind "earliest"'
    about: ClassVar = "the path that arrives first, including waits: Hop-On Hop-Off"
    kind: Literal["earliest"] = "earliest"
    """The path that arrives first."""
    hops_per_slice: int = Field(default=1, strict=True, ge=1, le=8)
    """Largest number of hops within one slice."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {"earliest": {"hops_per_slice": self.hops_per_slice}}

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that do not reach each other, or not in so few hops."""
        return out_of_reach(key, net, racks, None, self.hops_per_slice)


class Ucmp(Way):
    """The path of least uniform cost: its duration plus, for each hop, a share of the flow's transmission time. Short
    flows take more hops, long flows wait (UCMP, SIGCOMM 2024)."""

    which: ClassVar = 'of kind "ucmp"'
    about: ClassVar = "the path of least cost in time and hops, by flow size: UCMP"
    kind: Literal["ucmp"] = "ucmp"
    """The path of least cost."""
    alpha: float = Field(default=0.5, ge=0, le=1000)
    """Cost of a hop, as a share of the flow's transmission time."""
    hops: int = Field(default=4, strict=True, ge=1, le=8)
    """Largest number of hops."""
    hops_per_slice: int = Field(default=1, strict=True, ge=1, le=8)
    """Largest number of hops within one slice."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {
            "ucmp": {
                "alpha_milli": round(1000 * self.alpha),
                "hops": self.hops,
                "hops_per_slice": self.hops_per_slice,
            }
        }

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that do not reach each other, or not in so few hops."""
        return out_of_reach(key, net, racks, self.hops, self.hops_per_slice)
