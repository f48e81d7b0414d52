# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans that nobody chose: this file is the distribution that `etalon validate --random` draws from.

Plan i of a seed depends on the seed and on i alone, so more plans of a seed begin with the same ones. Transports take turns;
all else is drawn. A plan is bound by its packets: sizes and durations are such that it offers about `PACKETS` data packets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from etalon import engine as engines
from etalon.errors import PlanError
from etalon.plan import Plan

PACKETS = 100_000
"""Data packets that a plan offers, about, or at most."""
LEAST_MS, MOST_MS = 40, 1000
"""Bounds of the duration of a plan whose flows do not end."""
PERIOD_MS = 4
"""In which flows that begin at random do so, at least."""

TRANSPORTS = ("tcp", "tdtcp", "mptcp")
NETWORKS = {"rdcn": 5, "dumbbell": 1, "tree": 2, "leaf-spine": 2}
"""With their weights, for TCP; the other transports need a network with circuits."""
SCHEDULES = {"strobe": 5, "tournament": 3, "mimic": 2}
CONTROLS = ("cubic", "reno", "dctcp", "scalable", "retcp")
DILATIONS = (1, 2, 5, 10, 20)
MTUS = (1500, 9000)
OPTIONS_AND_HEADERS = 52
"""Of IPv4 and TCP with timestamps, in bytes."""


@dataclass(frozen=True)
class Drawn:
    """A plan, and what tells it from the others."""

    number: int
    plan: Plan
    traits: tuple[tuple[str, str], ...]
    """Names and values, by which plans that differ are put together."""

    @property
    def transport(self) -> str:
        """What carries its flows."""
        return dict(self.traits)["transport"]


def draw(count: int, seed: int) -> Iterator[Drawn]:
    """The first `count` plans of a seed."""
    for number in range(count):
        yield _drawn(number, random.Random(f"etalon {seed} {number}"))


def _drawn(number: int, rng: random.Random) -> Drawn:
    """A plan that both engines take; what one of them refuses is drawn again."""
    transport = TRANSPORTS[number % len(TRANSPORTS)]
    while True:
        values, traits = _experiment(number, rng, transport)
        try:
            plan = Plan.from_dict(values)
            if not any(engines.named(name).problems(plan) for name in ("sim", "linux")):
                return Drawn(number, plan, tuple(traits.items()))
        except PlanError:
            continue


