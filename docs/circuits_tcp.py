# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the tables of docs/circuits-tcp.md: TCP over Opera, RotorNet, VLB and UCMP, and what reordering costs it.

python docs/circuits_tcp.py               # the simulator: five minutes of processor time
python docs/circuits_tcp.py --linux       # and real Linux TCP, in runs of 20 ms: five minutes more
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import etalon as et
from etalon import pages

PAGE = Path(__file__).with_name("circuits-tcp.md")
SEEDS = (1, 2, 3)
HOSTS = 32
GRAPH = {"kind": "static", "graph": "regular"}
OPERA = {"kind": "opera", "slice": "100us", "night": "10us"}
ROTOR = {"kind": "rotor", "slice": "100us", "night": "10us"}

NETWORKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "random graph, a path a flow": (GRAPH, {"kind": "ksp", "paths": 4}),
    "random graph, sprayed": (GRAPH, {"kind": "ksp", "paths": 4, "spread": "packet"}),
    "Opera, a path a flow": (OPERA, {"kind": "expander", "paths": 4}),
    "Opera, sprayed": (OPERA, {"kind": "expander", "paths": 4, "spread": "packet"}),
    "Opera, UCMP": (OPERA, {"kind": "ucmp"}),
    "RotorNet, direct": (ROTOR, {"kind": "direct"}),
    "RotorNet, VLB": (ROTOR, {"kind": "vlb"}),
}
"""Schedule and routing by name."""
CONTROLS = ("cubic", "dctcp", "bbr")
NAMES = {"cubic": "CUBIC", "dctcp": "DCTCP", "bbr": "BBR"}


def plan(schedule: dict[str, Any], routing: dict[str, Any], cc: str) -> et.Plan:
    """Sixteen racks of two hosts with four uplinks; each host sends to one of another rack, without end."""
    queue = {"packets": 100, **({"ecn_threshold": 20} if cc == "dctcp" else {})}
    return et.Plan.from_dict(
        {
            "duration": "60ms",
            "warmup": "10ms",
            "tdf": 20,
            "network": {
                "kind": "ocs",
                "racks": 16,
                "hosts": 2,
                "circuits": {"rate": "10Gbps", "delay": "500ns", "switches": 4},
                "queue": queue,
            },
            "schedule": schedule,
            "routing": routing,
            "permutation": [{"cc": cc, "size": "10GB"}],
        }
    )


def facts(runs: Sequence[et.Run]) -> tuple[float, float, float]:
    """Means over runs: goodput of a host in Gb/s; data packets sent again though nothing was lost, and packets lost, in %."""
    goodput = sum(run.goodput or 0.0 for run in runs) / len(runs) / HOSTS / 1e9
    again = sum(int(run.flows["retransmits"].sum()) for run in runs)
    names = ("dropped_voq", "dropped_dark", "dropped_link")
    lost = sum(int(run.pairs[name].sum()) for run in runs for name in names)
    data = sum(int(run.hops["packets"].sum()) for run in runs)
    return goodput, 100 * max(0, again - lost) / data, 100 * lost / data


def table(engine: str, seeds: Sequence[int]) -> Iterator[str]:
    """Runs everything; the lines of a Markdown table."""
    networks = {
        name: ways
        for name, ways in NETWORKS.items()
        if engine == "sim" or ways[1].get("spread") != "packet"
    }
    shorter = {"duration": "20ms"} if engine == "linux" else {}
    plans = [
        plan(*ways, cc).replace({"seed": seed, **shorter})
        for ways in networks.values()
        for cc in CONTROLS
        for seed in seeds
    ]
    runs = iter(et.run_many(plans, engine=engine))
    yield "| network | " + " | ".join(NAMES[cc] for cc in CONTROLS) + " |"
    yield "|---|" + "---:|" * len(CONTROLS)
    for name in networks:
        cells = []
        for _ in CONTROLS:
            goodput, again, lost = facts([next(runs) for _ in seeds])
            cells.append(f"{goodput:.2f} / {again:.1f} / {lost:.1f}")
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Runs everything, prints the tables and writes them into the page."""
    lines = ["The simulator, means over three seeds:", "", *table("sim", SEEDS)]
    if "--linux" in sys.argv[1:]:
        lines += ["", "Real Linux TCP, one seed, 20 ms:", "", *table("linux", SEEDS[:1])]
    text = "\n".join(lines)
    print(text)
    pages.put(PAGE, text + "\n")


if __name__ == "__main__":
    main()
