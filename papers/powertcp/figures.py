# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn, from runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalon.reproduce import Drawing, Results

NAMES = {
    "powertcp": "PowerTCP",
    "hpcc": "HPCC",
    "theta-powertcp": "theta-PowerTCP",
    "retcp-600": "reTCP, 600 µs",
    "retcp-1800": "reTCP, 1800 µs",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "bbr": "BBR",
    "tdtcp": "TDTCP",
}
"""Of transports, by the paper's."""
OF_FIGURE_8 = ("powertcp", "hpcc", "retcp-600", "retcp-1800")


def _runs(results: Results, chosen: tuple[str, ...] = OF_FIGURE_8) -> dict[str, Any]:
    runs = results.series("transports")
    return {NAMES[x]: runs[x] for x in chosen if x in runs}


def _over_time(results: Results) -> list[Drawing]:
    runs = _runs(results)
    return [
        Drawing("sequence", runs),
        Drawing("voq", runs, part="voq"),
    ]


def _bars(chosen: tuple[str, ...]) -> Callable[[Results], list[Drawing]]:
    def drawings(results: Results) -> list[Drawing]:
        runs, tail = _runs(results, chosen), results.paper.measures.tail
        used = {name: 100 * (run.circuit_utilization or 0) for name, run in runs.items()}
        tails = {name: tail(run) for name, run in runs.items()}
        return [
            Drawing("bars", used, ylabel="circuit utilisation (%)"),
            Drawing("bars", tails, part="tail", ylabel="p99 queueing latency (µs)"),
        ]

    return drawings


def _over(series: str, xlabel: str) -> Callable[[Results], list[Drawing]]:
    def drawings(results: Results) -> list[Drawing]:
        runs, tail = results.series(series), results.paper.measures.tail
        tails = {x: tail(run) for x, run in runs.items()}
        return [
            Drawing("utilization", runs, xlabel=xlabel),
            Drawing("lines", tails, part="tail", xlabel=xlabel, ylabel="p99 queueing latency (µs)"),
        ]

    return drawings


DRAWINGS: dict[str, Callable[[Results], Drawing | list[Drawing]]] = {
    "8a": _over_time,
    "8b": _bars(OF_FIGURE_8),
    "beyond": _bars(tuple(NAMES)),
    "expected": _over("expected", "N"),
    "prebuffered": _over("prebuffered", "big VOQ (packets)"),
}
