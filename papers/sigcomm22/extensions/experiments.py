# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is run beyond the paper: SIGCOMM'22's network of figure 7, one thing changed at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import etalon as et

PLAN = Path(__file__).parents[1] / "plans" / "bw-lat.toml"
WEEKS = 300
WARMUP_NS = 2_000_000_000
"""Of hosts' clocks: a TDN whose RTT is not known has a timeout of 1 s (RFC 6298), for which flows wait that lost all of their
first window."""
SEEDS = 3
Changes = Mapping[str, Any]
Points = Mapping[str | float, Changes]


@dataclass(frozen=True)
class Experiment:
    """Lines of points: every line's changes with every point's."""

    id: str
    title: str
    xlabel: str
    points: Points
    lines: Mapping[str, Changes]
    log: bool = False
    """The x axis is logarithmic."""
    linux: Sequence[str | float] = ()
    """Points that are run on real Linux, too."""
    of: Sequence[str] = ("goodput", "voq")
    """Which of the script's quantities are shown."""
    week: Mapping[str, Changes] = field(default_factory=dict)
    """Runs whose mean week is drawn, by the name for the legend: why it is so."""

    def plans(self, engine: str) -> Iterator[tuple[str, str | float, et.Plan]]:
        """Line, x and plan; several seeds in the simulator, one of the chosen points on Linux."""
        for line, of_line in self.lines.items():
            for x, of_point in self.points.items():
                if engine == "linux" and x not in self.linux:
                    continue
                for seed in range(1, (SEEDS if engine == "sim" else 1) + 1):
                    yield line, x, plan({**of_point, **of_line, "seed": seed})


def plan(changes: Changes) -> et.Plan:
    """The paper's plan, changed, over `WEEKS` weeks behind a warm-up, whatever the length of a week."""
    changed = et.Plan.load(PLAN).replace(dict(changes))
    warmup = -(-WARMUP_NS // (changed.tdf * changed.week_ns))
    times = {"warmup": warmup, "duration": warmup + WEEKS}
    return changed.replace({key: f"{n * changed.week_ns}ns" for key, n in times.items()})


def packet_rtt(rtt: float) -> Changes:
    """So many us over the packet network with full packets: hosts take 5, their links 1.9, the network's two links 14.4."""
    return {"network.packet.delay": f"{round((rtt - 21.3) * 250)}ns"}


def week(packet: int, circuits: Sequence[Changes], day: float = 180) -> Changes:
    """So many days without circuits, then these with; all of so many us."""
    both = [[0, 1], [1, 0]]
    days = [{"circuits": [], "repeat": packet}, *({"circuits": both, **kind} for kind in circuits)]
    return {"schedule.configurations": days, "schedule.day": f"{day}us"}


def heard(us: float) -> Changes:
    """Hosts hear of a change so long after it; before it if negative."""
    return {"network.notify": {"before": f"{max(-us, 0)}us", "delay": f"{max(us, 0)}us"}}


def tdtcp(**switches: Any) -> Changes:
    """TDTCP, with switches other than the paper's."""
    return {"bulk.transport": {"kind": "tdtcp", **switches}}


def halves(of_tdtcp: int) -> Changes:
    """Sixteen flows, the first so many of them of TDTCP."""
    ends: Changes = {"from": 0, "to": 1, "cc": "cubic"}
    parts = [{**ends, "flows": of_tdtcp, "transport": "tdtcp"}, {**ends, "flows": 16 - of_tdtcp}]
    return {"bulk": [part for part in parts if part["flows"]]}


PACED, SHARED = tdtcp(pace_burst=True), tdtcp(pipe="shared")
DUEL: Mapping[str, Changes] = {"CUBIC": {}, "TDTCP": tdtcp()}
AND_PACED: Mapping[str, Changes] = {**DUEL, "TDTCP, burst paced": PACED}
AND_SHARED: Mapping[str, Changes] = {**AND_PACED, "TDTCP, shared pipe": SHARED}
FIRST_RTO: Changes = {"tcp.initial_rto": "200ms"}
MAP_TITLE = "RTT of the packet network and length of a day"
MAP_WEEK: Mapping[str, Changes] = {
    "CUBIC": packet_rtt(400),
    "TDTCP": {**packet_rtt(400), **tdtcp()},
    "TDTCP, shared pipe": {**packet_rtt(400), **SHARED},
}
MAP = tuple(
    Experiment(
        f"map-{day}",
        f"{day} us",
        "RTT of the packet network (us)",
        {rtt: {**packet_rtt(rtt), **week(6, [{}], day)} for rtt in (25, 50, 100, 200, 400)},
        AND_SHARED,
        log=True,
    )
    for day in (60, 90, 180, 360, 720, 1440)
)
"""A line of the map each: days of one length."""

NETWORKS: Sequence[Experiment] = (
    Experiment(
        "rate",
        "Rate of the circuit",
        "rate of the circuit (Gb/s)",
        {rate: {"network.circuit.rate": f"{rate}Gbps"} for rate in (10, 20, 40, 100, 200, 400)},
        DUEL,
        log=True,
        linux=(20, 400),
    ),
    Experiment(
        "heard",
        "When hosts hear of a change",
        "heard (us after the change)",
        {us: heard(us) for us in (-100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100)},
        AND_PACED,
        linux=(-100, -20, 20, 100),
        week={
            "100 us before": {**heard(-100), **tdtcp()},
            "5 us before": tdtcp(),
            "50 us after": {**heard(50), **tdtcp()},
        },
    ),
    Experiment(
        "lost",
        "Notifications that are lost",
        "share of notifications lost",
        {share: {"network.notify.lost": share} for share in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)},
        DUEL,
    ),
    Experiment(
        "ratio",
        "Ratio of packet days to optical days",
        "packet days : optical days",
        {
            f"{packet}:{optical}": week(packet, [{"repeat": optical}])
            for packet, optical in (
                *((1, 10), (1, 3), (1, 1), (3, 1)),
                *((6, 1), (10, 1), (20, 1), (50, 1)),
            )
        },
        DUEL,
        linux=("1:10", "50:1"),
    ),
    Experiment(
        "tdns",
        "Number of TDNs",
        "TDNs",
        {
            2: week(6, [{}]),
            3: week(5, [{"rate": "40Gbps"}, {}]),
            4: week(4, [{"rate": "25Gbps"}, {"rate": "40Gbps"}, {}]),
        },
        DUEL,
        linux=(4,),
    ),
    Experiment(
        "voq",
        "VOQ",
        "VOQ (packets)",
        {packets: {"network.voq.packets": packets} for packets in (4, 8, 16, 32, 64, 128)},
        AND_SHARED,
        log=True,
        linux=(8, 64),
    ),
)

