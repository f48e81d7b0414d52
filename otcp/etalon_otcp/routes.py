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

from etalon_otcp.distances import Distances, Graph, distances, repaired
from etalon_otcp.network import Link, Network, Port, PortId

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


@dataclass(frozen=True, slots=True)
class _Towards:
    """All that leads to a target, by switch: distances, ways, and egress ports of equal ways, the shortest first."""

    nearest: Distances
    ways: dict[str, Way]
    hops: dict[str, tuple[PortId, ...]]


_NOTHING = _Towards({}, {}, {})


class Routes:
    """All ways towards the switches that have hosts.

    `before` are the routes of the network as it was: only what a change touches is computed again.
    """

    def __init__(
        self, network: Network, equal_ns: int = EQUAL_NS, before: Routes | None = None
    ) -> None:
        self.network = network
        self.moved: set[tuple[str, str]] = set()
        """Switch and target where the way is another than before."""
        self.turned: set[tuple[str, str]] = set()
        """Switch and target where the next hops are others than before."""
        self._equal_ns = equal_ns
        into: dict[str, list[Link]] = defaultdict(list)
        out: dict[str, list[Link]] = defaultdict(list)
        for port in sorted(network.links):
            link = network.links[port]
            into[link.target.switch].append(link)
            out[link.source.switch].append(link)
        self._graph = Graph(into, out)
        self._towards: dict[str, _Towards] = {}
        known = before._towards if before and before._equal_ns == equal_ns else {}
        changed = _changed(before.network, network) if before else set()
        targets = {host.port.switch for host in network.hosts.values()}
        for target in sorted(targets):
            if target in known:
                self._towards[target] = self._repaired(target, known[target], changed)
            else:
                self._towards[target] = self._whole(target)
        for target in known.keys() - targets:
            self._all_moved(target, known[target])

    def way(self, source: str, target: str) -> Way | None:
        """From switch to switch; None if there is none, or no host at the target."""
        return self._towards.get(target, _NOTHING).ways.get(source)

    def next_hops(self, source: str, target: str) -> tuple[PortId, ...]:
        """The egress ports of equal ways, the shortest first; empty at the target and where there is no way."""
        return self._towards.get(target, _NOTHING).hops.get(source, ())

    def targets(self) -> Iterable[str]:
        """The switches with hosts."""
        return self._towards.keys()

    def path(self, source: str, target: str) -> list[PortId] | None:
        """Egress ports of the shortest way."""
        if self.way(source, target) is None:
            return None
        egress: list[PortId] = []
        while source != target:
            egress.append(self.next_hops(source, target)[0])
            source = self.network.links[egress[-1]].target.switch
        return egress

    def _whole(self, target: str) -> _Towards:
        """The worst of equal ways, nearest switches first."""
        found = _Towards(distances(self._graph, target), {target: HERE}, {})
        for _, switch in sorted((far, switch) for switch, far in found.nearest.items()):
            if switch != target:
                equal = self._equal(switch, found.nearest)
                found.hops[switch] = tuple(link.source for link in equal)
                found.ways[switch] = self._worst(equal, found.ways)
        self._all_moved(target, found)
        return found

    def _all_moved(self, target: str, towards: _Towards) -> None:
        every = {(switch, target) for switch in towards.ways}
        self.moved |= every
        self.turned |= every

    def _repaired(self, target: str, before: _Towards, changed: set[str]) -> _Towards:
        """The same, where it was computed before links out of the switches `changed` have."""
        nearest, shifted = repaired(self._graph, target, before.nearest, changed)
        touched = changed | shifted
        for switch in shifted:
            touched |= {link.source.switch for link in self._graph.into.get(switch, ())}
        queue = [(nearest[switch], switch) for switch in touched if switch in nearest]
        if not queue and not shifted:
            return before
        found = _Towards(nearest, dict(before.ways), dict(before.hops))
        for switch in shifted - nearest.keys():
            del found.ways[switch], found.hops[switch]
            self.moved.add((switch, target))
            self.turned.add((switch, target))
        heapq.heapify(queue)
        last = target
        while queue:
            far, switch = heapq.heappop(queue)
            if switch in (last, target):
                continue
            last = switch
            equal = self._equal(switch, nearest)
            way, hops = self._worst(equal, found.ways), tuple(link.source for link in equal)
            if way != found.ways.get(switch):
                self.moved.add((switch, target))
                for link in self._graph.into.get(switch, ()):  # who may come by this switch
                    if nearest.get(link.source.switch, 0) > far:
                        heapq.heappush(queue, (nearest[link.source.switch], link.source.switch))
            if hops != found.hops.get(switch):
                self.turned.add((switch, target))
            found.ways[switch], found.hops[switch] = way, hops
        return found

    def _equal(self, switch: str, nearest: Distances) -> list[Link]:
        """Links to switches that are nearer to the target, on ways as short as the shortest, which comes first."""
        found = []
        for link in self._graph.out[switch]:
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


def _changed(before: Network, now: Network) -> set[str]:
    """Switches of which a link out, or the rate or queue of its port, is another."""

    changed = {place.switch for place in before.links.keys() ^ now.links.keys()}
    for place, link in now.links.items():
        old = before.links.get(place)
        if old is None:
            continue
        before_port, port = before.ports[place], now.ports[place]
        same = old is link or _link(old) == _link(link)
        if not same or (before_port is not port and _port(before_port) != _port(port)):
            changed.add(place.switch)
    return changed


def _link(link: Link) -> tuple[PortId, int]:
    return link.target, link.delay_ns.value


def _port(port: Port) -> tuple[int | None, int | None]:
    return port.rate_bps.value if port.rate_bps else None, port.drain_ns
