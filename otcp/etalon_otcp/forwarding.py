# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which ports frames leave by, at each switch: what the controller has switches do.

Frames for a host take the equal ways to it, one for each flow. All others (broadcasts, multicasts, hosts that nobody has found
yet) take a spanning tree to every port where no switch is.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping

from etalon_otcp.network import Network, PortId
from etalon_otcp.routes import Routes

OTHERS = ""
"""In a table, in a hardware address's place: frames for nobody else."""
Table = Mapping[str, tuple[int, ...]]
"""A switch's entries: egress ports by the destination's hardware address. Of several a flow takes one; `OTHERS` all."""


class Forwarding:
    """The entries of all switches, as they change."""

    def __init__(self, multipath: bool = True) -> None:
        self._multipath = multipath
        self._hosts: Mapping[str, list[tuple[str, int]]] = {}
        self._tables: dict[str, dict[str, tuple[int, ...]]] = {}

    def tables(self, routes: Routes, present: Mapping[str, Table]) -> Mapping[str, Table]:
        """All entries; of `routes` only what has moved since the last call is looked at.

        `present` is what switches have. Without `multipath` one of equal ways is used, and the one that is stays.
        """
        network = routes.network
        hosts: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for _, host in sorted(network.hosts.items()):
            if host.mac:
                hosts[host.port.switch].append((host.mac, host.port.number))
        same = hosts == self._hosts
        turned: dict[str, list[str]] = defaultdict(list)
        for switch, target in routes.turned:
            turned[switch].append(target)
        trees = flooding(network)
        found: dict[str, dict[str, tuple[int, ...]]] = {}
        for switch in {place.switch for place in network.ports}:
            table = self._tables.get(switch)
            if table is None or not same:
                table, targets = {}, list(hosts)
            else:
                targets = sorted(
                    turned.get(switch, [])
                )  # in one order, whatever the seed of hashes
            if targets or table.get(OTHERS) != trees[switch]:
                table = {**table, OTHERS: trees[switch]}
            for target in targets:
                self._write(table, switch, target, routes, hosts, present.get(switch, {}))
            found[switch] = table
        self._hosts, self._tables = hosts, found
        return found

    def _write(
        self,
        table: dict[str, tuple[int, ...]],
        switch: str,
        target: str,
        routes: Routes,
        hosts: Mapping[str, list[tuple[str, int]]],
        present: Table,
    ) -> None:
        """A switch's entries for the hosts of a target."""
        there = hosts.get(target, ())
        if target == switch:
            table.update((mac, (number,)) for mac, number in there)
            return
        hops = tuple(port.number for port in routes.next_hops(switch, target))
        several = tuple(sorted(hops))
        for mac, _ in there:
            if not hops:
                table.pop(mac, None)
            elif self._multipath:
                table[mac] = several
            else:
                used = present.get(mac, ())
                table[mac] = used if len(used) == 1 and used[0] in hops else hops[:1]


def flooding(network: Network) -> dict[str, tuple[int, ...]]:
    """For each switch the ports on a spanning tree, and those where no switch is. No frame comes back to where it was."""
    ports: dict[str, set[int]] = {place.switch: set() for place in network.ports}
    out: dict[str, list[tuple[PortId, PortId]]] = defaultdict(list)
    for place, link in sorted(network.links.items()):
        if link.target in network.links:  # both ways
            out[place.switch].append((place, link.target))
    reached: set[str] = set()
    for root in sorted(ports):
        if root in reached:
            continue
        reached.add(root)
        queue = deque([root])
        while queue:
            for near, far in out[queue.popleft()]:
                if far.switch not in reached:
                    reached.add(far.switch)
                    queue.append(far.switch)
                    ports[near.switch].add(near.number)
                    ports[far.switch].add(far.number)
    for place in network.edges:
        ports[place.switch].add(place.number)
    return {switch: tuple(sorted(numbers)) for switch, numbers in ports.items()}


def changes(before: Table, wanted: Table) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Entries to write, and destinations to delete."""
    if before is wanted:
        return {}, []
    written = {mac: ports for mac, ports in wanted.items() if before.get(mac) != ports}
    return written, sorted(set(before) - set(wanted))


def groups_of(table: Iterable[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """The sets of ports of which a flow takes one."""
    return {ports for ports in table if len(ports) > 1}
