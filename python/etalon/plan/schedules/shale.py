# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shale's schedule."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from etalon import circuits
from etalon.circuits import Circuits
from etalon.plan.network import Ocs
from etalon.plan.schedules.rotation import Rotation


class Shale(Rotation):
    """Racks are points of a cube with `dimensions` dimensions; in each dimension by turns, each meets all others of its line
    (Shale, SIGCOMM 2024). Fewer slices a cycle for more hops: with one dimension a round robin."""

    about: ClassVar = "round robins within the lines of a cube, dimension after dimension: Shale's"
    which: ClassVar = 'of kind "shale"'
    kind: Literal["shale"] = "shale"
    """The lines of a cube take turns."""
    dimensions: int = Field(default=2, strict=True, ge=1, le=8)
    """Number of dimensions (h); the number of racks must be a power with this exponent."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """Who meets whom."""
        return circuits.shale(network.racks, network.circuits.switches, self.dimensions)
