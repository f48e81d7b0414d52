# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper claims about more than one number. Each function takes the results and gives the measured value."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import polars as pl

from etalon.figures import weeks
from etalon.figures.fct_uptime import seconds
from etalon.reproduce import Missing, Results, of_days, ratio
from etalon.results import Run

SMALL_QUEUES = (8, 16, 32)


_VALIDATION = ("validation", 50)

day = of_days(_VALIDATION, "day_ns", 1e3)
"""Mean length of a circuit day in us."""
week = of_days(_VALIDATION, "week_ns", 1e3)
"""Mean length of a week in us."""
packet_rate = of_days(_VALIDATION, "packet_rate_bps", 1e9)
"""Mean rate of the packet network while it is busy, in Gb/s."""
circuit_rate = of_days(_VALIDATION, "circuit_rate_bps", 1e9)
"""Mean rate of the circuit while it is busy, in Gb/s."""


def decade_ago_voq_in_day(results: Results) -> float:
    """Mean VOQ length in a day of 9 ms, in packets."""
    return _voq(results.run("decade-ago", 16), 0.0)


def today_voq_late_in_day(results: Results) -> float:
    """Mean VOQ length in the second half of a day of 180 us, in packets."""
    return _voq(results.run("static", 16), 0.5)


def _voq(run: Run, begin: float) -> float:
    """Mean VOQ length in the measured pair's day from this share of it on."""
    resolved = run.plan.resolve()
    week = weeks.of_plan(resolved)
    if week is None or run.sequence.is_empty():
        raise Missing("no week was measured")
    ((start, end),) = week.days(*weeks.measured_pair(resolved))
    start += round(begin * (end - start))
    # Time zero of the graph is the end of the day.
    at = pl.col("t_ns") % week.length_ns
    length = run.sequence.filter(
        at.is_between(week.length_ns - (end - start), week.length_ns, closed="left")
    )
    value = length["voq_packets"].mean()
    if not isinstance(value, float):
        raise Missing("the VOQ was not seen in a day")
    return value


def uptime_worst_8(results: Results) -> float:
    """Worst completion time between the extremes over the best, 8 packets."""
    return _worst(results, 8)


def uptime_worst_16(results: Results) -> float:
    """Worst completion time between the extremes over the best, 16 packets."""
    return _worst(results, 16)


def uptime_worst_32(results: Results) -> float:
    """Worst completion time between the extremes over the best, 32 packets."""
    return _worst(results, 32)


def uptime_worst_64(results: Results) -> float:
    """Worst completion time between the extremes over the best, 64 packets."""
    return _worst(results, 64)


def uptime_worst_128(results: Results) -> float:
    """Worst completion time between the extremes over the best, 128 packets."""
    return _worst(results, 128)


def uptime_short(results: Results) -> float:
    """Completion time with the shortest days over the best, worst of the small queues."""
    return max(times[min(times)] / min(times.values()) for times in _small(results))


def uptime_long(results: Results) -> float:
    """Completion time with the longest days over the best, worst of the small queues."""
    return max(times[max(times)] / min(times.values()) for times in _small(results))


def _small(results: Results) -> list[dict[int, float]]:
    return [_times(results, packets) for packets in SMALL_QUEUES]


def _worst(results: Results, packets: int) -> float:
    """The worst between the shortest and the longest days, over the best of all."""
    times = _times(results, packets)
    between = [time for day, time in times.items() if min(times) < day < max(times)]
    return max(between) / min(times.values())


def _times(results: Results, packets: int) -> dict[int, float]:
    """Completion times in s by day length in us: the best of the seeds, as the paper."""
    times = {}
    for length, runs in results.whole(f"uptime-{packets}").items():
        ended = [time for time in map(seconds, runs) if time is not None]
        if not ended:
            raise Missing(f"the transfer did not end: {packets} packets, days of {length} us")
        times[length] = min(ended)
    return times


def resize_steps_down(results: Results) -> float:
    """How often utilisation does not rise from one tau to the next, up to 2100 us."""
    taus = [tau for tau in results.whole("resize") if tau <= 2100]
    values = [_utilization(results, "resize", tau) for tau in taus]
    return sum(after <= before for before, after in pairwise(values))


def resize_voq_at_day_start(results: Results) -> float:
    """Mean VOQ length when the day starts, tau 1800 us."""
    run = results.run("resize", 1800)
    src, dst = run.plan.measured_pair
    row = run.pairs.filter((pl.col("src") == src) & (pl.col("dst") == dst))
    if row.is_empty():
        raise Missing("no packet was seen")
    return float(row["voq_at_day_start"][0])


resize_median_ratio = ratio("latency_p50", ("resize", 1800), ("resize", 0))


def variants_below_bbr_and_nv(results: Results) -> float:
    """How many other congestion controls use less of the circuit than BBR or NV do."""
    slow = max(_utilization(results, "controls", name) for name in ("bbr", "nv"))
    others = set(results.whole("controls")) - {"bbr", "nv"}
    return sum(_utilization(results, "controls", name) < slow for name in others)


def mean_gain(results: Results) -> float:
    """Mean gain of dynamic over static VOQs, over the congestion controls that there are, in points."""
    names = results.whole("controls-resize")
    return fmean(
        _utilization(results, "controls-resize", x) - _utilization(results, "controls", x)
        for x in names
    )


resize_utilization_gain = ratio("circuit_utilization_nsdi20", ("resize", 1800), ("static", 16))
retcp_utilization_gain = ratio("circuit_utilization_nsdi20", ("retcp", 150), ("static", 16))
# Static VOQs of 32 packets have a like tail latency, those of 64 a like utilisation.
resize_utilization_against_32 = ratio(
    "circuit_utilization_nsdi20", ("resize", 1800), ("static", 32)
)
resize_latency_against_64 = ratio("latency_p99", ("resize", 1800), ("static", 64))
resize_latency_cost = ratio("latency_p99", ("resize", 1800), ("static", 16))
retcp_latency_cost = ratio("latency_p99", ("retcp", 150), ("static", 16))


def tau_ratio(results: Results) -> float:
    """Smallest tau that uses 90 % of the circuit: resizing alone over reTCP with resizing."""
    return _tau(results, "resize") / max(_tau(results, "retcp"), 1)


def _tau(results: Results, series: str) -> int:
    enough = [tau for tau in results.whole(series) if _utilization(results, series, tau) >= 90]
    if not enough:
        raise Missing(f"no tau of {series} uses 90 % of the circuit")
    return int(min(enough))


def retcp_alone_mean_gain(results: Results) -> float:
    """Mean gain of reTCP without resizing over CUBIC, over the VOQ sizes, in points."""
    return fmean(_retcp_alone(results, packets) for packets in results.whole("static"))


def retcp_alone_gain_32(results: Results) -> float:
    """Gain of reTCP without resizing over CUBIC, 32-packet VOQs, in points."""
    return _retcp_alone(results, 32)


def _retcp_alone(results: Results, packets: int) -> float:
    return _utilization(results, "retcp-static", packets) - _utilization(results, "static", packets)


def _utilization(results: Results, series: str, x: int | str) -> float:
    return results.metric(series, x, "circuit_utilization_nsdi20")
