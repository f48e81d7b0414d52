# SPDX-License-Identifier: MIT OR Apache-2.0
"""What both engines run: NSDI'20's network with every congestion control that both engines have, dilated and not, beside
each other and with flows that end; SIGCOMM'22's with what is told of its networks; and a dumbbell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from etalon import api
from etalon.controls import controls
from etalon.plan import Plan
from etalon.validation.quantities import COMPLETION, SHARE, VOQ, Quantity, rates

WEEK_US = 4800
"""24 days of 180 us with nights of 20 us."""
WEEKS = 1000
"""Measured; ten more are warm-up."""
BIG = 50
"""Packets in a grown VOQ (NSDI'20 section 5.2)."""


@dataclass(frozen=True)
class Section:
    """Experiments of which the same is compared: one table."""

    title: str
    quantities: tuple[Quantity, ...]
    drawn: bool = True
    """Whether the page shows their sequence and cwnd over time."""


DILATED = Section("A network 20 times slower than its hosts, as on the papers' testbeds", rates(5))
UNDILATED = Section("Less dilation, or none", rates(3), drawn=False)
DIVISION = Section("Time-division networks", (*rates(5), VOQ))
MIXED = Section("Two congestion controls, eight flows each", (*rates(5), SHARE), drawn=False)
FINITE = Section("Completion times", COMPLETION, drawn=False)


@dataclass(frozen=True)
class Experiment:
    """One row of a table."""

    name: str
    plan: Plan
    section: Section = DILATED
    over: str = ""
    """The experiment than which it is faster, if that is compared."""


def _rdcn(
    cc: str, name: str, voq: dict[str, Any], section: Section = DILATED, **more: Any
) -> Experiment:
    """Sixteen flows of NSDI'20 sections 4.4 and 4.5: three racks that stand for 25."""
    return Experiment(f"{cc}, {name}", _nsdi20([api.bulk(0, 1, cc=cc)], voq, **more), section)


def _nsdi20(
    flows: list[Any], voq: dict[str, Any], tdf: int = 20, hz: int = 250, **network: Any
) -> Plan:
    if any(flow.cc == "dctcp" for flow in flows):
        network["marking"] = {"threshold": 10, "threshold_big": 31}
    net = api.network(racks=3, hosts=16, voq=voq, **network)
    return api.experiment(
        net,
        api.strobe(net, mimic=25),
        *flows,
        name="validation",
        duration=f"{(WEEKS + 10) * WEEK_US}us",
        warmup=f"{10 * WEEK_US}us",
        tdf=tdf,
        tcp={"hz": hz},
    )


def _static(cc: str, packets: int, name: str = "", **more: Any) -> Experiment:
    return _rdcn(cc, f"static {packets}{name}", {"packets": packets}, **more)


def _resize(cc: str, tau_us: int, name: str = "", **more: Any) -> Experiment:
    if cc == "retcp":
        more["ece"] = {"before": f"{tau_us}us"}
    return _rdcn(cc, f"tau {tau_us}{name}", _growing(tau_us), **more)


def _growing(tau_us: int) -> dict[str, Any]:
    return {"packets": 16, "resize": {"packets": BIG, "before": f"{tau_us}us"}}


def all_experiments() -> Iterator[Experiment]:
    """The experiments in the order of the tables."""
    both = {name for name, control in controls().items() if {"sim", "linux"} <= {*control.engines}}
    for cc in sorted(both - {"retcp"}):
        yield from (_static(cc, packets) for packets in (16, 64))
        yield from (_resize(cc, tau) for tau in (600, 1800))
    # reTCP depends on announcements; without resizing, the published runs announced circuits 600 us early.
    yield from (_static("retcp", packets, ece={"before": "600us"}) for packets in (16, 64))
    yield from (_resize("retcp", tau) for tau in (0, 50, 150, 300))
    yield dumbbell()
    yield from undilated()
    yield from mixed()
    yield from finite()
    yield from time_division()


def undilated() -> Iterator[Experiment]:
    """Hosts whose clocks run as fast as the network's, or five times as fast."""
    for tdf, hz in ((1, 250), (1, 1000), (5, 250)):
        where: dict[str, Any] = {
            "name": f", tdf {tdf}, HZ {hz}",
            "section": UNDILATED,
            "tdf": tdf,
            "hz": hz,
        }
        yield _static("cubic", 16, **where)
        yield from (_resize(cc, 1800, **where) for cc in ("cubic", "reno", "dctcp"))
        yield _resize("retcp", 150, **where)


def mixed() -> Iterator[Experiment]:
    """Two controls beside each other: how they share is a result of its own."""
    for first, second in (("cubic", "reno"), ("dctcp", "cubic"), ("cubic", "scalable")):
        flows = [api.bulk(0, 1, cc=cc, flows=8) for cc in (first, second)]
        for tau in (600, 1800):
            plan = _nsdi20(flows, _growing(tau))
            yield Experiment(f"{first} and {second}, tau {tau}", plan, MIXED)


def finite() -> Iterator[Experiment]:
    """Flows of a web search between all racks, at a third of the packet network's rate."""
    for cc, tdf in (("cubic", 20), ("dctcp", 20), ("cubic", 1), ("reno", 1)):
        more: dict[str, Any] = {"marking": {"threshold": 10}} if cc == "dctcp" else {}
        net = api.network(racks=8, hosts=4, voq=32, **more)
        flows = api.workload("poisson", sizes="websearch", load=0.3, small="100kB", cc=cc)
        plan = api.experiment(
            net, api.strobe(net), flows, name="web-search", duration="1s", warmup="0s", tdf=tdf
        )
        yield Experiment(f"{cc}, web search, tdf {tdf}", plan, FINITE)


def time_division() -> Iterator[Experiment]:
    """Transports that are told of networks which take turns, in SIGCOMM'22's network (papers/sigcomm22)."""
    both: dict[str, Any] = {"packet": ("10Gbps", "19675ns"), "circuit": ("100Gbps", "16240ns")}
    yield _two_racks("cubic, figure 7", [api.bulk(0, 1)], **both)
    yield _two_racks("tdtcp, figure 7", [_tdtcp()], over="cubic, figure 7", **both)
    marked = [api.bulk(0, 1, cc="retcp")]
    yield _two_racks("retcp, figure 7", marked, ece={"before": "600us"}, **both)
    bandwidth: dict[str, Any] = {"packet": ("10Gbps", "3750ns"), "circuit": ("100Gbps", "7500ns")}
    yield _two_racks("tdtcp, figure 8", [_tdtcp()], **bandwidth)
    latency: dict[str, Any] = {"packet": ("100Gbps", "3750ns"), "circuit": ("100Gbps", "2500ns")}
    yield _two_racks("tdtcp, figure 9", [_tdtcp()], **latency)
    late = {"before": "0us", "delay": "20us"}
    yield _two_racks("tdtcp, notified 20 us late", [_tdtcp()], notify=late, **both)
    yield _two_racks("tdtcp, three networks", [_tdtcp()], between=({"rate": "40Gbps"},), **both)
    for hosts in (2, 16):  # a network that comes back soon finds losses of its last day
        name = f"tdtcp, {hosts} hosts, circuits every third day"
        yield _two_racks(name, [_tdtcp()], dark=2, hosts=hosts, **both)
    for name, switches in (
        ("", {}),
        (", pinned", {"acks": "pinned"}),
        (", mainline", {"scheduler": "mainline"}),
    ):
        yield _two_racks(f"mptcp{name}, figure 7", [_mptcp(**switches)], **both)
    yield _two_racks("mptcp, pinned, figure 8", [_mptcp(acks="pinned")], **bandwidth)
    # A subflow that has lost its first ACKs waits for seven weeks: 300 weeks give 74 to 84 %, by the seed.
    pinned = [_mptcp(acks="pinned")]
    yield _two_racks("mptcp, pinned, figure 9", pinned, duration="1694ms", **latency)
    half = [_tdtcp(flows=8), api.bulk(0, 1, flows=8)]
    yield _two_racks("tdtcp and cubic, figure 7", half, **both)


def _tdtcp(**more: Any) -> Any:
    return api.bulk(0, 1, transport="tdtcp", **more)


def _mptcp(**switches: str) -> Any:
    return api.bulk(0, 1, transport={"kind": "mptcp", **switches})


def _two_racks(
    name: str,
    flows: list[Any],
    between: Sequence[dict[str, Any]] = (),
    over: str = "",
    duration: str = "434ms",  # 300 weeks, and 10 of warm-up
    dark: int = 6,
    hosts: int = 16,
    **network: Any,
) -> Experiment:
    """Two racks whose week has a day with circuits after `dark` without; circuits of `between` come in some of these."""
    circuits = [[0, 1], [1, 0]]
    week = [
        {"circuits": [], "repeat": dark - len(between)},
        *({"circuits": circuits, **kind} for kind in between),
        {"circuits": circuits},
    ]
    told = {"notify": {"before": "5us"}, **network}  # as in the paper's plans
    net = api.network(racks=2, hosts=hosts, voq=16, **told)
    plan = api.experiment(
        net,
        api.fixed(net, week),
        *flows,
        name=name.replace(", ", "-").replace(" ", "-"),
        duration=duration,
        warmup="14ms",
    )
    return Experiment(name, plan, DIVISION, over)


def dumbbell() -> Experiment:
    """Sixteen CUBIC flows over one 10 Gb/s queue, without dilation: no circuit, nothing of the papers."""
    net = api.dumbbell(rate="10Gbps", delay="30us", queue=100, hosts=16)
    plan = api.experiment(
        net, api.bulk(0, 1), name="dumbbell", duration="2s", warmup="200ms", tdf=1
    )
    return Experiment("cubic, 10 Gb/s dumbbell", plan)
