# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn, from runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalon.reproduce import Drawing, Results
from etalon.results import Run

PACKETS = "VOQ (packets)"
TAU = "tau (µs)"


def _utilization(series: str, xlabel: str) -> Callable[[Results], Drawing]:
    return lambda results: Drawing("utilization", results.series(series), xlabel=xlabel)


def _latency(series: str, xlabel: str, percentile: int) -> Callable[[Results], Drawing]:
    """By network, as the paper."""

    def drawing(results: Results) -> Drawing:
        runs = results.series(series)
        by_network = {
            f"{network} network": {x: run.latency(percentile, network) for x, run in runs.items()}
            for network in ("packet", "circuit")
        }
        return Drawing("latency", by_network, xlabel=xlabel, percentiles=(percentile,))

    return drawing


def _weeks(series: str, chosen: tuple[Any, ...], label: str) -> Callable[[Results], Drawing]:
    def drawing(results: Results) -> Drawing:
        by_x = results.series(series)
        return Drawing("sequence", {label.format(x): by_x[x] for x in chosen if x in by_x})

    return drawing


def _with_retcp(percentile: int) -> Callable[[Results], list[Drawing]]:
    """The paper plots one against the other; here both lie over tau."""

    def drawings(results: Results) -> list[Drawing]:
        series = {"resizing": results.series("resize"), "reTCP": results.series("retcp")}
        return [
            Drawing("utilization", series, xlabel=TAU),
            Drawing("latency", series, part="latency", xlabel=TAU, percentiles=(percentile,)),
        ]

    return drawings


def _delays(results: Results) -> Drawing:
    """As the paper: over round trips in a day, the circuit's delay taken twice for one."""
    gains = {
        90 / x: results.paper.measures.latency_gain(results, x)
        for x in results.whole("delay-resize")
    }
    return Drawing(
        "lines",
        dict(sorted(gains.items())),
        xlabel="round trips in a day of 180 µs",
        ylabel="gain in median latency (%)",
    )


def _one_ring(name: str, flow_class: str) -> Callable[[Results], Drawing]:
    labels = {"voq": "ToR VOQ", "adu": "ADU", "fixed": "fixed schedule"}

    def drawing(results: Results) -> Drawing:
        runs = {labels[x]: run for x, run in results.series("one-ring").items()}
        return Drawing(name, runs, flow_class=flow_class)

    return drawing


def _writes(results: Results) -> Drawing:
    runs = {"HDFS": results.run("hdfs", "static"), "reHDFS": results.run("rehdfs", "static")}
    return Drawing("fct_cdf", runs, flow_class="hdfs")


def _bytes_of_rings(results: Results) -> Drawing:
    return Drawing("network_bytes", results.series("two-rings"))


def _write_tails(results: Results) -> Drawing:
    times = {name: run.fct_percentile(99, "hdfs") for name, run in _dfsio(results).items()}
    values = {name: time / 1000 for name, time in times.items() if time is not None}
    return Drawing("bars", values, ylabel="p99 write time (ms)")


def _write_throughput(results: Results) -> Drawing:
    throughput = results.paper.measures.throughput
    values = {
        f"{name} {x}": throughput(results, series, x)
        for name, series in (("HDFS", "hdfs"), ("reHDFS", "rehdfs"))
        for x in results.series(series)
    }
    return Drawing("bars", values, ylabel="throughput (Gb/s)")


def _bytes_of_dfsio(results: Results) -> Drawing:
    return Drawing("network_bytes", _dfsio(results))


def _dfsio(results: Results) -> dict[str, Run]:
    return {
        f"{name} {x}": run
        for name, series in (("HDFS", "hdfs"), ("reHDFS", "rehdfs"))
        for x, run in results.series(series).items()
    }


DRAWINGS: dict[str, Callable[[Results], Drawing | list[Drawing]]] = {
    "5a": _weeks("static", (4, 8, 16, 32, 64, 128), "{} packets"),
    "5b": _weeks("resize", (0, 400, 1000, 1400), "{} µs"),
    "6a": _utilization("static", PACKETS),
    "6b": _utilization("resize", TAU),
    "7a": _latency("static", PACKETS, 50),
    "7b": _latency("resize", TAU, 50),
    "8": _with_retcp(50),
    "9": _with_retcp(99),
    "10": _delays,
    "12": _one_ring("fct_cdf", "small"),
    "13": _one_ring("fct_cdf", "big"),
    "14": _one_ring("throughput_cdf", "small"),
    "15": _one_ring("throughput_cdf", "big"),
    "16": _bytes_of_rings,
    "19": _writes,
    "20": _write_tails,
    "21": _write_throughput,
    "22": _bytes_of_dfsio,
}
