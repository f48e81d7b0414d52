# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn, from runs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from etalon.reproduce import Drawing, Missing, Results

SIZE = "flow size (segments)"
VARIANTS = ("tcp", "dctcp", "otcp", "odctcp")


def _measure(results: Results) -> ModuleType:
    return results.paper.measures


def _over_size(prefix: str, statistic: str, label: str) -> Callable[[Results], Drawing]:
    """A line for each variant, over the size of flows."""

    def drawing(results: Results) -> Drawing:
        of = getattr(_measure(results), statistic)
        lines: dict[str, dict[Any, float]] = {}
        for variant in VARIANTS:
            series = f"{prefix}-{variant}"
            line = lines.setdefault(results.paper.series[series].title, {})
            for x in results.series(series):
                try:
                    line[x] = of(results, series, x)
                except Missing:
                    continue  # a flow did not end: the claims say so
        return Drawing("lines", lines, xlabel=SIZE, ylabel=label)

    return drawing


def _layers(results: Results) -> list[Drawing]:
    """OTCP against DCTCP, by layer."""
    return [
        Drawing(
            "fct_cdf",
            {
                results.paper.series[f"{layer}-{v}"].title: results.run(f"{layer}-{v}", 25)
                for v in ("otcp", "dctcp")
            },
            part=layer,
            flow_class="mice",
        )
        for layer in ("rack", "pod", "core")
    ]


def _goodput(results: Results) -> Drawing:
    runs = {results.paper.series[f"rack-{v}"].title: results.run(f"rack-{v}", 25) for v in VARIANTS}
    return Drawing("throughput_cdf", runs, flow_class="mice")


def _engines(results: Results) -> list[Drawing]:
    """Means on Linux over those in the simulator, over the size of flows."""
    found = _measure(results).means(results)

    def line(series: str) -> dict[Any, float]:
        return {x: linux / sim for (name, x), (linux, sim, _) in found.items() if name == series}

    return [
        Drawing(
            "lines",
            {results.paper.series[f"{kind}-{v}"].title: line(f"{kind}-{v}") for v in VARIANTS},
            part=kind,
            xlabel=SIZE,
            ylabel="mean completion, Linux / simulator",
        )
        for kind in ("rack", "busy")
    ]


def _round_trips(results: Results) -> Drawing:
    """As measured, over the configured one."""
    rows = _measure(results).round_trips(results).values()
    lines = {
        name: {row["configured_us"]: row[key] for row in rows}
        for name, key in (("configured", "configured_us"), ("ICMP", "icmp_us"), ("OTCP", "otcp_us"))
    }
    return Drawing("lines", lines, xlabel="configured round trip (us)", ylabel="measured (us)")


DRAWINGS: dict[str, Callable[[Results], Drawing | list[Drawing]]] = {
    "4": _round_trips,
    "5a": _over_size("rack", "mean_ms", "mean completion time (ms)"),
    "5b": _over_size("rack", "p95_ms", "p95 completion time (ms)"),
    "6": _layers,
    "7": _goodput,
    "8": _over_size("busy", "mean_ms", "mean completion time (ms)"),
    "engines": _engines,
}
