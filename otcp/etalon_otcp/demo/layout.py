# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration's networks: racks below two aggregation switches, or the paper's tree of three layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from etalon.errors import PlanError

RATE_BPS = 1_000_000_000
QUEUE_BYTES = 90_000
HOST_US = 100
AGG_US, CORE_US = 200, 1000
"""One-way delays of the paper's links: host to ToR, ToR to aggregation, aggregation to core."""
DETOUR_US = 300
"""By the second aggregation switch of two: longer, so that a failure shows."""


@dataclass(frozen=True)
class Cable:
    """A link: at each end a namespace (empty for the switches') and a device; its delay one way."""

    ends: tuple[tuple[str, str], tuple[str, str]]
    delay_us: int


@dataclass(frozen=True)
class Host:
    """A host: name, rack's switch, addresses."""

    name: str
    switch: str
    address: str
    control_address: str


@dataclass(frozen=True)
class Layout:
    """So many racks, and hosts in each. Two layers: every rack has both aggregation switches. Three: two pods, an aggregation
    switch and half of the racks in each, and a core. Switches are together in one namespace, or each has its own.
    """

    racks: int = 2
    hosts_per_rack: int = 2
    layers: int = 2
    apart: bool = False

    def __post_init__(self) -> None:
        if self.layers == 3 and self.racks % 2:
            raise PlanError(
                f"{self.racks} racks: a tree of three layers has as many in each of its two pods"
            )

    @property
    def switches(self) -> dict[str, int]:
        """Datapath ids by name."""
        names = [*(f"t{rack}" for rack in range(1, self.racks + 1)), "a1", "a2"]
        names += ["c1"] if self.layers == 3 else []
        return {name: number for number, name in enumerate(names, 1)}

    @property
    def hosts(self) -> list[Host]:
        """h1, h2, ... rack by rack."""
        return [
            Host(
                f"h{rack * self.hosts_per_rack + place + 1}",
                f"t{rack + 1}",
                f"10.0.{rack + 1}.{place + 1}",
                f"192.168.255.{rack * self.hosts_per_rack + place + 10}",
            )
            for rack in range(self.racks)
            for place in range(self.hosts_per_rack)
        ]

    @property
    def cables(self) -> list[Cable]:
        """All links."""
        upper = [
            Cable((self._port(below, above), self._port(above, below)), delay_us)
            for below, above, delay_us in self._upper()
        ]
        below = [
            Cable((self._port(host.switch, host.name), (host.name, "eth0")), HOST_US)
            for host in self.hosts
        ]
        return upper + below

    def _port(self, switch: str, to: str) -> tuple[str, str]:
        """Namespace and device of a switch's end of a link."""
        return switch if self.apart else "", f"{switch}-{to}"

    def members(self) -> dict[str, str]:
        """Who has a namespace, with the address on the control network."""
        found = {host.name: host.control_address for host in self.hosts}
        if self.apart:
            found |= {name: f"192.168.254.{dpid}" for name, dpid in self.switches.items()}
        return found

    def _upper(self) -> Iterator[tuple[str, str, int]]:
        """Links between switches: the lower, the upper, the delay."""
        for rack in range(1, self.racks + 1):
            if self.layers == 2:
                yield f"t{rack}", "a1", AGG_US
                yield f"t{rack}", "a2", DETOUR_US
            else:
                yield f"t{rack}", f"a{self._pod(rack)}", AGG_US
        if self.layers == 3:
            yield "a1", "c1", CORE_US
            yield "a2", "c1", CORE_US

    def _pod(self, rack: int) -> int:
        return 1 if rack <= self.racks // 2 else 2

    def peers(self) -> dict[str, tuple[Host, int]]:
        """By layer: a host that h1 reaches through that layer and none above, and the links' delays there and back in us."""
        hosts = self.hosts
        rack = 2 * HOST_US
        found = {
            "rack": (hosts[1], 2 * rack),
            "pod": (hosts[self.hosts_per_rack], 2 * (rack + 2 * AGG_US)),
        }
        if self.layers == 3:
            found["core"] = (hosts[-1], 2 * (rack + 2 * AGG_US + 2 * CORE_US))
        return found

    def ports(self, switch: str) -> list[str]:
        """Devices of a switch."""
        return [
            device
            for cable in self.cables
            for _, device in cable.ends
            if device.startswith(f"{switch}-")
        ]
