# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper claims about more than one number. Each function takes the results and gives the measured value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from statistics import fmean, pstdev

import numpy as np
from numpy.typing import NDArray

from etalon.figures.sequence import baselines
from etalon.reproduce import Missing, Results, of_days, ratio
from etalon.reproduce.paper import X
from etalon.results import Run

VARIANTS = ("cubic", "dctcp", "retcp", "retcpdyn", "mptcp", "tdtcp")
WEEK, DAY, NIGHT, PACKET_DAYS = 1400, 180, 20, 6
"""In us, and how many. Time zero is the end of the optical day; a night comes first."""
OPTICAL = (WEEK - DAY, WEEK)
PACKET = [(NIGHT + n * (DAY + NIGHT), (n + 1) * (DAY + NIGHT)) for n in range(PACKET_DAYS)]

Span = tuple[int, int]
Points = NDArray[np.float64]


def _goodput(results: Results, series: str, x: X) -> float:
    """In Gb/s."""
    return results.metric(series, x, "goodput") / 1e9


def _over(series: str, x: str, other: str) -> Callable[[Results], float]:
    return ratio("goodput", (series, x), (series, other))


tdtcp_over_cubic = _over("bw-lat", "tdtcp", "cubic")
tdtcp_over_dctcp = _over("bw-lat", "tdtcp", "dctcp")
tdtcp_over_mptcp = _over("bw-lat", "tdtcp", "mptcp")
retcpdyn_over_tdtcp = _over("bw-lat", "retcpdyn", "tdtcp")
retcp_over_cubic = _over("bw-lat", "retcp", "cubic")
bw_only_tdtcp_over_cubic = _over("bw-only", "tdtcp", "cubic")
bw_only_tdtcp_over_dctcp = _over("bw-only", "tdtcp", "dctcp")
lat_only_tdtcp_over_cubic = _over("lat-only-fast", "tdtcp", "cubic")


def _below(results: Results, series: str, order: Sequence[Sequence[str]]) -> int:
    """Of groups of transports from fast to slow: pairs of neighbouring groups in which the first is not faster."""
    wrong = 0
    for fast, slow in pairwise(order):
        for one, other in product(fast, slow):
            wrong += _rate(results, series, one) <= _rate(results, series, other)
    return wrong


def _rate(results: Results, series: str, name: str) -> float:
    """Of a transport or of one of the two lines, in Gb/s."""
    if name not in ("optimal", "packet only"):
        return _goodput(results, series, name)
    optimal, packet_only = _lines(results, series)
    return optimal if name == "optimal" else packet_only


def _lines(results: Results, series: str) -> tuple[float, float]:
    """Of the two lines that figures compare with, in Gb/s."""
    lines = baselines(results.run(series, "cubic").plan.resolve(), 1, WEEK)
    if lines is None:
        raise Missing(f"{series} has no circuits")
    return (
        lines.optimal[-1] * 8 / (WEEK * 1e3),
        lines.packet_only[-1] * 8 / (WEEK * 1e3),
    )


def order(results: Results) -> float:
    """Figure 7a from top to bottom."""
    groups = (
        ("optimal",),
        ("tdtcp", "retcpdyn"),
        ("cubic", "dctcp", "retcp"),
        ("mptcp",),
        ("packet only",),
    )
    return _below(results, "bw-lat", groups)


def bw_only_faster_than_mptcp(results: Results) -> float:
    """Of the other transports, how many are not faster than MPTCP in figure 8a."""
    return _below(results, "bw-only", ([x for x in VARIANTS if x != "mptcp"], ["mptcp"]))


def bw_only_retcpdyn(results: Results) -> float:
    """reTCP with resizing over the optimum in figure 8a."""
    return _goodput(results, "bw-only", "retcpdyn") / _lines(results, "bw-only")[0]


def lat_only_order(results: Results) -> float:
    """Figure 9 from top to bottom."""
    return _below(results, "lat-only-fast", (["cubic"], ["dctcp"], ["mptcp"]))


def lat_only_packet_only(results: Results) -> float:
    """The line 'packet only' over 'optimal' in figure 9."""
    optimal, packet_only = _lines(results, "lat-only-fast")
    return packet_only / optimal


