# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the controller knows of a network: ports, links, hosts, and where each value comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

Address = IPv4Address | IPv6Address


class Source(StrEnum):
    """How the controller came to know a value."""

    LLDP = "LLDP between switches"
    ARP = "ARP probe"
    NDP = "neighbour solicitation"
    PORT = "OpenFlow port description"
    QUEUE = "OpenFlow queue_get_config"
    OVSDB = "OVSDB"
    FILE = "topology file"
    STATE = "kept from before a restart"
    FLOWS = "OpenFlow flow statistics"


@dataclass(frozen=True, slots=True)
class Known:
    """A value, its source, and when it was learnt (seconds since 1970)."""

    value: int
    source: Source
    at: float = 0.0


class PortId(NamedTuple):
    """A port of a switch, by the switch's name and OpenFlow's number."""

    switch: str
    number: int

    def __str__(self) -> str:
        return f"{self.switch}:{self.number}"


@dataclass(frozen=True, slots=True)
class Port:
    """An egress: `rate_bps` in bits a second, `queue_bytes` the most that its queue holds; None while unknown."""

    id: PortId
    name: str = ""
    rate_bps: Known | None = None
    queue_bytes: Known | None = None

    @property
    def drain_ns(self) -> int | None:
        """How long a full queue takes to leave: Q/T of equation 2."""
        if self.rate_bps is None or self.queue_bytes is None:
            return None
        return self.queue_bytes.value * 8 * 1_000_000_000 // self.rate_bps.value


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a link between switches: from an egress port to the neighbour's port."""

    source: PortId
    target: PortId
    delay_ns: Known


@dataclass(frozen=True, slots=True)
class Host:
    """A host at the port of a switch; `delay_ns` is one way, half of the measured round trip."""

    name: str
    addresses: tuple[Address, ...]
    port: PortId
    delay_ns: Known
    mac: str = ""


@dataclass(frozen=True)
class Network:
    """The network that is up at an instant: what is down is not in it. `links` is by egress port.

    `edges` are ports where no switch is, or none has shown itself for a while.
    """

    ports: Mapping[PortId, Port] = field(default_factory=dict)
    links: Mapping[PortId, Link] = field(default_factory=dict)
    hosts: Mapping[str, Host] = field(default_factory=dict)
    edges: frozenset[PortId] = frozenset()
