# SPDX-License-Identifier: MIT OR Apache-2.0
"""Routes, groups and prefixes: against brute force, and a thousand hosts within a second."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import collapse_addresses, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import fat_tree, known, tree, without

from etalon_otcp import explain, forwarding, groups, paths
from etalon_otcp.api import views
from etalon_otcp.forwarding import Forwarding, flooding
from etalon_otcp.network import Host, Link, Network, Port, PortId
from etalon_otcp.paths import Policy, Unknown
from etalon_otcp.prefixes import Prefix, merge
from etalon_otcp.publication import Publication, Route
from etalon_otcp.routes import Routes
from etalon_otcp.view import View


def test_of_unequal_ways_the_shortest_counts() -> None:
    routes = Routes(tree())
    way = routes.way("t1", "t2")
    assert way is not None and way.delay_ns == 400_000 and way.queueing_ns == 2 * 720_000
    assert routes.next_hops("t1", "t2") == (PortId("t1", 1),)
    answer = paths.between(
        routes, Policy(), routes.network.hosts["h1-1"], routes.network.hosts["h2-1"]
    )
    assert answer.inputs.rtt_ns == 1_200_000
    assert (
        answer.inputs.queueing_ns == 6 * 720_000
    )  # Table I: the Agg layer has six queues there and back


def test_within_a_rack_two_queues_count() -> None:
    routes = Routes(tree())
    hosts = routes.network.hosts
    found = paths.inputs(routes, Policy(), hosts["h1-1"], hosts["h1-2"])
    assert (found.rtt_ns, found.queueing_ns) == (400_000, 2 * 720_000)


def test_of_equal_ways_the_worst_counts() -> None:
    network = tree(upper_us=(200, 210))
    slow = PortId("a2", 2)
    ports = {**network.ports, slow: replace(network.ports[slow], rate_bps=known(10**8))}
    routes = Routes(replace(network, ports=ports))
    assert routes.next_hops("t1", "t2") == (PortId("t1", 1), PortId("t1", 2))
    way = routes.way("t1", "t2")
    assert way is not None
    assert (way.delay_ns, way.queueing_ns, way.rate_bps) == (420_000, 720_000 + 7_200_000, 10**8)


def test_a_dead_link_moves_the_way_and_two_cut_it() -> None:
    network = tree()
    moved = Routes(without(network, PortId("t1", 1)))
    assert moved.next_hops("t1", "t2") == (PortId("t1", 2),)
    cut = Routes(without(network, PortId("t1", 1), PortId("t1", 2)))
    hosts = network.hosts
    with pytest.raises(Unknown, match="no way from h1-1 at t1 to h2-1 at t2"):
        paths.between(cut, Policy(), hosts["h1-1"], hosts["h2-1"])


def test_directions_count_apart() -> None:
    network = tree(uppers=1, upper_us=(200,))
    up = PortId("t1", 1)
    links = {**network.links, up: replace(network.links[up], delay_ns=known(900_000))}
    ports = {**network.ports, up: replace(network.ports[up], rate_bps=known(10**8))}
    routes = Routes(replace(network, links=links, ports=ports))
    hosts = network.hosts
    there = paths.inputs(routes, Policy(), hosts["h1-1"], hosts["h2-1"])
    back = paths.inputs(routes, Policy(), hosts["h2-1"], hosts["h1-1"])
    assert there.rtt_ns == back.rtt_ns == 200_000 * 2 + 900_000 + 200_000 * 3
    assert (there.rate_bps, back.rate_bps) == (10**8, 10**9)
    assert (there.rate_back_bps, back.rate_back_bps) == (10**9, 10**8)


def test_a_rate_that_nobody_told_is_no_guess() -> None:
    network = tree()
    port = PortId("a1", 2)
    ports = {**network.ports, port: Port(port)}
    routes = Routes(replace(network, ports=ports))
    with pytest.raises(Unknown, match="rate or queue of a1:2 is not known"):
        paths.between(routes, Policy(), network.hosts["h1-1"], network.hosts["h2-1"])
    published = groups.compute(routes, Policy())
    assert any("a1:2" in problem for problem in published.problems)
    assert [route.prefix for route in published.routes["h1-1"]] == ["10.0.1.1/32", "10.0.1.2/32"]


@st.composite
def meshes(draw: st.DrawFn) -> Network:
    """Any graph of a few switches with random delays each direction; a host at each."""
    count = draw(st.integers(2, 6))
    ports, links = {}, {}
    for a, b in itertools.permutations(range(count), 2):
        if draw(st.booleans()):
            source, target = PortId(f"s{a}", b), PortId(f"s{b}", a)
            links[source] = Link(source, target, known(draw(st.integers(1, 500)) * 1000))
            ports[source] = Port(source, "", known(10**9), known(90_000))
    hosts = {}
    for switch in range(count):
        place = PortId(f"s{switch}", 99)
        ports[place] = Port(place, "", known(10**9), known(90_000))
        hosts[f"h{switch}"] = Host(
            f"h{switch}", (ip_address(f"10.0.0.{switch + 1}"),), place, known(1000)
        )
    return Network(ports, links, hosts)


@given(meshes(), st.sampled_from([0, 50_000]))
def test_ways_agree_with_brute_force(network: Network, equal_ns: int) -> None:
    routes = Routes(network, equal_ns)
    switches = sorted({host.port.switch for host in network.hosts.values()})
    edges = {
        (link.source.switch, link.target.switch): link.delay_ns.value
        for link in network.links.values()
    }
    shortest = {(a, b): 0 if a == b else edges.get((a, b)) for a in switches for b in switches}
    for middle, a, b in itertools.product(switches, repeat=3):  # Floyd and Warshall
        legs = shortest[a, middle], shortest[middle, b]
        if None not in legs:
            total = sum(leg for leg in legs if leg is not None)
            best = shortest[a, b]
            shortest[a, b] = total if best is None else min(best, total)
    for (a, b), best in shortest.items():
        way = routes.way(a, b)
        if best is None:
            assert way is None
            continue
        assert way is not None
        hops = len(switches)
        assert best <= way.delay_ns <= best + hops * equal_ns
        path = routes.path(a, b)
        assert path is not None and sum(network.links[hop].delay_ns.value for hop in path) == best
        for egress in routes.next_hops(a, b):  # whichever way is taken, it comes nearer: no loops
            onward = shortest[network.links[egress].target.switch, b]
            assert onward is not None and onward < best


@given(st.data(), st.sampled_from([0, 50_000]))
def test_what_is_repaired_is_what_is_computed_anew(data: st.DataObject, equal_ns: int) -> None:
    """Whatever changes: links, delays, rates, hosts, several times in a row."""
    network = data.draw(meshes())
    routes, policy = Routes(network, equal_ns), Policy()
    told, entries = groups.compute(routes, policy), Forwarding()
    entries.tables(routes, {})
    for _ in range(3):
        after = data.draw(meshes())
        keep = data.draw(st.sets(st.sampled_from(sorted(network.hosts)), min_size=1))
        links = {
            place: link
            for place in network.links.keys() | after.links.keys()
            if (link := data.draw(st.sampled_from([network, network, after])).links.get(place))
        }
        ports = {**network.ports, **after.ports}
        for place in data.draw(st.sets(st.sampled_from(sorted(ports)), max_size=2)):
            ports[place] = replace(ports[place], rate_bps=known(10**8))
        hosts = {name: network.hosts[name] for name in keep}
        network = Network(
            ports, links, hosts | network.hosts if data.draw(st.booleans()) else hosts
        )
        before, routes, anew = routes, Routes(network, equal_ns, routes), Routes(network, equal_ns)
        told, whole = groups.compute(routes, policy, before=told), groups.compute(anew, policy)
        assert (told.routes, set(told.problems)) == (whole.routes, set(whole.problems))
        assert entries.tables(routes, {}) == Forwarding().tables(anew, {})
        for switch, target in itertools.product(sorted({p.switch for p in ports}), repeat=2):
            now = anew.way(switch, target), anew.next_hops(switch, target)
            assert (routes.way(switch, target), routes.next_hops(switch, target)) == now
            if now[0] != before.way(switch, target):
                assert (switch, target) in routes.moved
            if now[1] != before.next_hops(switch, target):
                assert (switch, target) in routes.turned


def fail(network: Network, dead: PortId) -> list[float]:
    """Processor seconds: all of it anew, then a link that fails, and the same link again."""
    entries, publication = Forwarding(), Publication(1)
    routes: Routes | None = None
    told: groups.Published | None = None
    tables: Mapping[str, forwarding.Table] = {}
    spent = []
    for now in (network, without(network, dead, network.links[dead].target), network):
        began = time.process_time()
        routes = Routes(now, before=routes)
        told = groups.compute(routes, Policy(), before=told)
        wanted = entries.tables(routes, tables)
        for switch, table in wanted.items():
            forwarding.changes(tables.get(switch, {}), table)
        publication.update(told.routes)
        tables = wanted
        spent.append(time.process_time() - began)
    assert not told.problems and len(told.routes) == len(network.hosts)
    return spent


@pytest.mark.parametrize("dead", [PortId("e0-0", 1), PortId("a0-0", 5)])
def test_a_failed_link_takes_little_of_what_all_takes(dead: PortId) -> None:
    """The delays of links differ by up to 50 us, so that windows change with the ways."""
    anew, failed, back = fail(fat_tree(k=8, hosts=4, spread_ns=500), dead)
    assert max(failed, back) < anew / 2


@pytest.mark.slow
@pytest.mark.parametrize("dead", [PortId("e0-0", 1), PortId("a0-0", 9)])
def test_a_failed_link_of_a_fat_tree_of_a_thousand_hosts(dead: PortId) -> None:
    network = fat_tree(k=16, hosts=8, spread_ns=500)
    assert len(network.hosts) == 1024
    best = [min(times) for times in zip(*(fail(network, dead) for _ in range(3)), strict=True)]
    print(f"anew {best[0]:.2f} s, {dead} fails {best[1]:.2f} s, is back {best[2]:.2f} s")
    assert max(best[1:]) <= best[0] / 8


def sizes(tables: Mapping[str, forwarding.Table]) -> set[int]:
    return {len(ports) for table in tables.values() for mac, ports in table.items() if mac}


def test_flows_take_all_equal_ways_of_a_fat_tree() -> None:
    """Every upper switch of a pod is used alike, and every core."""
    routes = Routes(fat_tree(k=4, hosts=2))
    tables = Forwarding().tables(routes, {})
    far = routes.network.hosts["h1-0-0"].mac
    assert tables["e0-0"][far] == (1, 2) and tables["a0-0"][far] == (3, 4)
    assert len(tables["c0-0"][far]) == 1
    assert sizes(tables) == {1, 2}
    assert sizes(Forwarding(multipath=False).tables(routes, {})) == {1}


@given(meshes())
def test_a_broadcast_reaches_every_switch_that_can_be_reached_once(network: Network) -> None:
    both = {
        place: link
        for place, link in network.links.items()
        if network.links.get(link.target, link).target == place and link.target in network.links
    }
    trees = flooding(replace(network, links=both))
    for start in trees:
        reached, queue = [start], [(start, PortId("", 0))]
        while queue:
            switch, came_by = queue.pop()
            for place in (PortId(switch, number) for number in trees[switch]):
                if place != came_by:
                    target = both[place].target
                    reached.append(target.switch)
                    queue.append((target.switch, target))
                    assert len(reached) <= len(trees), "a loop"
        linked = {start}
        for _ in trees:
            linked |= {link.target.switch for link in both.values() if link.source.switch in linked}
        assert sorted(reached) == sorted(linked)


@given(
    st.lists(st.integers(0, 255).map(lambda n: f"10.0.0.{n}"), max_size=60),
    st.lists(st.integers(0, 63).map(lambda n: f"fd00::{n:x}"), max_size=20),
)
def test_prefixes_hold_exactly_the_addresses(four: list[str], six: list[str]) -> None:
    addresses = [ip_address(text) for text in (*four, *six)]
    found = [str(prefix) for prefix in merge(Prefix.of(address) for address in addresses)]
    expected: list[str] = []
    for version in (4, 6):
        of_version = sorted({address for address in addresses if address.version == version})
        expected += [str(net) for net in collapse_addresses(of_version)]  # type: ignore[type-var]
    assert found == expected


@pytest.mark.parametrize("spread_ns", [0, 10_000, 60_000])
def test_a_hosts_routes_agree_with_its_pairs(spread_ns: int) -> None:
    """What the longest prefix says of a host is at least what its pair comes to, and at most a tolerance more."""
    network = tree(racks=3, hosts=5, spread_ns=spread_ns)
    routes, policy = Routes(network), Policy()
    published = groups.compute(routes, policy)
    assert not published.problems
    for source, target in itertools.permutations(network.hosts.values(), 2):
        told = _lookup(published.routes[source.name], str(target.addresses[0]))
        exact = paths.between(routes, policy, source, target)
        slack = 4 * groups.ALIKE_NS
        assert exact.published.rto_init_ns <= told.rto_init_us * 1000
        assert told.rto_init_us * 1000 <= exact.published.rto_init_ns + 2 * slack + 1000
        assert (
            exact.published.max_cwnd
            <= told.max_cwnd
            <= exact.published.max_cwnd + slack * 1e9 / 8e9 / 1460 + 1
        )


def _lookup(listed: tuple[Route, ...], address: str) -> Route:
    covering = [route for route in listed if ip_address(address) in ip_network(route.prefix)]
    return max(covering, key=lambda route: ip_network(route.prefix).prefixlen)


def test_a_host_with_a_slow_port_has_a_prefix_of_its_own() -> None:
    network = tree()
    port = network.hosts["h2-2"].port
    ports = {**network.ports, port: replace(network.ports[port], rate_bps=known(10**8))}
    declared = {"t1": [ip_network("10.0.1.0/24")], "t2": [ip_network("10.0.2.0/24")]}
    published = groups.compute(Routes(replace(network, ports=ports)), Policy(), declared)
    windows = {route.prefix: route.max_cwnd for route in published.routes["h1-1"]}
    assert windows == {"10.0.1.0/24": 34, "10.0.2.0/24": 102, "10.0.2.2/32": 10}


def test_a_thousand_hosts_are_computed_within_a_second() -> None:
    network = tree(racks=25, hosts=40, uppers=4, upper_us=(200, 300, 400, 500), spread_ns=900)
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        published = groups.compute(Routes(network), Policy())
        best = min(best, time.process_time() - began)
    assert len(published.routes) == 1000 and not published.problems
    assert best <= 1.0
    told = published.routes["h1-1"]
    assert len(told) == 25 * 7  # 1 to 40 are seven prefixes
    for host in network.hosts.values():
        assert _lookup(told, str(host.addresses[0])).rto_min_us in (1000, 2000)
    racks = {f"t{rack}": [ip_network(f"10.0.{rack}.0/24")] for rack in range(1, 26)}
    assert (
        len(groups.compute(Routes(network), Policy(), racks).routes["h1-1"]) < 25
    )  # and alike neighbours merge


def test_versions_grow_only_with_changes() -> None:
    network = tree()
    publication = Publication(epoch=7)
    first = groups.compute(Routes(network), Policy()).routes
    assert publication.update(first) == set(network.hosts)
    assert publication.update(first) == set()
    moved = groups.compute(Routes(without(network, PortId("t1", 1))), Policy()).routes
    assert publication.update(moved) == set(network.hosts)
    assert publication.documents["h1-1"].id == "7.2"
    gone = without(network, network.hosts["h2-2"].port)
    publication.update(groups.compute(Routes(gone), Policy()).routes)
    assert publication.documents["h2-2"].routes == ()
    assert publication.documents["h2-2"].version == 3


def test_an_explanation_holds_path_sources_equations_and_cuts() -> None:
    routes = Routes(tree(upper_us=(200, 210)))
    hosts = routes.network.hosts
    found = explain.pair(routes, Policy(), hosts["h1-1"], hosts["h2-1"], now=12.0)
    lines = "\n".join(explain.text(found))
    assert "t1:1 > a1:1" in lines and "one of 2 equal ways" in lines
    assert "topology file, 12 s ago" in lines
    assert found["inputs"]["rtt_us"] == 1240.0
    assert "1240.0 us x 1000 Mb/s / 1460 B = 106" in lines
    assert found["published"]["rto_min_us"] == 2000
    assert "served to h1-1: nothing for this destination" in lines


def test_an_explanation_prints_what_was_served() -> None:
    """h2-1 is told with h2-2, which is 40 us farther away."""
    network = tree(spread_ns=40_000)
    routes, policy = Routes(network), Policy()
    publication = Publication(1)
    publication.update(groups.compute(routes, policy).routes)
    view = View(network, routes, policy, publication.documents, (), True)
    found = explain.pair(routes, policy, network.hosts["h1-1"], network.hosts["h2-1"], now=0.0)
    lines = list(explain.text(found | {"route": views.route_of(view, "h1-1", "h2-1")}))
    served = publication.documents["h1-1"].routes[-1]
    assert found["published"]["max_cwnd"] == 116 and served.max_cwnd == 130
    assert "served to h1-1 for 10.0.2.1/32 (version 1):" in "\n".join(lines)
    assert "  max_cwnd      130   (this pair alone: 116)" in lines