def _week(results: Results, series: str, x: str, column: str) -> Points:
    """A column of the sequence graph over one week, by microsecond: the mean over the weeks of a run."""
    return _weekly(results.run(series, x), column)


def _weekly(run: Run, column: str) -> Points:
    values = run.sequence[column].to_numpy()
    if len(values) < WEEK:
        raise Missing("no week was measured")
    whole = values[: len(values) // WEEK * WEEK].reshape(-1, WEEK)
    return np.asarray(whole.mean(axis=0))


def _voq(results: Results, series: str, x: str, span: Span = (0, WEEK)) -> float:
    """Mean length in a part of the week, in packets."""
    return float(_week(results, series, x, "voq_packets")[slice(*span)].mean())


def _slope(results: Results, x: str, spans: Sequence[Span]) -> float:
    """Of the sequence graph in parts of the week, in bytes a us and flow."""
    sent = _week(results, "bw-lat", x, "bytes")
    # The curve is the mean over weeks that begin where the week before ended: differences are those of each.
    return fmean((sent[end - 1] - sent[begin]) / (end - 1 - begin) for begin, end in spans)


def cubic_packet_slope(results: Results) -> float:
    """Slope of CUBIC in packet days over that of the optimum."""
    return _slope(results, "cubic", PACKET) / (_lines(results, "bw-lat")[1] * 1e3 / 8 / 16)


def cubic_optical_slope(results: Results) -> float:
    """Slope of CUBIC in the optical day over that of the optimum."""
    return _optical_slope(results, "cubic")


def mptcp_optical_slope(results: Results) -> float:
    """Slope of MPTCP in the optical day over that of the optimum."""
    return _optical_slope(results, "mptcp")


def _optical_slope(results: Results, x: str) -> float:
    plan = results.run("bw-lat", x).plan
    circuit = plan.resolve()["network"]["rdcn"]["circuits"][0]["rate_bps"] / 8e6 / 16  # bytes a us
    return _slope(results, x, [OPTICAL]) / float(circuit)


def voq_rank(results: Results) -> float:
    """Place of TDTCP among the transports in figure 7b, from the shortest VOQ on."""
    return _voq_rank(results, "bw-lat")


def bw_only_voq_rank(results: Results) -> float:
    """The same in figure 8b."""
    return _voq_rank(results, "bw-only")


def _voq_rank(results: Results, series: str) -> float:
    mine = results.metric(series, "tdtcp", "voq_mean")
    return 1 + sum(results.metric(series, x, "voq_mean") < mine for x in VARIANTS if x != "tdtcp")


def burst(results: Results) -> float:
    """The longest VOQ of TDTCP in the 200 us after the optical day, over its mean."""
    return burst_length(results) / _voq(results, "bw-lat", "tdtcp")


def burst_length(results: Results) -> float:
    """The longest VOQ of TDTCP in the 200 us after the optical day."""
    return float(_after_day(results, "tdtcp").max())


def _after_day(results: Results, x: str) -> Points:
    return _week(results, "bw-lat", x, "voq_packets")[: NIGHT + DAY]


def cubic_voq_in_optical_day(results: Results) -> float:
    """Mean VOQ of CUBIC in the second half of the optical day."""
    return _voq(results, "bw-lat", "cubic", (OPTICAL[0] + DAY // 2, OPTICAL[1]))


def cubic_voq_over_days(results: Results) -> float:
    """Standard deviation of the packet days' mean VOQs."""
    return pstdev(_voq(results, "bw-lat", "cubic", day) for day in PACKET)


def mptcp_burst_and_dip(results: Results) -> float:
    """Which of the two is not there in the 200 us after the optical day: a VOQ above the packet days' mean, one below."""
    mean = fmean(_voq(results, "bw-lat", "mptcp", day) for day in PACKET)
    after = _after_day(results, "mptcp")
    top = int(after.argmax())
    return int(after[top] <= mean) + int(after[top:].min() >= mean)


def tdtcp_days_in_order(results: Results) -> float:
    """Optical days of a flow without reordering, TDTCP, in %."""
    return results.metric("bw-lat", "tdtcp", "days_in_order")


def cubic_missing(results: Results) -> float:
    """90th percentile over a flow's optical days of packets to be retransmitted, CUBIC."""
    return _missing(results, "cubic")


def tdtcp_missing(results: Results) -> float:
    """The same, TDTCP."""
    return _missing(results, "tdtcp")


def mptcp_less_than_cubic(results: Results) -> float:
    """Mean number of packets to be retransmitted in an optical day: CUBIC less MPTCP, all flows."""
    return _mean_by_day(results, "cubic", "missing") - _mean_by_day(results, "mptcp", "missing")


def tdtcp_less_in_vain_than_cubic(results: Results) -> float:
    """Mean number of packets in vain in an optical day: CUBIC less TDTCP, all flows."""
    return _mean_by_day(results, "cubic", "spurious") - _mean_by_day(results, "tdtcp", "spurious")


def _missing(results: Results, x: str) -> float:
    value = results.run("bw-lat", x).by_day("missing", 90)
    if value is None:
        raise Missing(f"no day of {x} was measured")
    return value


def _mean_by_day(results: Results, x: str, quantity: str, series: str = "bw-lat") -> float:
    days = results.run(series, x).reordering.filter(of="pair", quantity=quantity)
    if days.is_empty():
        raise Missing(f"no day of {x} was measured")
    values, counts = days["value"].to_numpy(), days["count"].to_numpy()
    return float((values * counts).sum() / counts.sum())


def strict_in_vain(results: Results) -> float:
    """Packets in vain in an optical day, all flows: without relaxed detection of losses less with it."""
    strict, relaxed = (
        _mean_by_day(results, x, "spurious", "detection") for x in ("strict", "relaxed")
    )
    return strict - relaxed


def heard_in_time(results: Results) -> float:
    """Goodput of TDTCP whose hosts hear in time over that of one whose hosts hear 50 us after the change."""
    return _goodput(results, "bw-lat", "tdtcp") / _goodput(results, "heard", 70)


def heard_too_late(results: Results) -> float:
    """When hosts hear, in us after the change, if TDTCP gets 12.7 % more by hearing in time: between points in proportion."""
    wanted = _goodput(results, "bw-lat", "tdtcp") / 1.127
    points = [(x - 20, _goodput(results, "heard", x)) for x in results.whole("heard")]
    for (early, fast), (late, slow) in pairwise(points):
        if fast >= wanted > slow:
            return float(early + (late - early) * (fast - wanted) / (fast - slow))
    raise Missing("no delay costs as much")


def slow_voq_gap(results: Results) -> float:
    """VOQ of TDTCP less that of CUBIC in figure 14a."""
    return _voq_gap(results, "lat-only-slow")


def fast_voq_gap(results: Results) -> float:
    """The same in figure 14b."""
    return _voq_gap(results, "lat-only-fast")


def _voq_gap(results: Results, series: str) -> float:
    return results.metric(series, "tdtcp", "voq_mean") - results.metric(series, "cubic", "voq_mean")


def slow_retcpdyn_peak(results: Results) -> float:
    """The longest VOQ of reTCP with resizing over CUBIC's in figure 14a."""
    return _peaks(results, "lat-only-slow")


def fast_retcpdyn_peak(results: Results) -> float:
    """The same in figure 14b."""
    return _peaks(results, "lat-only-fast")


def _peaks(results: Results, series: str) -> float:
    retcpdyn, cubic = (
        float(_week(results, series, x, "voq_packets").max()) for x in ("retcpdyn", "cubic")
    )
    return retcpdyn / cubic


_LINKS = ("links", "cubic")

week = of_days(_LINKS, "week_ns", 1e3)
"""Mean length of a week in us."""
day = of_days(_LINKS, "day_ns", 1e3)
"""Mean length of an optical day in us."""
packet_rate = of_days(_LINKS, "packet_rate_bps", 1e9)
"""Mean rate of the packet network while it is busy, in Gb/s."""
circuit_rate = of_days(_LINKS, "circuit_rate_bps", 1e9)
"""Mean rate of the circuit while it is busy, in Gb/s."""
