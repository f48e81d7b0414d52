# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which ports lead to hosts, and which to switches."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address

from etalon_otcp.network import Known, PortId, Source
from etalon_otcp.state import State
from etalon_otcp.topology import UNANSWERED, KnownHost, PortDescription, Topology


def test_a_host_is_not_where_a_link_is() -> None:
    known = Known(200_000, Source.STATE, 0.0)
    a, b = PortId("t1", 1), PortId("a1", 1)
    topology = Topology({"h1": KnownHost("h1", (IPv4Address("10.0.0.1"),))})
    links = [(a, b, known), (b, a, known)]
    State(1, links, [("h1", a, "02:00:00:00:00:01", known)]).restore(topology)
    for place in (a, b):
        topology.switch_up(place.switch, [PortDescription(1, "p1", True, 10**9)], 0.0)
    assert topology.network().hosts.keys() == {"h1"} and not topology.is_edge(a)
    topology.link_seen(a, b)
    topology.link_seen(b, a)
    assert topology.network().links.keys() == {a, b} and not topology.network().hosts


def test_a_port_to_a_silent_switch_is_no_edge_once_its_own_switch_reconnects() -> None:
    """Beyond it a switch that has lost the controller may forward, so frames for all would come back."""
    topology, ends = Topology({}), (PortId("A", 1), PortId("B", 1))
    ports = [PortDescription(number, f"p{number}", True, 10**9) for number in (1, 2, 3)]

    def watch() -> frozenset[PortId]:
        for _ in range(UNANSWERED + 1):
            topology.watch()
        return topology.network().edges

    for switch in ("A", "B"):
        topology.switch_up(switch, ports, 0.0)
    for source, target in (ends, ends[::-1]):
        topology.link_seen(source, target)
    topology.switch_down("B")
    assert watch() == {PortId("A", 2), PortId("A", 3)}
    topology.switch_down("A")
    topology.switch_up("A", ports[:2], 0.0)
    assert topology.network().edges == set(), "a cable may lead elsewhere now"
    assert watch() == {PortId("A", 2)}
    topology.switch_down("A")
    topology.switch_up("A", [replace(ports[0], up=False), ports[1]], 0.0)
    topology.port("A", ports[0], False, 0.0)
    assert watch() == {PortId("A", 1), PortId("A", 2)}, "it went down: it may lead to a host"
