# SPDX-License-Identifier: MIT OR Apache-2.0
"""Switches' connections to the controller, and those that come and go. Sans I/O.

A connection that ends tells that a switch is dead, or only out of the controller's reach: then it forwards as before. So the
first times the switch counts as gone at once, and as back at once. From the third within a half-life on (`damping`) its coming
and going changes nothing for a while, which is longer the oftener:

- It carries no traffic of others, as an OSPF router that has just started (RFC 6987) or one with IS-IS's overload bit
  (RFC 3277), unless some could not reach each other without switches that flap.
- Whoever is at its own ports has no other way: the switch counts as there for them, connected or not.

What is really dead does not stay: the neighbours say that their ports are down, and LLDP crosses its links no more. A switch
that is connected has its entries at once, whatever its penalty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from etalon_otcp.damping import Penalties
from etalon_otcp.network import Network
from etalon_otcp.topology import PortDescription, Topology


class Connections:
    """Which switches are connected. Methods that take news say whether the network changed; times are monotonic seconds."""

    def __init__(self, topology: Topology, half_life_s: float) -> None:
        self._topology = topology
        self._penalties: Penalties[str] = Penalties(half_life_s)
        self._connected: set[str] = set()

    def up(self, switch: str, ports: Iterable[PortDescription], now: float, at: float) -> None:
        """A switch has connected, at `at` (seconds since 1970); by a second connection the first one has ended."""
        self.down(switch, now)
        self._connected.add(switch)
        if self.is_damped(switch) and switch in self._topology.switches():
            self._topology.switch_again(switch, ports, at)
        else:
            self._topology.switch_up(switch, ports, at)

    def down(self, switch: str, now: float) -> tuple[bool, bool]:
        """A connection has ended; whether it was a switch's, and whether that flaps from now on."""
        if switch not in self._connected:
            return False, False
        self._connected.discard(switch)
        flaps = self._penalties.went_down(switch, now)
        if not self.is_damped(switch):
            self._topology.switch_down(switch)
        return True, flaps

    def over(self, now: float) -> list[str]:
        """Switches that are damped no more; those that are not connected count as gone."""
        found = self._penalties.expire(now)
        for switch in found:
            if switch not in self._connected:
                self._topology.switch_down(switch)
        return found

    def connected(self) -> frozenset[str]:
        """The switches that are connected."""
        return frozenset(self._connected)

    def is_damped(self, switch: str) -> bool:
        """Whether a switch's coming and going changes nothing."""
        return self._penalties.is_damped(switch)

    def damped(self) -> int:
        """How many switches are damped."""
        return len(self._penalties.damped())

    def due(self) -> float | None:
        """When the next switch is damped no more."""
        return self._penalties.due()

    def problems(self, now: float) -> list[str]:
        """A sentence for each switch that is damped."""
        return [
            f"the connection of switch {switch} comes and goes: it carries traffic of others only where there is no other way, "
            f"for another {max(0.0, until - now):.0f} s, longer if it ends again"
            for switch, until in sorted(self._penalties.damped().items())
        ]

    def usable(self, network: Network) -> Network:
        """The network without the links to switches that flap and have no ports to hosts; with them, if it fell apart
        otherwise: with those to switches that are connected, or all."""
        ends = {host.port.switch for host in network.hosts.values()}
        # A port at which nobody has answered may be a spare one
        ends |= {place.switch for place in network.edges if self._topology.is_edge(place)}
        damped = self._penalties.damped().keys() - ends
        if not damped:
            return network
        whole = _parts(network, ends)
        for spared in (damped, damped - self._connected):
            found = _without(network, spared)
            if _parts(found, ends) == whole:
                return found
        return network


def _without(network: Network, switches: Iterable[str]) -> Network:
    """Without the links to these switches. Those from them stay, by which they bring on what still comes to them."""
    gone = frozenset(switches)
    links = {place: link for place, link in network.links.items() if link.target.switch not in gone}
    return replace(network, links=links)


def _parts(network: Network, ends: Iterable[str]) -> set[frozenset[str]]:
    """Which of these switches reach each other."""
    neighbours: dict[str, list[str]] = {}
    for link in network.links.values():
        neighbours.setdefault(link.source.switch, []).append(link.target.switch)
    wanted, seen = frozenset(ends), set[str]()
    found: set[frozenset[str]] = set()
    for switch in wanted:
        if switch in seen:
            continue
        part, queue = {switch}, [switch]
        while queue:
            for other in neighbours.get(queue.pop(), ()):
                if other not in part:
                    part.add(other)
                    queue.append(other)
        seen |= part
        found.add(wanted & part)
    return found