def _experiment(
    number: int, rng: random.Random, transport: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """A plan's keys, and its traits."""
    kind = "rdcn" if transport != "tcp" else _weighted(rng, NETWORKS)
    mtu, tdf, cc = rng.choice(MTUS), rng.choice(DILATIONS), rng.choice(CONTROLS)
    flows = {"cc": cc, "transport": transport}
    net = _NETWORKS[kind](rng, mtu, cc)
    name = rng.choice(tuple(_WORKLOADS))
    work = _WORKLOADS[name](rng, net, flows)
    values = {
        "name": f"random-{number}",
        "seed": rng.randrange(1, 10_000),
        "tdf": tdf,
        "network": net.values,
        **net.beside,
        **work,
    }
    queue = net.queue
    traits = {
        "transport": transport, "network": kind, "schedule": net.schedule, "workload": name, "control": cc,
        "tdf": str(tdf), "mtu": str(mtu),
        "queue": "queue < 16" if queue < 16 else "queue < 64" if queue < 64 else "queue >= 64",
    }  # fmt: skip
    return values, traits


@dataclass(frozen=True)
class _Net:
    """A network, and what its workloads must know of it."""

    values: dict[str, Any]
    racks: int
    hosts: int
    rate: float
    """Between two racks, about, in Gb/s."""
    queue: int
    beside: dict[str, Any]
    """Tables beside `[network]`."""
    schedule: str = "none"

    @property
    def payload(self) -> int:
        """Bytes that a plan may offer."""
        return PACKETS * (int(self.values["mtu"]) - OPTIONS_AND_HEADERS)


def _rdcn(rng: random.Random, mtu: int, cc: str) -> _Net:
    rule = _weighted(rng, SCHEDULES)
    racks = 3 if rule == "mimic" else rng.choice((4, 6, 8)) if rule == "tournament" else 0
    racks = racks or rng.randint(3, 8)
    queue, day = round(_log(rng, 4, 256)), round(_log(rng, 20, 1000))
    packet, circuit = _log(rng, 1, 40), _log(rng, 10, 400)
    voq: dict[str, Any] = {"packets": queue}
    if rng.random() < 0.3:
        before = min(round(_log(rng, 20, 1000)), day)
        voq["resize"] = {"packets": queue * rng.randint(2, 4), "before": f"{before}us"}
    values: dict[str, Any] = {
        "racks": racks,
        "hosts": rng.choice((1, 2, 4, 8, 16)),
        "mtu": mtu,
        "packet": {"rate": _gbps(packet), "delay": _us(rng, 1, 50)},
        "circuit": {"rate": _gbps(circuit), "delay": _us(rng, 1, 50)},
        "voq": voq,
        "host": {"rate": _gbps(rng.choice((10, 40, 100)))},
    }
    if cc == "dctcp":
        values["marking"] = {"threshold": max(queue // 3, 1), "threshold_big": max(queue // 2, 1)}
    if cc == "retcp":
        values["ece"] = {"before": f"{rng.choice((0, day // 2, day))}us"}
    night = max(round(day * rng.uniform(0.02, 0.2)), 1)
    schedule: dict[str, Any] = {"kind": "strobe" if rule == "mimic" else rule}
    if rule == "mimic":
        schedule["mimic"] = 25
    schedule |= {"day": f"{day}us", "night": f"{night}us"}
    meets = 24 if rule == "mimic" else racks - 1
    rate = packet + circuit * day / (day + night) / meets
    return _Net(values, racks, values["hosts"], rate, queue, {"schedule": schedule}, rule)


def _dumbbell(rng: random.Random, mtu: int, cc: str) -> _Net:
    queue, rate = round(_log(rng, 4, 256)), _log(rng, 1, 40)
    hosts = rng.choice((1, 2, 4, 8, 16))
    path = [{"rate": _gbps(rate), "queue": queue, "delay": _us(rng, 5, 500)}]
    values = {"kind": "dumbbell", "hosts": hosts, "mtu": mtu, "path": path}
    return _Net(values, 2, hosts, rate, queue, {})


def _tree(rng: random.Random, mtu: int, cc: str) -> _Net:
    racks, hosts = rng.choice((4, 6, 8)), rng.choice((1, 2, 4, 8))
    queue, rates = round(_log(rng, 4, 256)), [_log(rng, 1, 40) for _ in range(3)]
    layers = {
        name: _layer(rng, rate, queue, cc)
        for name, rate in zip(("rack", "pod", "core"), rates, strict=True)
    }
    values = {"kind": "tree", "pods": 2, "racks": racks, "hosts": hosts, "mtu": mtu, **layers}
    return _Net(values, racks, hosts, min(rates[0] * hosts, rates[1]), queue, {})


def _leaf_spine(rng: random.Random, mtu: int, cc: str) -> _Net:
    racks, hosts, spines = rng.randint(3, 8), rng.choice((1, 2, 4, 8)), rng.randint(1, 4)
    queue, low, high = round(_log(rng, 4, 256)), _log(rng, 1, 40), _log(rng, 1, 40)
    spine = {**_layer(rng, high, queue, cc), "switches": spines}
    values = {
        "kind": "leaf-spine", "racks": racks, "hosts": hosts, "mtu": mtu,
        "rack": _layer(rng, low, queue, cc), "spine": spine,
    }  # fmt: skip
    return _Net(values, racks, hosts, min(low * hosts, high * spines), queue, {})


def _layer(rng: random.Random, rate: float, queue: int, cc: str) -> dict[str, Any]:
    values: dict[str, Any] = {"rate": _gbps(rate), "delay": _us(rng, 1, 100), "queue": queue}
    return {**values, "ecn_threshold": max(queue // 3, 1)} if cc == "dctcp" else values


_NETWORKS: dict[str, Callable[[random.Random, int, str], _Net]] = {
    "rdcn": _rdcn,
    "dumbbell": _dumbbell,
    "tree": _tree,
    "leaf-spine": _leaf_spine,
}


def _bulk(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    number = rng.randint(1, 2 * net.hosts)
    return {"bulk": [{"from": 0, "to": 1, "flows": number, **flows}], **_endless(net)}


def _mixed(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    """Two controls beside each other."""
    other = {**flows, "cc": rng.choice([cc for cc in CONTROLS[:4] if cc != flows["cc"]])}
    number = rng.randint(1, net.hosts)
    ends = {"from": 0, "to": 1, "flows": number}
    return {"bulk": [{**ends, **flows}, {**ends, **other}], **_endless(net)}


def _flow(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    """Some flows of one size, each at its own time, from rack 0 to rack 1."""
    number = rng.randint(1, 16)
    size = _size(rng, net, number)
    rows = [
        {
            "from": f"r0h{rng.randrange(net.hosts)}",
            "to": f"r1h{rng.randrange(net.hosts)}",
            "size": size,
            "start": f"{rng.randint(0, 10_000)}us",
            **flows,
        }
        for _ in range(number)
    ]
    return {"flow": rows, **_finite()}


def _shuffle(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    hosts = rng.randint(1, min(net.hosts, 4))
    number = net.racks * (net.racks - 1) * hosts * hosts
    return {
        "shuffle": [{"size": _size(rng, net, number), "hosts": hosts, **flows}],
        **_finite(),
    }


def _permutation(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    size = _size(rng, net, net.racks * net.hosts)
    return {"permutation": [{"size": size, **flows}], **_finite()}


def _incast(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    senders = rng.randint(1, min((net.racks - 1) * net.hosts, 40))
    rounds = rng.choice((1, 5, 20))
    size = _size(rng, net, senders * rounds, most=1e6)
    values = {"to": "r1h0", "senders": senders, "rounds": rounds, "size": size}
    return {"incast": [{**values, **flows}], **_finite()}


def _poisson(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    load, sizes = rng.uniform(0.1, 0.6), rng.choice(("websearch", "datamining"))
    period = _milliseconds(net.payload * 8 / (net.rate * 1e9 * load * net.racks), PERIOD_MS)
    values = {"sizes": sizes, "load": round(load, 3), "of": _gbps(net.rate)}
    return {
        "poisson": [{**values, "period": f"{period}ms", **flows}],
        **_finite(max(min(2 * period, MOST_MS), LEAST_MS)),
    }


def _rings(rng: random.Random, net: _Net, flows: dict[str, Any]) -> dict[str, Any]:
    """Big flows between neighbours among small ones, as in Etalon'18, with sizes that fit the plan's packets."""
    period = _milliseconds(net.payload * 8 / (net.rate * 1e9 * 0.5 * net.racks), PERIOD_MS)
    values = {
        "rings": 1,
        "big": {"least": "1MB", "most": "9MB"},
        "small": {"least": "10kB", "most": "300kB"},
        "big_rate": _gbps(0.35 * net.rate),
        "small_rate": _gbps(0.15 * net.rate),
        "period": f"{period}ms",
        "limit": "2s",
    }
    return {"rings": [{**values, **flows}], **_finite(max(min(2 * period, MOST_MS), LEAST_MS))}


_WORKLOADS: dict[str, Callable[[random.Random, _Net, dict[str, Any]], dict[str, Any]]] = {
    "bulk": _bulk,
    "two controls": _mixed,
    "flow": _flow,
    "shuffle": _shuffle,
    "permutation": _permutation,
    "incast": _incast,
    "poisson": _poisson,
    "rings": _rings,
}


def _endless(net: _Net) -> dict[str, Any]:
    duration = _milliseconds(net.payload * 8 / (net.rate * 1e9))
    return {"duration": f"{duration}ms", "warmup": f"{duration // 5}ms"}


def _finite(duration_ms: int = MOST_MS) -> dict[str, Any]:
    return {"duration": f"{duration_ms}ms", "warmup": "0ms", "end_when_done": True}


def _milliseconds(seconds: float, least: int = LEAST_MS) -> int:
    return round(min(max(1000 * seconds, least), MOST_MS))


def _size(rng: random.Random, net: _Net, flows: int, most: float = 1e7) -> str:
    """Of each of so many flows."""
    size = _log(rng, 5e3, min(most, max(net.payload / flows, 1e4)))
    return f"{round(size)}B"


def _log(rng: random.Random, least: float, most: float) -> float:
    """Evenly in the logarithm."""
    return float(least * (most / least) ** rng.random())


def _gbps(rate: float) -> str:
    return f"{max(round(1000 * rate), 1)}Mbps"


def _us(rng: random.Random, least: int, most: int) -> str:
    return f"{round(_log(rng, least, most))}us"


def _weighted(rng: random.Random, weights: dict[str, int]) -> str:
    return rng.choices(tuple(weights), tuple(weights.values()))[0]
