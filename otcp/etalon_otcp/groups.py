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


@dataclass(frozen=True)
class Published:
    """Routes by host, and why pairs of hosts have none (one sentence each)."""

    routes: Mapping[str, tuple[Route, ...]]
    problems: tuple[str, ...]


def compute(
    routes: Routes,
    policy: Policy,
    declared: Mapping[str, Sequence[Subnet]] | None = None,
    alike_ns: int = ALIKE_NS,
) -> Published:
    """What each host is told. `declared` are the prefixes that belong to a switch's hosts, by switch.

    They may not overlap. Without them prefixes hold exactly the addresses of known hosts.
    """
    found = groups(routes.network, declared or {}, alike_ns)
    told: dict[str, tuple[Route, ...]] = {}
    problems: dict[str, None] = {}
    for source in found:
        by_parameters: dict[Parameters, list[Prefix]] = defaultdict(list)
        for target in found:
            if source is target and len(source.hosts) == 1:
                continue
            try:
                answer = paths.between(routes, policy, source.worst, target.worst)
            except Unknown as reason:
                problems[str(reason)] = None
                continue
            by_parameters[_key(answer.published)] += target.prefixes
        listed = _routes(by_parameters)
        if len(listed) > MOST_ROUTES:
            problems[
                f"{source.hosts[0].name} would be told {len(listed)} prefixes, and a document holds {MOST_ROUTES}: "
                "give the switches' prefixes in the topology file"
            ] = None
            listed = ()
        told.update((host.name, listed) for host in source.hosts)
    return Published(told, tuple(problems))


def _key(parameters: Parameters) -> Parameters:
    """What the protocol carries of the parameters: RTOmax serves RTOinit only."""
    return replace(parameters, rto_max_ns=0)


def _routes(by_parameters: Mapping[Parameters, Iterable[Prefix]]) -> tuple[Route, ...]:
    listed = [
        Route.of(str(prefix), parameters)
        for parameters, prefixes in by_parameters.items()
        for prefix in merge(prefixes)
    ]
    return tuple(sorted(listed, key=lambda route: route.prefix))


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
