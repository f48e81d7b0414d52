"""The demonstration's network: racks below two aggregation switches."""

from __future__ import annotations

from dataclasses import dataclass

RATE_BPS = 1_000_000_000
QUEUE_BYTES = 90_000
HOST_US = 100
UPPER_US = {"a1": 200, "a2": 300}
"""One-way delay of the links to each aggregation switch: the paper's, and a longer one, so that a failure shows."""


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
    """So many racks, and hosts in each."""

    racks: int = 2
    hosts_per_rack: int = 2

    @property
    def switches(self) -> dict[str, int]:
        """Datapath ids by name."""
        names = [*(f"t{rack}" for rack in range(1, self.racks + 1)), *UPPER_US]
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
            Cable((("", f"t{rack}-{name}"), ("", f"{name}-t{rack}")), delay_us)
            for rack in range(1, self.racks + 1)
            for name, delay_us in UPPER_US.items()
        ]
        below = [
            Cable((("", f"{host.switch}-{host.name}"), (host.name, "eth0")), HOST_US)
            for host in self.hosts
        ]
        return upper + below

    def ports(self, switch: str) -> list[str]:
        """Devices of a switch."""
        return [
            device
            for cable in self.cables
            for namespace, device in cable.ends
            if not namespace and device.startswith(f"{switch}-")
        ]
