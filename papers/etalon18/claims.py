"""What the paper claims about more than one number. Each function takes the results and gives the measured value."""

from __future__ import annotations

from statistics import fmean

from etalon.reproduce import Missing, Results

SIZES = (4, 8, 16, 32, 64, 128)


def resize_gain(results: Results) -> float:
    """Utilisation of resizing over that of static VOQs of 16 packets."""
    return _utilization(results, "resize", 1000) / _utilization(results, "static", 16)


def resize_latency(results: Results) -> float:
    """Median latency of resizing over that of static VOQs of 16 packets."""
    return _median(results, "resize", 1000) / _median(results, "static", 16)


def resize_latency_against_64(results: Results) -> float:
    """Median latency of resizing over that of static VOQs of 64 packets."""
    return _median(results, "resize", 1000) / _median(results, "static", 64)


def retcp_gain(results: Results) -> float:
    """Mean gain of reTCP with resizing over resizing alone, in points."""
    taus = [tau for tau in results.whole("retcp") if tau >= 200]
    return fmean(
        _utilization(results, "retcp", tau) - _utilization(results, "resize", tau) for tau in taus
    )


def retcp_alone_gain(results: Results) -> float:
    """Mean gain of reTCP over Reno on static VOQs, in points."""
    sizes = results.whole("retcp-static")
    return fmean(
        _utilization(results, "retcp-static", size) - _utilization(results, "static", size)
        for size in sizes
    )


def delay_gain(results: Results) -> float:
    """Gain in median latency at 30 us over that at 10 us."""
    return latency_gain(results, 30) / latency_gain(results, 10)


def delay_gain_long(results: Results) -> float:
    """Gain in median latency at 180 us, in %."""
    return latency_gain(results, 180)


def latency_gain(results: Results, delay_us: int) -> float:
    """How much lower the median latency of resizing is than that of a static VOQ of the same utilisation, in %.

    The static VOQ is found on the line through the sizes that were run.
    """
    wanted = _utilization(results, "delay-resize", delay_us)
    points = [
        (
            _utilization(results, f"delay-{size}", delay_us),
            _median(results, f"delay-{size}", delay_us),
        )
        for size in SIZES
    ]
    static = points[-1][1]
    for (low, before), (high, after) in zip(points, points[1:], strict=False):
        if low <= wanted <= high and high > low:
            static = before + (after - before) * (wanted - low) / (high - low)
            break
    else:
        if wanted < points[0][0]:
            raise Missing("no static VOQ that was run has so little utilisation")
    return 100 * (1 - _median(results, "delay-resize", delay_us) / static)


def _utilization(results: Results, series: str, x: int) -> float:
    """Circuit utilisation in %."""
    return 100 * results.metric(series, x, "circuit_utilization")


def _median(results: Results, series: str, x: int) -> float:
    """Median latency of all packets in us."""
    return results.metric(series, x, "latency_p50")
