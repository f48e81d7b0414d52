# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shortest ways between switches, by measured delay; of equal ways the worst counts.

Delays are measured, so that two ways are never equal to the nanosecond: at each switch the next hops whose way is longer
than the shortest by at most a tolerance are equal, as they are for ECMP. What is said of a way holds for any of them: the
longest delay, the longest queueing, the slowest link.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from etalon_otcp.network import Link, Network, PortId

EQUAL_NS = 50_000
"""Ways whose delays differ by no more are equal: twice what a measurement errs by."""


@dataclass(frozen=True, slots=True)
class Way:
    """From a switch to another: the worst over equal ways, without the ports to hosts.

    `rate_bps` is None where no link is crossed. `unknown` names egress ports whose rate or queue nobody told.
    """

    delay_ns: int
    queueing_ns: int
    rate_bps: int | None
    unknown: frozenset[PortId]


HERE = Way(0, 0, None, frozenset())
"""The way from a switch to itself."""


class Routes:
    """All ways towards the switches that have hosts."""

    def __init__(self, network: Network, equal_ns: int = EQUAL_NS) -> None:
        self.network = network
        self._equal_ns = equal_ns
        self._into: dict[str, list[Link]] = defaultdict(list)
        self._out: dict[str, list[Link]] = defaultdict(list)
        for port in sorted(network.links):
            link = network.links[port]
            self._into[link.target.switch].append(link)
            self._out[link.source.switch].append(link)
        self._ways: dict[str, dict[str, Way]] = {}
        self._next: dict[str, dict[str, tuple[PortId, ...]]] = {}
        for target in sorted({host.port.switch for host in network.hosts.values()}):
            self._towards(target)

    def way(self, source: str, target: str) -> Way | None:
        """From switch to switch; None if there is none, or no host at the target."""
        return self._ways.get(target, {}).get(source)

    def next_hops(self, source: str, target: str) -> tuple[PortId, ...]:
        """The egress ports of equal ways, the shortest first; empty at the target and where there is no way."""
        return self._next.get(target, {}).get(source, ())

    def targets(self) -> Iterable[str]:
        """The switches with hosts."""
        return self._ways.keys()

    def path(self, source: str, target: str) -> list[PortId] | None:
        """Egress ports of the shortest way."""
        if self.way(source, target) is None:
            return None
        egress: list[PortId] = []
        while source != target:
            egress.append(self.next_hops(source, target)[0])
            source = self.network.links[egress[-1]].target.switch
        return egress

    def _towards(self, target: str) -> None:
        """Dijkstra against the direction of the links; then the worst of equal ways, nearest switches first."""
        nearest = self._distances(target)
        ways = {target: HERE}
        hops: dict[str, tuple[PortId, ...]] = {}
        for switch, _ in sorted(nearest.items(), key=lambda entry: (entry[1], entry[0])):
            if switch == target:
                continue
            equal = self._equal(switch, nearest)
            hops[switch] = tuple(link.source for link in equal)
            ways[switch] = self._worst(equal, ways)
        self._ways[target], self._next[target] = ways, hops

    def _distances(self, target: str) -> dict[str, int]:
        nearest = {target: 0}
        queue = [(0, target)]
        while queue:
            so_far, switch = heapq.heappop(queue)
            if so_far > nearest[switch]:
                continue
            for link in self._into[switch]:
                total = so_far + link.delay_ns.value
                before = link.source.switch
                if before not in nearest or total < nearest[before]:
                    nearest[before] = total
                    heapq.heappush(queue, (total, before))
        return nearest

    def _equal(self, switch: str, nearest: dict[str, int]) -> list[Link]:
        """Links to switches that are nearer to the target, on ways as short as the shortest, which comes first."""
        found = []
        for link in self._out[switch]:
            rest = nearest.get(link.target.switch)
            if rest is None or rest >= nearest[switch]:
                continue
            total = link.delay_ns.value + rest
            if total <= nearest[switch] + self._equal_ns:
                found.append((total, link.source, link))
        return [link for _, _, link in sorted(found, key=lambda entry: entry[:2])]

    def _worst(self, equal: list[Link], ways: dict[str, Way]) -> Way:
        delay, queueing, rate = 0, 0, None
        unknown: set[PortId] = set()
        for link in equal:
            rest, port = ways[link.target.switch], self.network.ports[link.source]
            delay = max(delay, link.delay_ns.value + rest.delay_ns)
            queueing = max(queueing, (port.drain_ns or 0) + rest.queueing_ns)
            slowest = [r for r in (rate, rest.rate_bps) if r is not None]
            if port.rate_bps is not None:
                slowest.append(port.rate_bps.value)
            rate = min(slowest, default=None)
            unknown |= rest.unknown
            if port.drain_ns is None:
                unknown.add(link.source)
        return Way(delay, queueing, rate, frozenset(unknown))
