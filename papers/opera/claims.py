# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper claims about more than one number. Each function takes the results and gives the measured value.

Completion times are in ms, of flows of one size; their 99th percentile is the value nearest to rank 0.99 n, the summaries of
the authors' logs have that of rank 0.99 n.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from etalon import _core, circuits
from etalon.plan.workloads.flow_sizes import FLOW_SIZES
from etalon.reproduce import Missing, Results
from etalon.reproduce.paper import X
from etalon.results import Run

NETWORKS = {108: 6, 252: 9, 520: 13, 768: 16, 1008: 18, 1200: 20}
"""Circuit switches by racks, of the paper's table of routing entries."""
CUTOFF = 15_000_000
"""Flows of data mining traffic that are as long are bulk."""
TOPOLOGIES = 5
"""Random ones of ours, of 108 racks."""


def entries_counted(results: Results, racks: X) -> float:
    """Entries of the first ToR's tables, counted slice by slice: one for each rack that it reaches, and one for each switch
    that stays."""
    net = circuits.opera(int(racks), NETWORKS[int(racks)], seed=1)
    reached = int((net.hops()[:, 0, 1:] != circuits.NO_WAY).sum())
    return reached + sum(net.switches - (ending is not None) for ending in net.ending)


def entries_by_formula(results: Results, racks: X) -> float:
    """The same without drawing the network."""
    return _core.routing_entries(int(racks), NETWORKS[int(racks)])


def longest_path(results: Results) -> float:
    """The longest of the shortest paths over switches that stay, in hops, of the best of five random topologies."""
    return min(circuits.opera(108, 6, seed=seed).longest_path for seed in range(TOPOLOGIES))


@lru_cache(maxsize=16)
def table(run: Run) -> dict[int, dict[str, float]]:
    """By size in bytes: number of flows that finished, mean and 99th percentile of completion time in ms."""
    rows = run.by_size().filter(pl.col("finished") > 0)
    return {
        row["bytes"]: {
            "finished": row["finished"],
            "mean": row["fct_us_mean"] / 1e3,
            "p99": row["fct_us_p99"] / 1e3,
        }
        for row in rows.iter_rows(named=True)
    }


def of_size(results: Results, series: str, x: X, size: int, statistic: str) -> float:
    """Mean or 99th percentile of completion time in ms. Raises `Missing` if no flow of that size finished."""
    found = table(results.run(series, x)).get(size)
    if found is None:
        raise Missing(f"{series} at {x}: no flow of {size} bytes finished")
    return found[statistic]


Measure = Callable[[Results, X], float]


def _of_size(series: str, load: float, statistic: str) -> Measure:
    return lambda results, size: of_size(results, series, load, int(size), statistic)


for _series, _loads in {
    "websearch": (1, 10),
    "clos": (10,),
    "expander": (10,),
    "datamining": (1, 10, 25),
    "datamining-clos": (10,),
    "datamining-expander": (10,),
    "rotornet-websearch": (1,),
    "rotornet": (1, 10),
}.items():
    for _load in _loads:
        for _statistic in ("mean", "p99"):
            _name = f"{_series.replace('-', '_')}_{_load}_{_statistic}"
            globals()[_name] = _of_size(_series, _load / 100, _statistic)
for _network in ("opera", "clos", "expander"):
    globals()[f"quick_{_network}"] = _of_size(f"quick-{_network}", 0.1, "mean")


def shuffle_p99(results: Results) -> float:
    """99th percentile of completion time in the shuffle, in ms."""
    return of_size(results, "shuffle", 1, 100_000, "p99")


def shuffle_clos_p99(results: Results) -> float:
    """The same on the 3:1 Clos network."""
    return of_size(results, "shuffle-clos", 1, 100_000, "p99")


def shuffle_expander_p99(results: Results) -> float:
    """The same on the expander."""
    return of_size(results, "shuffle-expander", 1, 100_000, "p99")


def shuffle_mean(results: Results) -> float:
    """Mean completion time in the shuffle, in ms."""
    return of_size(results, "shuffle", 1, 100_000, "mean")


# Each claim has a measure of its own; these are judged by the log of the authors' other topology.
shuffle_p99_of_another, shuffle_mean_of_another = shuffle_p99, shuffle_mean


