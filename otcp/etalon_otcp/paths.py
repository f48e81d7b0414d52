# SPDX-License-Identifier: MIT OR Apache-2.0
"""From host to host: the inputs of the equations, with the ports to the hosts, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from etalon.plan.otcp import bounds as limits
from etalon.plan.otcp import equations
from etalon.plan.otcp.bounds import Bounds, Cut
from etalon.plan.otcp.equations import Parameters, PathInputs
from etalon_otcp.network import Host, PortId
from etalon_otcp.routes import Routes, Way


@dataclass(frozen=True)
class Policy:
    """What an operator decides: flows that share a path (equation 5's alpha), segment size in bytes, bounds.

    `flows` are counted flows by egress port; where they are known they take alpha's place.
    """

    alpha: int = equations.ALPHA
    mss: int = equations.MSS
    bounds: Bounds = field(default_factory=Bounds)
    flows: Mapping[PortId, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a path comes to: inputs, what the equations say, what is published, and what bounds cut."""

    inputs: PathInputs
    computed: Parameters
    published: Parameters
    cuts: tuple[Cut, ...]


class Unknown(Exception):
    """There is no answer for a pair of hosts; the message says why."""


@dataclass(frozen=True, slots=True)
class _OneWay:
    """From a host into another: delay, queueing in switches, the slowest link, flows that share it."""

    delay_ns: int
    queueing_ns: int
    rate_bps: int
    alpha: int


def between(routes: Routes, policy: Policy, source: Host, target: Host) -> Answer:
    """The parameters of the path from `source` to `target`.

    Raises:
        Unknown: without a way, or with a rate or queue on it that nobody told.
    """
    return solve(inputs(routes, policy, source, target), policy)


def solve(found: PathInputs, policy: Policy) -> Answer:
    """The equations and the bounds."""
    computed = equations.compute(found, policy.mss)
    published, cuts = limits.apply(computed, policy.bounds)
    return Answer(found, computed, published, tuple(cuts))


def inputs(routes: Routes, policy: Policy, source: Host, target: Host) -> PathInputs:
    """What the equations take, for a pair of hosts. Raises `Unknown`."""
    there = _one_way(routes, policy, source, target)
    back = _one_way(routes, policy, target, source)
    return PathInputs(
        rtt_ns=there.delay_ns + back.delay_ns,
        queueing_ns=there.queueing_ns + back.queueing_ns,
        rate_bps=there.rate_bps,
        rate_back_bps=back.rate_bps,
        alpha=there.alpha,
        alpha_back=back.alpha,
    )


def _one_way(routes: Routes, policy: Policy, source: Host, target: Host) -> _OneWay:
    way = routes.way(source.port.switch, target.port.switch)
    if way is None:
        raise Unknown(
            f"there is no way from {source.name} at {source.port.switch} to {target.name} at {target.port.switch}"
        )
    first, last = routes.network.ports[source.port], routes.network.ports[target.port]
    missing = [*sorted(way.unknown), *(() if last.drain_ns is not None else (target.port,))]
    if first.rate_bps is None:
        missing.append(source.port)
    if missing:
        named = ", ".join(map(str, missing))
        raise Unknown(f"rate or queue of {named} is not known; write it in the topology file")
    assert first.rate_bps and last.rate_bps and last.drain_ns is not None
    rates = [first.rate_bps.value, last.rate_bps.value]
    return _OneWay(
        delay_ns=source.delay_ns.value + way.delay_ns + target.delay_ns.value,
        queueing_ns=way.queueing_ns + last.drain_ns,
        rate_bps=min(rates if way.rate_bps is None else [*rates, way.rate_bps]),
        alpha=_alpha(routes, policy, source, target, way),
    )


def _alpha(routes: Routes, policy: Policy, source: Host, target: Host, way: Way) -> int:
    """The most flows at an egress port of the shortest way, where flows are counted; else the operator's alpha."""
    if not policy.flows:
        return policy.alpha
    path = routes.path(source.port.switch, target.port.switch) or []
    return max(1, *(policy.flows.get(port, 1) for port in (*path, target.port)))
