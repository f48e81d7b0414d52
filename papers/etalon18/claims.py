# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper claims about more than one number. Each function takes the results and gives the measured value."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import numpy as np

from etalon.reproduce import Missing, Results, ratio

SIZES = (4, 8, 16, 32, 64, 128)


resize_gain = ratio("circuit_utilization_nsdi20", ("resize", 1000), ("static", 16))
resize_latency = ratio("latency_p50", ("resize", 1000), ("static", 16))
resize_latency_against_64 = ratio("latency_p50", ("resize", 1000), ("static", 64))


def retcp_gain(results: Results) -> float:
    """Mean gain of reTCP with resizing over resizing alone, in points."""
    taus = [tau for tau in results.whole("retcp") if tau >= 200]
    return fmean(
        _utilization(results, "retcp", tau) - _utilization(results, "resize", tau) for tau in taus
    )


def retcp_alone_gain(results: Results) -> float:
    """How much lower the median latency of reTCP on static VOQs is than Reno's at a like utilisation: mean, in %."""
    static = [("static", size) for size in SIZES]
    return fmean(_gain(results, ("retcp-static", size), static) for size in (4, 8, 16))


def delay_gain(results: Results) -> float:
    """Gain in median latency at 30 us less that at 10 us, in points."""
    return latency_gain(results, 30) - latency_gain(results, 10)


def delay_gain_long(results: Results) -> float:
    """Gain in median latency at 120 us, three quarters of a round trip in a day, in %."""
    return latency_gain(results, 120)


def latency_gain(results: Results, delay_us: int) -> float:
    """How much lower the median latency of resizing is than that of a static VOQ of the same utilisation, in %."""
    static = [(f"delay-{size}", delay_us) for size in SIZES]
    return _gain(results, ("delay-resize", delay_us), static)


def _gain(results: Results, point: tuple[str, int], static: list[tuple[str, int]]) -> float:
    """How much lower the median latency at `point` is than a static VOQ's at the same utilisation, in %.

    Between two sizes it is taken in proportion to utilisation, as the authors do for figure 10.
    """
    curve = sorted((_utilization(results, *other), _median(results, *other)) for other in static)
    utilization, latency = zip(*curve, strict=True)
    like = np.interp(_utilization(results, *point), utilization, latency)
    return float(100 * (1 - _median(results, *point) / like))


def _utilization(results: Results, series: str, x: int) -> float:
    """Circuit utilisation in %."""
    return results.metric(series, x, "circuit_utilization_nsdi20")


def _median(results: Results, series: str, x: int) -> float:
    """Median latency of all packets in us."""
    return results.metric(series, x, "latency_p50")


def _completion(
    series: str, point: str, flow_class: str, percentile: float
) -> Callable[[Results], float]:
    """Completion time in ms of the flows that finished; why these, the README says."""

    def measure(results: Results) -> float:
        time = results.run(series, point).fct_percentile(percentile, flow_class)
        if time is None:
            raise Missing(f"{series} at {point}: no {flow_class} flow finished")
        return time / 1000

    return measure


def _fct_gain(
    series: str, point: str, over: str, flow_class: str, percentile: float
) -> Callable[[Results], float]:
    """How many times as long completion takes with `over` as with `point`."""
    long = _completion(series, over, flow_class, percentile)
    short = _completion(series, point, flow_class, percentile)
    return lambda results: long(results) / short(results)


one_ring_small_p99 = _fct_gain("one-ring", "adu", "voq", "small", 99)
one_ring_big_p50 = _fct_gain("one-ring", "adu", "voq", "big", 50)
one_ring_big_p99 = _fct_gain("one-ring", "adu", "voq", "big", 99)
one_ring_fixed = _fct_gain("one-ring", "adu", "fixed", "big", 50)
packet_40_p50 = _fct_gain("two-rings", "packet-40", "adu-retcp", "big", 50)
packet_40_p99 = _fct_gain("two-rings", "packet-40", "adu-retcp", "big", 99)
packet_80_p99 = _fct_gain("two-rings", "packet-80", "adu-retcp", "big", 99)

