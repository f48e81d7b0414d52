# SPDX-License-Identifier: MIT OR Apache-2.0
"""A tree of switches: racks in pods, pods below a core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.network.switched import Layer, Switched, Upper


class Tree(Switched):
    """Racks in pods, below a core, with a queue in front of every link: CNSM'16's network."""

    which: ClassVar = 'of kind "tree"'
    kind: Literal["tree"] = "tree"
    """Racks in pods, below a core."""
    pods: int = Field(default=2, strict=True, ge=1, le=1024)
    """Number of pods; one needs no core."""
    racks: int = Field(default=4, strict=True, ge=1, le=1024)
    """Number of racks in all pods together."""
    hosts: int = Field(default=10, strict=True, ge=1, le=1024)
    """Hosts a rack."""
    mtu: int = Field(default=1500, strict=True, ge=576, le=65535)
    """In bytes."""
    rack: Layer = Layer()
    """Between hosts and their ToR switch."""
    pod: Upper = Upper.model_validate({"delay": "200us"})
    """Between ToR switches and the aggregation switches of their pod."""
    core: Upper = Upper.model_validate({"delay": "1ms"})
    """Between aggregation switches and core switches."""

    @property
    def layers(self) -> Mapping[str, Layer]:
        """The links by layer, from the hosts up."""
        return {"rack": self.rack, "pod": self.pod, "core": self.core}

    @property
    def layers_by_distance(self) -> tuple[str, str, str]:
        """The highest layer between hosts of one rack, of one pod, and of two."""
        return "rack", "pod", "core"

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it."""
        return {
            "pods": self.pods,
            "aggregation_switches": self.pod.switches,
            "core_switches": self.core.switches,
            **super().resolve(),
        }

    @property
    def switches(self) -> dict[str, int]:
        """Names of switches, and their numbers in the core."""
        racks = [f"r{rack}" for rack in range(self.racks)]
        pods = [f"p{pod}a{n}" for pod in range(self.pods) for n in range(self.pod.switches)]
        core = [f"c{n}" for n in range(self.core.switches)]
        return {name: number for number, name in enumerate([*racks, *pods, *core])}

    def joins(self, below: str, above: str) -> bool:
        """Whether there is a link between these switches."""
        numbers = self.switches
        if below not in numbers or above not in numbers:
            return False
        if below.startswith("r"):
            return above.startswith(f"p{numbers[below] // self.racks_per_pod}a")
        return below.startswith("p") and above.startswith("c")

    @property
    def racks_per_pod(self) -> int:
        """In each pod."""
        return self.racks // self.pods

    def layer(self, src: int, dst: int) -> str:
        """The highest layer that packets from rack to rack pass."""
        if src == dst:
            return "rack"
        return "pod" if src // self.racks_per_pod == dst // self.racks_per_pod else "core"

    @property
    def rates(self) -> tuple[int, int]:
        """Of a rack's links up; there are no circuits."""
        rate = self.pod.rate * self.pod.switches
        return rate, rate

    def problems(self) -> Iterator[PlanError]:
        """What is wrong with its size, and with failures."""
        if self.racks % self.pods:
            yield PlanError(
                f"{self.racks} racks cannot be divided among {self.pods} pods",
                key="network.racks",
                value=self.racks,
            )
        else:
            yield from super().problems()
