# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn, from runs."""

from __future__ import annotations

from collections.abc import Callable

from etalon.reproduce import Drawing, Results

SERIES = {
    "7": ("datamining", "datamining-clos", "datamining-expander", "rotornet"),
    "9": ("websearch", "clos", "expander", "rotornet-websearch"),
}


def _over_size(figure: str) -> Callable[[Results], list[Drawing]]:
    """A drawing for each load: a line a network."""

    def drawings(results: Results) -> list[Drawing]:
        found: dict[float, dict[str, object]] = {}
        for name in SERIES[figure]:
            for load, run in results.series(name).items():
                found.setdefault(load, {})[results.paper.series[name].title] = run
        return [
            Drawing("fct_size", runs, part=f"{100 * load:g}-percent", statistic="p99")
            for load, runs in sorted(found.items())
        ]

    return drawings


def _shuffle(results: Results) -> Drawing:
    return Drawing("fct_cdf", {"Opera": results.run("shuffle", 1)})


def _shuffle_on_packet_networks(results: Results) -> Drawing:
    series = ("shuffle-clos", "shuffle-expander")
    return Drawing(
        "fct_cdf", {results.paper.series[name].title: results.run(name, 1) for name in series}
    )


def _beside(results: Results) -> Drawing:
    measure = results.paper.measures.beside
    shares = {100 * load: measure(results, 100 * load) for load in results.series("beside")}
    return Drawing(
        "lines",
        shares,
        xlabel="web search load (%)",
        ylabel="the shuffle's share of hosts' links (%)",
    )


DRAWINGS = {
    "7": _over_size("7"),
    "8": _shuffle,
    "8-packet": _shuffle_on_packet_networks,
    "9": _over_size("9"),
    "10": _beside,
}
