# SPDX-License-Identifier: MIT OR Apache-2.0
"""A leaf-spine network: the switch of each rack is a leaf below every spine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.plan.network.switched import Layer, Switched, Upper


class LeafSpine(Switched):
    """Racks whose switches, the leaves, are each connected with each spine, with a queue in front of every link."""

    which: ClassVar = 'of kind "leaf-spine"'
    kind: Literal["leaf-spine"] = "leaf-spine"
    """Racks below spines."""
    racks: int = Field(default=4, strict=True, ge=1, le=1024)
    """Number of racks, each with its leaf."""
    hosts: int = Field(default=10, strict=True, ge=1, le=1024)
    """Hosts a rack."""
    mtu: int = Field(default=1500, strict=True, ge=576, le=65535)
    """In bytes."""
    rack: Layer = Layer.model_validate({"rate": "10Gbps", "delay": "1us"})
    """Between hosts and their leaf."""
    spine: Upper = Upper.model_validate({"rate": "40Gbps", "delay": "1us", "switches": 2})
    """Between leaves and spines."""

    @property
    def layers(self) -> Mapping[str, Layer]:
        """The links by layer, from the hosts up."""
        return {"rack": self.rack, "spine": self.spine}

    @property
    def layers_by_distance(self) -> tuple[str, str, str]:
        """The highest layer between hosts of one rack, and of two."""
        return "rack", "spine", "spine"

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it."""
        return {"spines": self.spine.switches, **super().resolve()}

    @property
    def switches(self) -> dict[str, int]:
        """Names of switches, and their numbers in the core."""
        leaves = [f"r{rack}" for rack in range(self.racks)]
        spines = [f"s{n}" for n in range(self.spine.switches)]
        return {name: number for number, name in enumerate([*leaves, *spines])}

    def joins(self, below: str, above: str) -> bool:
        """Whether there is a link between these switches."""
        known = below in self.switches and above in self.switches
        return known and below.startswith("r") and above.startswith("s")

    def layer(self, src: int, dst: int) -> str:
        """The highest layer that packets from rack to rack pass."""
        return "rack" if src == dst else "spine"

    @property
    def rates(self) -> tuple[int, int]:
        """Of a leaf's links up; there are no circuits."""
        rate = self.spine.rate * self.spine.switches
        return rate, rate
