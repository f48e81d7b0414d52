# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn, from runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalon.reproduce import Drawing, Results

NAMES = {
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "retcp": "reTCP",
    "retcpdyn": "reTCP, resizing",
    "mptcp": "MPTCP",
    "tdtcp": "TDTCP",
}
"""Of transports, by the paper's."""
ONE_WEEK = (0.0, 1400.0)
TWO = ("cubic", "mptcp")
EARLIEST = 20
"""In us before the change: x = 0 of the series `heard`."""


def _named(results: Results, series: str, chosen: tuple[str, ...] = ()) -> dict[str, Any]:
    runs = results.series(series)
    return {name: runs[x] for x, name in NAMES.items() if x in runs and x in (chosen or NAMES)}


def _sequence(series: str, chosen: tuple[str, ...] = ()) -> Callable[[Results], Drawing]:
    return lambda results: Drawing("sequence", _named(results, series, chosen))


def _sequence_and_goodput(series: str) -> Callable[[Results], list[Drawing]]:
    def drawings(results: Results) -> list[Drawing]:
        runs = _named(results, series)
        rates = {name: (run.goodput or 0) / 1e9 for name, run in runs.items()}
        return [
            Drawing("sequence", runs),
            Drawing("bars", rates, part="goodput", ylabel="goodput (Gb/s)"),
        ]

    return drawings


def _voq(series: str, chosen: tuple[str, ...] = ()) -> Callable[[Results], list[Drawing]]:
    """Three weeks, as the paper; and one."""

    def drawings(results: Results) -> list[Drawing]:
        runs = _named(results, series, chosen)
        return [Drawing("voq", runs), Drawing("voq", runs, part="week", span_us=ONE_WEEK)]

    return drawings


def _reordering(quantity: str) -> Callable[[Results], list[Drawing]]:
    """By flow; and all flows together."""

    def drawings(results: Results) -> list[Drawing]:
        runs = _named(results, "bw-lat", ("cubic", "mptcp", "tdtcp"))
        return [
            Drawing("reordering", runs, quantity=quantity),
            Drawing("reordering", runs, part="all-flows", quantity=quantity, of="pair"),
        ]

    return drawings


def _in_vain(results: Results) -> Drawing:
    """What the paper takes all of these packets for."""
    runs = _named(results, "bw-lat", ("cubic", "mptcp", "tdtcp"))
    return Drawing("reordering", runs, part="in-vain", quantity="spurious", of="pair")


def _detection(results: Results) -> Drawing:
    return Drawing("reordering", results.series("detection"), quantity="spurious", of="pair")


def _heard(results: Results) -> Drawing:
    """Over microseconds after the change, with CUBIC, which hears nothing, and the level of figure 11's gain."""
    rates = {x - EARLIEST: (run.goodput or 0) / 1e9 for x, run in results.series("heard").items()}
    levels = {}
    if "cubic" in (by_x := results.series("bw-lat")):
        levels["CUBIC"] = (by_x["cubic"].goodput or 0) / 1e9
    if rates:
        levels["12.7 % below the best"] = max(rates.values()) / 1.127
    return Drawing(
        "lines", rates, xlabel="heard (µs after the change)", ylabel="goodput (Gb/s)", levels=levels
    )


DRAWINGS: dict[str, Callable[[Results], Drawing | list[Drawing]]] = {
    "2": _sequence("bw-lat", TWO),
    "7a": _sequence_and_goodput("bw-lat"),
    "7b": _voq("bw-lat"),
    "8a": _sequence_and_goodput("bw-only"),
    "8b": _voq("bw-only"),
    "9": _sequence_and_goodput("lat-only-fast"),
    "10a": _reordering("events"),
    "10b": lambda results: [*_reordering("missing")(results), _in_vain(results)],
    "detection": _detection,
    "11": _heard,
    "13": _voq("bw-lat", TWO),
    "14a": _voq("lat-only-slow"),
    "14b": _voq("lat-only-fast"),
}
