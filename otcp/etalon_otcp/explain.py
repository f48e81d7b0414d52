# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why a host is told what it is told: path, inputs with source and age, equations, results, what bounds cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from etalon_otcp import paths
from etalon_otcp.network import Host, Known, Network, PortId
from etalon_otcp.paths import Answer, Policy
from etalon_otcp.routes import Routes

Json = dict[str, Any]


def pair(routes: Routes, policy: Policy, source: Host, target: Host, now: float) -> Json:
    """The explanation as a JSON object: times in us, windows in segments, ages in seconds.

    Raises:
        Unknown: if there are no parameters for this pair.
    """
    answer = paths.between(routes, policy, source, target)
    return {
        "from": source.name,
        "to": target.name,
        "path": _way(routes, source, target, now),
        "path_back": _way(routes, target, source, now),
        "inputs": {
            "rtt_us": answer.inputs.rtt_ns / 1e3,
            "queueing_us": answer.inputs.queueing_ns / 1e3,
            "rate_bps": answer.inputs.rate_bps,
            "rate_back_bps": answer.inputs.rate_back_bps,
            "alpha": answer.inputs.alpha,
            "alpha_source": "counted flows" if policy.flows else "by hand",
            "mss_bytes": policy.mss,
        },
        "equations": _equations(answer, policy.mss),
        "computed": _parameters(answer, published=False),
        "published": _parameters(answer, published=True),
        "cuts": [
            {
                "parameter": cut.parameter,
                "computed": cut.computed,
                "bounded": cut.bounded,
                "bound": cut.bound,
                "unit": "ns" if cut.parameter.startswith("rto") else "segments",
            }
            for cut in answer.cuts
        ],
    }


def _way(routes: Routes, source: Host, target: Host, now: float) -> list[Json]:
    """Each link of the shortest way, with the delay and the egress that it starts at."""
    network = routes.network
    hops = [
        {
            "link": f"{source.name} > {source.port}",
            "delay": _known(source.delay_ns, now, _us),
            "rate": _known(network.ports[source.port].rate_bps, now, int),
            "queue": None,
            "equal_ways": 1,
        }
    ]
    for egress in routes.path(source.port.switch, target.port.switch) or []:
        link = network.links[egress]
        hops.append(_egress(network, egress, str(link.target), link.delay_ns, now))
        hops[-1]["equal_ways"] = len(routes.next_hops(egress.switch, target.port.switch))
    hops.append(_egress(network, target.port, target.name, target.delay_ns, now))
    return hops


def _egress(network: Network, egress: PortId, to: str, delay: Known, now: float) -> Json:
    port = network.ports[egress]
    return {
        "link": f"{egress} > {to}",
        "delay": _known(delay, now, _us),
        "rate": _known(port.rate_bps, now, int),
        "queue": _known(port.queue_bytes, now, int),
        "equal_ways": 1,
    }


def _us(ns: int) -> float:
    return ns / 1e3


def _known(known: Known | None, now: float, shown: Callable[[int], float]) -> Json | None:
    if known is None:
        return None
    return {
        "value": shown(known.value),
        "source": str(known.source),
        "age_s": round(max(0.0, now - known.at), 1),
    }


def _equations(answer: Answer, mss: int) -> list[str]:
    given, found = answer.inputs, answer.computed
    rtt, queueing = given.rtt_ns / 1e3, given.queueing_ns / 1e3
    longest, initial = found.rto_max_ns / 1e3, found.rto_init_ns / 1e3
    rate, back = given.rate_bps / 1e6, given.rate_back_bps / 1e6
    return [
        f"RTOmin = RTT, rounded up to 1 ms: {rtt:.1f} us -> {found.rto_min_ns / 1e6:.0f} ms",
        f"RTOmax = RTT + full queues there and back: {rtt:.1f} + {queueing:.1f} = {longest:.1f} us",
        f"RTOinit = 2 x RTOmax: {initial:.1f} us",
        f"CWNDmax = RTT x rate / MSS: {rtt:.1f} us x {rate:g} Mb/s / {mss} B = {found.max_cwnd}",
        f"IW = CWNDmax / alpha, rounded up, at least 1: {found.max_cwnd} / {given.alpha} -> {found.initial_cwnd}",
        f"receive window = CWNDmax back ({back:g} Mb/s), at least 10: {found.initial_rwnd}",
    ]


def _parameters(answer: Answer, published: bool) -> Json:
    found = answer.published if published else answer.computed
    return {
        "rto_min_us": found.rto_min_ns / 1e3,
        "rto_max_us": found.rto_max_ns / 1e3,
        "rto_init_us": found.rto_init_ns / 1e3,
        "max_cwnd": found.max_cwnd,
        "initial_cwnd": found.initial_cwnd,
        "initial_rwnd": found.initial_rwnd,
    }


def text(explanation: Json) -> Iterator[str]:
    """The explanation for people, line by line."""
    yield f"{explanation['from']} to {explanation['to']}"
    for name, key in (("forward path", "path"), ("return path", "path_back")):
        yield f"\n{name}:"
        for hop in explanation[key]:
            yield f"  {hop['link']:<24}{_shown(hop['delay'], 'us')}"
            yield f"  {'':<24}rate {_shown(hop['rate'], 'Mb/s', 1e6)}"
            if hop["queue"]:
                yield f"  {'':<24}queue {_shown(hop['queue'], 'B')}"
            if hop["equal_ways"] > 1:
                yield f"  {'':<24}one of {hop['equal_ways']} equal ways; the worst of them counts"
    yield "\nequations:"
    yield from (f"  {line}" for line in explanation["equations"])
    yield from _served(explanation)
    if explanation["cuts"]:
        yield "\ncut by bounds:"
    for cut in explanation["cuts"]:
        yield f"  {cut['parameter']}: {cut['computed']} -> {cut['bounded']} {cut['unit']} ({cut['bound']})"


def _plain(value: float) -> str:
    """All digits of a whole number, six of another."""
    return str(int(value)) if value == int(value) else f"{value:g}"


def _served(explanation: Json) -> Iterator[str]:
    """What the host was told, beside what this pair alone comes to: a prefix's hosts share the worst of theirs."""
    pair, served = explanation["published"], explanation.get("route")
    if served is None:
        yield f"\nserved to {explanation['from']}: nothing for this destination"
        served = {}
    else:
        yield f"\nserved to {explanation['from']} for {served['prefix']} (version {served['version']}):"
    shared = False
    for name, value in pair.items():
        if name == "rto_max_us":
            continue
        told = served.get(name)
        alone = -(-value // 1)  # the protocol has whole us
        other = "" if told in (None, alone) else f"   (this pair alone: {_plain(value)})"
        shared |= bool(other)
        yield f"  {name:<14}{_plain(value if told is None else told)}{other}"
    if shared:
        yield "  hosts that share a prefix get the worst of their values (network.alike)"


def _shown(known: Json | None, unit: str, of: float = 1.0) -> str:
    if known is None:
        return "not known"
    return f"{known['value'] / of:g} {unit} ({known['source']}, {known['age_s']:g} s ago)"
