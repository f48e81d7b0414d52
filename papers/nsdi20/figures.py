# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn, from runs and published values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalon.figures import Tolerance
from etalon.figures.fct_uptime import seconds
from etalon.reproduce import Drawing, Results
from etalon.reproduce.claims import Tolerance as ClaimTolerance

PACKETS = "VOQ (packets)"
TAU = "tau (µs)"
WEEK_US, DAY_US = 4800, 180
EIGHT = ("bbr", "cubic", "dctcp", "highspeed", "nv", "reno", "scalable", "vegas")
"""Of the variants, as many as figure 4b shows; which the paper chose is not said."""


def _published(results: Results, figure: str, metric: str, unit: str) -> dict[str, Any]:
    values, text = results.paper.published(figure, metric)
    tolerance = ClaimTolerance.parse(text, unit)
    return {
        "published": values,
        "tolerance": Tolerance(
            tolerance.amount / (100 if tolerance.relative else 1), tolerance.relative
        ),
    }


def _utilization(figure: str, series: str, xlabel: str) -> Callable[[Results], Drawing]:
    def drawing(results: Results) -> Drawing:
        published = _published(results, figure, "circuit_utilization_nsdi20", "%")
        measured = {
            x: results.metric(series, x, "circuit_utilization_nsdi20")
            for x in results.series(series)
        }
        return Drawing("utilization", measured, xlabel=xlabel, **published)

    return drawing


def _latency(figure: str, series: str, xlabel: str) -> Callable[[Results], list[Drawing]]:
    """All packets, against the paper; and the packets of each network."""

    def drawings(results: Results) -> list[Drawing]:
        runs = results.series(series)
        published = _published(results, figure, "latency_p99", "us")
        by_network = {
            f"{network} network": {x: run.latency(99, network) for x, run in runs.items()}
            for network in ("packet", "circuit")
        }
        return [
            Drawing("latency", runs, xlabel=xlabel, **published),
            Drawing("latency", by_network, part="networks", xlabel=xlabel, percentiles=(99,)),
        ]

    return drawings


def _weeks(
    series: str, chosen: tuple[Any, ...], label: str, lead_us: int = 0
) -> Callable[[Results], list[Drawing]]:
    """The graph over the three weeks of a run; and one day with `lead_us` before it, where lines part."""

    def drawings(results: Results) -> list[Drawing]:
        by_x = results.series(series)
        runs = {label.format(x): by_x[x] for x in chosen if x in by_x}
        weeks = Drawing("sequence", runs, part="weeks" if lead_us else "")
        if not lead_us:
            return [weeks]
        day = (WEEK_US - DAY_US - lead_us, WEEK_US + 100)
        return [Drawing("sequence", runs, span_us=day), weeks]

    return drawings


def _completion(results: Results) -> Drawing:
    """The best of the seeds, as the paper."""
    best = {}
    for packets in (8, 16, 32, 64, 128):
        times = {
            day: [seconds(run) for run in runs]
            for day, runs in results.seeds(f"uptime-{packets}").items()
        }
        ended = {day: [time for time in found if time is not None] for day, found in times.items()}
        best[packets] = {day: min(found) for day, found in ended.items() if found}
    return Drawing("fct_uptime", {packets: points for packets, points in best.items() if points})


def _controls(results: Results) -> Drawing:
    return Drawing("congestion_controls", results.series("controls"))


def _controls_resized(results: Results) -> Drawing:
    runs = {"static": results.series("controls"), "dynamic": results.series("controls-resize")}
    return Drawing(
        "congestion_controls", runs, **_published(results, "10", "circuit_utilization_nsdi20", "%")
    )


def _retcp_alone(results: Results) -> Drawing:
    runs = {"CUBIC": results.series("static"), "reTCP": results.series("retcp-static")}
    return Drawing("utilization", runs, xlabel=PACKETS)


def _dilation(results: Results) -> list[Drawing]:
    return [
        Drawing(
            "utilization",
            {"tdf 20": results.series(series), "tdf 1": results.series(f"{series}-undilated")},
            part=series,
            xlabel=xlabel,
        )
        for series, xlabel in (("static", PACKETS), ("resize", TAU), ("retcp", f"{TAU}, reTCP"))
    ]


DRAWINGS: dict[str, Callable[[Results], Drawing | list[Drawing]]] = {
    "2a": _weeks("decade-ago", (16,), "CUBIC"),
    "2b": _weeks("static", (16,), "CUBIC"),
    "3": _completion,
    "4a": _controls,
    "4b": _weeks("controls", EIGHT, "{}", lead_us=400),
    "8a": _utilization("8a", "static", PACKETS),
    "8b": _weeks("static", (4, 8, 16, 32, 64, 128), "{} packets", lead_us=400),
    "8c": _latency("8c", "static", PACKETS),
    "9a": _utilization("9a", "resize", TAU),
    "9b": _weeks("resize", (0, 600, 1200, 1800, 2400, 3000), "{} µs", lead_us=3200),
    "9c": _latency("9c", "resize", TAU),
    "10": _controls_resized,
    "11a": _utilization("11a", "retcp", TAU),
    "11b": _weeks("retcp", (0, 50, 100, 150, 300), "{} µs", lead_us=400),
    "11c": _latency("11c", "retcp", TAU),
    "retcp-static": _retcp_alone,
    "tdf1": _dilation,
}