def shuffle_plateau(results: Results) -> float:
    """Share of the links to hosts that the shuffle's first 44 ms use, in %."""
    ports = results.run("shuffle-plateau", 1).ports
    to_hosts = ports.filter(pl.col("to").str.contains(r"^r\d+h\d+$"))
    return 100 * float(to_hosts["utilization"].to_numpy().mean())


def beside(results: Results, percent: X) -> float:
    """Share of the links to hosts that the shuffle fills beside so much web search traffic, in %."""
    run = results.run("beside", round(float(percent) / 100, 4))
    carried = float(run.hops.filter(pl.col("class") == "bulk")["bytes"].sum())
    hosts = run.plan.resolve()["hosts"]
    most = hosts["racks"] * hosts["per_rack"] * hosts["rate_bps"] * run.measured_ns / 8e9
    return 100 * carried / float(most)


def tax(results: Results, series: str = "tax") -> float:
    """The bandwidth tax of data mining traffic, in %: of either class, weighted by its share of the bytes."""
    run = results.run(series, 0.1)
    rows = run.hops_by_class().iter_rows(named=True)
    of = {row["class"]: float(row["tax"]) for row in rows}
    if missing := {"low", "bulk"} - of.keys():
        raise Missing(f"tax: no packet of class {', '.join(sorted(missing))} has arrived")
    low = short_share("opera-datamining", CUTOFF)
    return 100 * (low * of["low"] + (1 - low) * of["bulk"])


def tax_of_direct_bulk(results: Results) -> float:
    """The same if bulk never takes a second hop."""
    return tax(results, "tax-direct")


def short_share(sizes: str, cutoff: int) -> float:
    """Share of bytes in flows that are shorter."""
    found, before, short = FLOW_SIZES[sizes], 0.0, 0.0
    for size, up_to in found.points:
        short += size * (up_to - before) if size < cutoff else 0
        before = up_to
    return short / found.mean


def closed_form(size: int, hops: int) -> float:
    """Completion time of a flow alone in us, over so many links between switches: all packets one after the other, the last
    over all links, and its ACK back."""
    packet = (1500 if size >= 1436 else size + 64) * 0.8e-3
    packets = -(-size // 1436)
    return (packets - 1) * packet + (hops + 2) * (packet + 0.0512) + 2 * hops * 0.5


def alone_on_opera(results: Results) -> float:
    """The largest difference from the closed form of a flow alone, in ns."""
    apart = []
    for size, run in results.series("alone-opera").items():
        net = run.plan.slices
        if net is None:
            raise Missing("no slices")
        hops = int(net.hops()[0, 0, 1])
        took = run.fct()["fct_us"][0]
        if took is None:
            raise Missing(f"the flow of {size} bytes did not finish")
        apart.append(1000 * abs(took - closed_form(size, hops)))
    return float(max(apart))


def _survived(what: str) -> Callable[[Results], float]:
    """How many links, racks or switches fail, in a random order, before racks that are left lose their way to another in any
    slice: the share in %, or the number of switches; mean of five topologies."""

    def measure(results: Results) -> float:
        return fmean(
            _endured(circuits.opera(108, 6, seed), what, seed) for seed in range(TOPOLOGIES)
        )

    return measure


def _endured(net: circuits.Circuits, what: str, seed: int) -> float:
    links = [(rack, switch) for rack in range(net.racks) for switch in range(net.switches)]
    parts: dict[str, Sequence[Any]] = {
        "links": links,
        "racks": range(net.racks),
        "switches": range(net.switches),
    }
    order = random.Random(f"{what} {seed}").sample(parts[what], len(parts[what]))

    def holds(count: int) -> bool:
        failed = order[:count]
        live = np.array(
            [rack for rack in range(net.racks) if what != "racks" or rack not in failed]
        )
        found = net.hops(**{what: failed})[:, live][:, :, live]
        return bool((found < circuits.NO_WAY).all())

    # What holds of some holds of fewer; where it does not (racks that are nearly all gone), a linear search finds the same.
    count = bisect_left(range(1, len(order)), True, key=lambda count: not holds(count))
    return count if what == "switches" else 100 * count / len(order)


links_survived, racks_survived, switches_survived = map(_survived, ("links", "racks", "switches"))
