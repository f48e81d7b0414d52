# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which port frames for a host leave by, at each switch: what the controller has switches do."""

from __future__ import annotations

from collections.abc import Mapping

from etalon_otcp.network import PortId
from etalon_otcp.routes import Routes

Table = Mapping[str, int]
"""A switch's entries: egress port by the destination's hardware address."""


def tables(routes: Routes, before: Mapping[str, Table]) -> dict[str, dict[str, int]]:
    """The entries of all switches. Where several ways are equal, the one that is used stays."""
    found: dict[str, dict[str, int]] = {}
    switches = {port.switch for port in routes.network.ports}
    for _, host in sorted(routes.network.hosts.items()):
        if not host.mac:
            continue
        for switch in switches:
            if switch == host.port.switch:
                found.setdefault(switch, {})[host.mac] = host.port.number
                continue
            hops = routes.next_hops(switch, host.port.switch)
            if not hops:
                continue
            used = PortId(switch, before.get(switch, {}).get(host.mac, 0))
            found.setdefault(switch, {})[host.mac] = (used if used in hops else hops[0]).number
    return found


def changes(before: Table, wanted: Table) -> tuple[dict[str, int], list[str]]:
    """Entries to write, and destinations to delete."""
    written = {mac: port for mac, port in wanted.items() if before.get(mac) != port}
    return written, sorted(set(before) - set(wanted))