HOSTS: Sequence[Experiment] = (
    Experiment(
        "flows",
        "Number of flows",
        "flows",
        {flows: {"bulk.flows": flows} for flows in (1, 2, 4, 8, 16, 32, 64)},
        AND_SHARED,
        log=True,
        linux=(1,),
        week={
            "CUBIC": {"bulk.flows": 1},
            "TDTCP": {"bulk.flows": 1, **tdtcp()},
            "TDTCP, shared pipe": {"bulk.flows": 1, **SHARED},
        },
    ),
    Experiment(
        "parts",
        "TDTCP without each of its parts",
        "",
        {
            "as published": tdtcp(),
            "strict detection": tdtcp(relaxed=False),
            "shared pipe": SHARED,
            "all RTTs": tdtcp(rtt="all"),
            "pushed": tdtcp(update="push"),
            "no options": tdtcp(options=False),
            "burst paced": PACED,
            "always paced": {**tdtcp(), "tcp.pacing": True},
        },
        {
            "figure 7": {},
            "packet RTT 400 us": packet_rtt(400),
            "one flow": {"bulk.flows": 1},
            "heard 20 us late": heard(20),
        },
        of=("goodput", "voq", "spurious"),
        linux=("as published", "strict detection", "shared pipe", "burst paced"),
    ),
    Experiment(
        "update",
        "Hosts that notify their connections one after another",
        "from one flow to the next (us)",
        {
            us: {"network.hosts": 4, "bulk.flows": 16, "network.notify.each": f"{us}us"}
            for us in (0, 1, 5, 20, 50)
        },
        {"CUBIC": {}, "TDTCP": tdtcp(), "TDTCP, pushed": tdtcp(update="push")},
    ),
    Experiment(
        "controls",
        "TDTCP over other congestion controls",
        "",
        {
            "cubic": {},
            "reno": {"bulk.cc": "reno"},
            "dctcp": {"bulk.cc": "dctcp", "network.marking": {"threshold": 10}},
            "scalable": {"bulk.cc": "scalable"},
        },
        {"TCP": {}, "TDTCP": tdtcp(), "TDTCP, burst paced": PACED},
        linux=("reno", "dctcp"),
    ),
    Experiment(
        "dilation",
        "Hosts with and without dilated clocks",
        "",
        {
            "tdf 20": {},
            "tdf 1": {"tdf": 1},
            "tdf 1, RTO from 10 ms": {"tdf": 1, "tcp.min_rto": "10ms"},
            "tdf 1, RTO from 10 ms, HZ 1000": {"tdf": 1, "tcp.min_rto": "10ms", "tcp.hz": 1000},
            "tdf 1, RTO from 10 ms, VOQ 32": {
                "tdf": 1,
                "tcp.min_rto": "10ms",
                "network.voq.packets": 32,
            },
        },
        AND_PACED,
        linux=("tdf 1",),
    ),
    Experiment(
        "halves",
        "TDTCP beside CUBIC",
        "flows of TDTCP, of 16",
        {flows: halves(flows) for flows in (0, 1, 4, 8, 12, 15, 16)},
        {"16 flows": {}},
        of=("goodput", "voq", "jain", "share"),
        linux=(8,),
    ),
    Experiment(
        "websearch",
        "Flows that end",
        "load (share of 10 Gb/s)",
        {
            load: {"bulk": [], "poisson": [{"load": load, "small": "100kB"}]}
            for load in (0.2, 0.5, 1.0, 1.5)
        },
        {
            "CUBIC": {},
            "TDTCP": {"poisson.transport": "tdtcp"},
            "CUBIC, first RTO 200 ms": FIRST_RTO,
            "TDTCP, first RTO 200 ms": {"poisson.transport": "tdtcp", **FIRST_RTO},
        },
        of=("slowdown_p50", "slowdown_p99"),
    ),
)
EXPERIMENTS = (*NETWORKS, *HOSTS)