big_gain_adu_resize = _fct_gain("two-rings", "adu-resize", "voq", "big", 50)
big_gain_adu_retcp = _fct_gain("two-rings", "adu-retcp", "voq", "big", 50)

TABLE_2 = ("voq", "voq-resize", "voq-retcp", "adu", "adu-resize", "adu-retcp", "fixed",
           "packet-10", "packet-20", "packet-40", "packet-80")  # fmt: skip
for _point in TABLE_2:
    _name = _point.replace("-", "_")
    globals()[f"small_p50_{_name}"] = _completion("two-rings", _point, "small", 50)
    globals()[f"small_p99_{_name}"] = _completion("two-rings", _point, "small", 99)
    globals()[f"big_p50_{_name}"] = _completion("two-rings", _point, "big", 50)
    globals()[f"big_p99_{_name}"] = _completion("two-rings", _point, "big", 99)


def packet_10_unfinished(results: Results) -> float:
    """Bytes in GB that flows still had to deliver when they were killed."""
    return results.run("two-rings", "packet-10").bytes_unfinished / 1e9


def rehdfs_p50(results: Results) -> float:
    """Median time to write a block with HDFS over that with reHDFS."""
    return _write(results, "hdfs", 50) / _write(results, "rehdfs", 50)


def rehdfs_p99(results: Results) -> float:
    """The same for the 99th percentile."""
    return _write(results, "hdfs", 99) / _write(results, "rehdfs", 99)


def rehdfs_max(results: Results) -> float:
    """The longest time to write with HDFS over that with reHDFS."""
    return _write(results, "hdfs", 100) / _write(results, "rehdfs", 100)


def hdfs_resize_saves(results: Results) -> float:
    """Share of the 99th percentile that resizing saves with HDFS, in %."""
    return 100 * (1 - _write(results, "hdfs", 99, "resize") / _write(results, "hdfs", 99))


def rehdfs_saves(results: Results) -> float:
    """Share of the 99th percentile that reHDFS saves, in %."""
    return 100 * (1 - _write(results, "rehdfs", 99) / _write(results, "hdfs", 99))


def rehdfs_saves_on_resize(results: Results) -> float:
    """The same over HDFS with resizing."""
    return 100 * (1 - _write(results, "rehdfs", 99) / _write(results, "hdfs", 99, "resize"))


def hdfs_throughput(results: Results) -> float:
    """Aggregate throughput with HDFS in Gb/s."""
    return throughput(results, "hdfs", "static")


def rehdfs_throughput(results: Results) -> float:
    """Aggregate throughput with reHDFS over that with HDFS."""
    return throughput(results, "rehdfs", "static") / throughput(results, "hdfs", "static")


def hdfs_resize_throughput(results: Results) -> float:
    """Aggregate throughput with resizing over that without, HDFS."""
    return throughput(results, "hdfs", "resize") / throughput(results, "hdfs", "static")


def rehdfs_resize_throughput(results: Results) -> float:
    """The same with reHDFS."""
    return throughput(results, "rehdfs", "resize") / throughput(results, "rehdfs", "static")


def rehdfs_retcp_throughput(results: Results) -> float:
    """Aggregate throughput with resizing and reTCP over that with neither, reHDFS."""
    return throughput(results, "rehdfs", "retcp") / throughput(results, "rehdfs", "static")


def _write(results: Results, series: str, percentile: float, point: str = "static") -> float:
    """A percentile of the time to write a block to the other rack, in ms: each has a connection of its own."""
    time = results.run(series, point).fct_percentile(percentile, "hdfs")
    if time is None:
        raise Missing(f"{series} at {point}: no block was written")
    return time / 1000


def throughput(results: Results, series: str, point: str) -> float:
    """As DFSIO has it, in Gb/s: the number of files times the mean rate of a file's writer."""
    writes = results.run(series, point).writes
    if not (writes["end_ns"] >= 0).all():
        raise Missing(f"{series} at {point}: not all files were written")
    time_ns = (writes["end_ns"] - writes["start_ns"]).to_numpy()
    return float(writes["bytes_written"].to_numpy().sum() * 8 / time_ns.mean())
