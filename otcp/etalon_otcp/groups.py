# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hosts that are told the same: those of a switch with ports alike and delays alike, so that parameters go by prefix.

A thousand hosts are a million pairs, but only a few dozen groups. For a group the longest delay of its hosts counts,
which is longer than any other's by a tolerance at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from etalon.plan.otcp.equations import Parameters
from etalon_otcp import paths
from etalon_otcp.network import Host, Network
from etalon_otcp.paths import Policy, Unknown
from etalon_otcp.prefixes import Prefix, Subnet, merge
from etalon_otcp.publication import MOST_ROUTES, Route
from etalon_otcp.routes import Routes

ALIKE_NS = 50_000
"""Delays of a switch's hosts that differ by no more are one: twice what a measurement errs by."""


@dataclass(frozen=True)
class Group:
    """Hosts of a switch that are told the same; `worst` is the one with the longest delay."""

    hosts: tuple[Host, ...]
    worst: Host
    prefixes: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """What a group's hosts are told: an answer, or why there is none, for each group; by parameters, the groups and routes."""

    answers: Mapping[int, Parameters | str]
    parts: Mapping[Parameters, tuple[tuple[int, ...], tuple[Route, ...]]]
    listed: tuple[Route, ...]


@dataclass(frozen=True)
class Published:
    """Routes by host, and why pairs of hosts have none (one sentence each)."""

    routes: Mapping[str, tuple[Route, ...]]
    problems: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    _signature: tuple[object, ...] = ()
    _rows: tuple[_Row, ...] = ()


def compute(
    routes: Routes,
    policy: Policy,
    declared: Mapping[str, Sequence[Subnet]] | None = None,
    alike_ns: int = ALIKE_NS,
    before: Published | None = None,
) -> Published:
    """What each host is told. `declared` are the prefixes that belong to a switch's hosts, by switch.

    They may not overlap. Without them prefixes hold exactly the addresses of known hosts. `before` is what was computed
    from the routes that `routes` were made from: only pairs whose way has moved are computed again.
    """
    found = groups(routes.network, declared or {}, alike_ns)
    signature = (policy, *(_signature(group, routes.network) for group in found))
    known = before._rows if before and before._signature == signature else None
    moved = _moved(found, routes) if known else {}
    told: dict[str, tuple[Route, ...]] = {}
    problems: dict[str, None] = {}
    rows: list[_Row] = []
    for index, source in enumerate(found):
        row = (
            known[index]
            if known is not None and index not in moved
            else _row(routes, policy, found, index, moved.get(index), known)
        )
        rows.append(row)
        problems.update((text, None) for text in row.answers.values() if isinstance(text, str))
        listed = row.listed
        if len(listed) > MOST_ROUTES:
            problems[
                f"{source.hosts[0].name} would be told {len(listed)} prefixes, and a document holds {MOST_ROUTES}: "
                "give the switches' prefixes in the topology file"
            ] = None
            listed = ()
        told.update((host.name, listed) for host in source.hosts)
    return Published(told, tuple(problems), tuple(found), signature, tuple(rows))


def _signature(group: Group, network: Network) -> tuple[object, ...]:
    """All that answers depend on, but for the ways between switches."""
    port = network.ports[group.worst.port]
    names = tuple((host.name, host.port) for host in group.hosts)
    rate, delay = port.rate_bps, group.worst.delay_ns.value
    return names, group.prefixes, delay, rate.value if rate else None, port.drain_ns


def _moved(found: Sequence[Group], routes: Routes) -> dict[int, set[int]]:
    """For each group the groups to or from which the way has moved."""
    at: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(found):
        at[group.worst.port.switch].append(index)
    moved: dict[int, set[int]] = defaultdict(set)
    for switch, target in routes.moved:
        for one in at.get(switch, ()):
            for other in at.get(target, ()):
                moved[one].add(other)
                moved[other].add(one)
    return moved


def _row(
    routes: Routes,
    policy: Policy,
    found: Sequence[Group],
    index: int,
    moved: Iterable[int] | None,
    known: Sequence[_Row] | None,
) -> _Row:
    """A group's row: all of it, or what has moved since it was known."""
    answers = dict(known[index].answers) if known else {}
    for target in moved if moved is not None else range(len(found)):
        if target != index or len(found[index].hosts) > 1:
            answers[target] = _answer(routes, policy, found[index].worst, found[target].worst)
    if known and answers == known[index].answers:
        return known[index]
    by_parameters: dict[Parameters, list[int]] = defaultdict(list)
    for target, answer in sorted(answers.items()):
        if not isinstance(answer, str):
            by_parameters[answer].append(target)
    old = known[index].parts if known else {}
    parts = {}
    for parameters, targets in by_parameters.items():
        part = old.get(parameters)
        if part is None or part[0] != tuple(targets):
            prefixes = merge(prefix for target in targets for prefix in found[target].prefixes)
            part = (
                tuple(targets),
                tuple(Route.of(str(prefix), parameters) for prefix in prefixes),
            )
        parts[parameters] = part
    listed = [route for _, part in parts.values() for route in part]
    return _Row(answers, parts, tuple(sorted(listed, key=lambda route: route.prefix)))


def _answer(routes: Routes, policy: Policy, source: Host, target: Host) -> Parameters | str:
    """What the protocol carries of a pair's parameters (RTOmax serves RTOinit only), or why there are none."""
    try:
        return replace(paths.between(routes, policy, source, target).published, rto_max_ns=0)
    except Unknown as reason:
        return str(reason)


def groups(
    network: Network, declared: Mapping[str, Sequence[Subnet]], alike_ns: int = ALIKE_NS
) -> list[Group]:
    """The groups of all hosts, in an order that depends on names only."""
    by_port: dict[tuple[str, int, int], list[Host]] = defaultdict(list)
    for _, host in sorted(network.hosts.items()):
        port = network.ports[host.port]
        rate, queue = port.rate_bps, port.queue_bytes
        kind = (host.port.switch, rate.value if rate else 0, queue.value if queue else 0)
        by_port[kind].append(host)
    of_switch: dict[str, list[list[Host]]] = defaultdict(list)
    for (switch, _, _), hosts in sorted(by_port.items()):
        of_switch[switch] += _alike(hosts, alike_ns)
    found: list[Group] = []
    for switch, parts in of_switch.items():
        largest = max(parts, key=lambda part: (len(part), _rate(network, part)))
        for part in parts:
            extra = declared.get(switch, ()) if part is largest else ()
            found.append(_group(part, extra))
    return found


def _rate(network: Network, hosts: list[Host]) -> int:
    rate = network.ports[hosts[0].port].rate_bps
    return rate.value if rate else 0


def _alike(hosts: list[Host], alike_ns: int) -> list[list[Host]]:
    """Runs of hosts, by delay, none of which is wider than the tolerance."""
    parts: list[list[Host]] = []
    for host in sorted(hosts, key=lambda host: (host.delay_ns.value, host.name)):
        if parts and host.delay_ns.value - parts[-1][0].delay_ns.value <= alike_ns:
            parts[-1].append(host)
        else:
            parts.append([host])
    return parts


def _group(hosts: list[Host], declared: Iterable[Subnet]) -> Group:
    exact = (Prefix.of(address) for host in hosts for address in host.addresses)
    prefixes = merge([*exact, *map(Prefix.of, declared)])
    return Group(tuple(hosts), hosts[-1], tuple(prefixes))
