# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the tables of docs/circuits-tcp.md: TCP, TDTCP and MPTCP over Opera, RotorNet, VLB and UCMP, and reordering's cost.

python docs/circuits_tcp.py               # the simulator
python docs/circuits_tcp.py --linux       # and real Linux TCP, in runs of 20 ms: two minutes of processor time in all
python docs/circuits_tcp.py --tdns        # TDTCP and MPTCP on Opera alone, on both engines
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

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
CARRIED: dict[str, tuple[Any, dict[str, Any] | None]] = {
    "TCP": ("tcp", None),
    "TDTCP, one TDN": ("tdtcp", {"tdns": "one"}),
    "TDTCP, a TDN a path length": ("tdtcp", {"tdns": "length"}),
    "TDTCP, a TDN a slice": ("tdtcp", {"tdns": "slice"}),
    "MPTCP, 4 subflows": ({"kind": "mptcp", "scheduler": "mainline", "subflows": 4}, None),
}
"""Transport, and what hosts are told, by name."""
NAMES = {"cubic": "CUBIC", "dctcp": "DCTCP", "bbr": "BBR", "mptcp": "MPTCP"}
COLUMNS = (*CONTROLS, "mptcp")
"""Of the tables of networks: TCP with each control, and MPTCP with CUBIC."""


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


def column(ways: tuple[dict[str, Any], dict[str, Any]], name: str) -> et.Plan:
    """The plan of a network's cell."""
    if name != "mptcp":
        return plan(*ways, name)
    return plan(*ways, "cubic").replace({"permutation.transport": CARRIED["MPTCP, 4 subflows"][0]})


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
        column(ways, name).replace({"seed": seed, **shorter})
        for ways in networks.values()
        for name in COLUMNS
        for seed in seeds
    ]
    runs = iter(et.run_many(plans, engine=engine))
    yield "| network | " + " | ".join(NAMES[name] for name in COLUMNS) + " |"
    yield "|---|" + "---:|" * len(COLUMNS)
    for name in networks:
        cells = []
        for _ in COLUMNS:
            goodput, again, lost = facts([next(runs) for _ in seeds])
            cells.append(f"{goodput:.2f} / {again:.1f} / {lost:.1f}")
        yield f"| {name} | {' | '.join(cells)} |"


def carried(cc: str, transport: Any, notify: dict[str, Any] | None, seed: int) -> et.Plan:
    """The same flows over Opera, a path a flow, by another transport."""
    made = plan(*NETWORKS["Opera, a path a flow"], cc).replace({"seed": seed})
    keys = {} if notify is None else {"network.notify": notify}
    return made.replace({"permutation.transport": transport, **keys})


def finite(made: et.Plan) -> et.Plan:
    """The same with web search's flows at a load of 10 % instead of flows without end, and time for the last ones."""
    of = made.permutation[0]
    poisson = {
        "sizes": "opera-websearch",
        "load": 0.1,
        "cc": of.cc,
        "transport": of.transport,
        "period": "300ms",
    }
    return made.replace({"permutation": [], "poisson": [poisson], "duration": "400ms", "warmup": 0})


def p99(runs: Sequence[et.Run], short: bool) -> float:
    """The 99th percentile of completion times in ms, over all flows of runs up to 100 kB, or of those above."""
    flows = pl.concat([run.fct().select("bytes", "fct_us", "start_ns") for run in runs])
    chosen = flows.filter((pl.col("bytes") <= 100_000) == short)["fct_us"]
    assert chosen.null_count() == 0, "a flow did not finish"
    return float(chosen.quantile(0.99, "nearest") or 0) / 1e3


def timed_out(runs: Sequence[et.Run]) -> int:
    """Flows up to 100 kB that waited for a retransmission timeout."""
    flows = pl.concat([run.flows.select("bytes", "rtos") for run in runs])
    return flows.filter((pl.col("bytes") <= 100_000) & (pl.col("rtos") > 0)).height


def tdns(controls: Sequence[str] = CONTROLS[:2]) -> Iterator[str]:
    """Runs TDTCP and MPTCP on Opera; the lines of a Markdown table."""
    cases = [(cc, *rest) for cc in controls for rest in CARRIED.values()]
    endless = [carried(*case, seed) for case in cases for seed in SEEDS]
    runs = iter(et.run_many([*endless, *map(finite, endless)]))
    cells = {case: facts([next(runs) for _ in SEEDS]) for case in map(str, cases)}
    yield "| transport | control | Gb/s | again, % | lost, % | p99 up to 100 kB, ms | timed out | p99 above, ms |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for case in cases:
        goodput, again, lost = cells[str(case)]
        ended = [next(runs) for _ in SEEDS]
        short, long = (f"{p99(ended, is_short):.2f}" for is_short in (True, False))
        times = f"{short} | {timed_out(ended)} | {long}"
        name = next(name for name, rest in CARRIED.items() if rest == case[1:])
        yield f"| {name} | {NAMES[case[0]]} | {goodput:.2f} | {again:.1f} | {lost:.1f} | {times} |"


def tdns_on_linux() -> Iterator[str]:
    """Both engines, one seed, 20 ms: TDTCP with a TDN a path length, and MPTCP."""
    yield "| transport | simulator | Linux |"
    yield "|---|---:|---:|"
    for name in ("TCP", "TDTCP, a TDN a path length", "MPTCP, 4 subflows"):
        transport, notify = CARRIED[name]
        told = None if notify is None else {**notify, "longest": 3}
        made = carried("cubic", transport, told, 1).replace({"duration": "20ms"})
        both = [facts([et.run(made, engine=engine)]) for engine in ("sim", "linux")]
        cells = (f"{goodput:.2f} / {again:.1f} / {lost:.1f}" for goodput, again, lost in both)
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Runs everything, prints the tables and writes them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--linux", action="store_true", help="real Linux TCP too")
    parser.add_argument(
        "--tdns", action="store_true", help="TDTCP and MPTCP on Opera alone, on both engines"
    )
    options = parser.parse_args()
    lines = ["In the simulator, means over three seeds:", "", *tdns()]
    if options.linux or options.tdns:
        lines += ["", "On both engines, CUBIC, one seed, 20 ms:", "", *tdns_on_linux()]
    pages.put(PAGE, "\n".join(lines) + "\n", part="tdns")
    print("\n".join(lines))
    if options.tdns:
        return
    lines = ["The simulator, means over three seeds:", "", *table("sim", SEEDS)]
    if options.linux:
        lines += ["", "Real Linux TCP, one seed, 20 ms:", "", *table("linux", SEEDS[:1])]
    print("\n".join(lines))
    pages.put(PAGE, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
