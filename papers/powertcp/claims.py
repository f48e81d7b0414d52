# SPDX-License-Identifier: MIT OR Apache-2.0
"""What section 5 claims. Each function takes the results and gives the measured value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from etalon.reproduce import Missing, Results, of_days
from etalon.reproduce.paper import X
from etalon.results import Run

WEEK, DAY, PROPAGATION = 5880, 225, 10
"""In us: the week, the day at its end, and the circuit's delay, behind which the receiver counts."""
BASE_RTT = 24
FULL, PAYLOAD = 0.9, 1448 / 1514
"""Share of a circuit's rate at which it is full, and of a packet that is payload."""


def utilization(results: Results, x: X, series: str = "transports") -> float:
    """Share of the circuit that carried payload in its days, in %."""
    return results.metric(series, x, "circuit_utilization")


def powertcp_utilization(results: Results) -> float:
    """Of PowerTCP, in %."""
    return utilization(results, "powertcp")


def hpcc_less(results: Results) -> float:
    """Utilisation of PowerTCP less that of HPCC, in points."""
    return utilization(results, "powertcp") - utilization(results, "hpcc")


def retcp_1800_more(results: Results) -> float:
    """Utilisation of reTCP, 1800 us ahead, less that of PowerTCP, in points."""
    return utilization(results, "retcp-1800") - utilization(results, "powertcp")


def retcp_600_more(results: Results) -> float:
    """The same, 600 us ahead."""
    return utilization(results, "retcp-600") - utilization(results, "powertcp")


def tail(run: Run) -> float:
    """99th percentile of the queueing latency in us: of the time in the switch beyond the shortest there was."""
    return run.latency(99) - run.latency(0)


def retcp_1800_tail(results: Results) -> float:
    """Tail of reTCP, 1800 us ahead, over that of PowerTCP."""
    return _over(results, "retcp-1800")


def retcp_600_tail(results: Results) -> float:
    """The same, 600 us ahead."""
    return _over(results, "retcp-600")


def _over(results: Results, x: str) -> float:
    return tail(results.run("transports", x)) / tail(results.run("transports", "powertcp"))


def throughput(run: Run) -> NDArray[np.float64]:
    """What arrives by microsecond of the week, in Gb/s: the mean over the weeks of a run."""
    values = run.sequence["bytes"].to_numpy()
    if len(values) < WEEK:
        raise Missing("no week was measured")
    weeks = values[: len(values) // WEEK * WEEK].reshape(-1, WEEK).mean(axis=0)
    flows = len(run.plan.resolve()["flows"])
    return np.asarray(np.diff(weeks, prepend=0.0) * flows * 8 / 1e3)


def fill(run: Run) -> float:
    """How long after a day begins the circuit is full, in us: 90 % of its rate, over the base RTT that follows."""
    rate = run.plan.resolve()["network"]["rdcn"]["circuits"][0]["rate_bps"] / 1e9
    arrived = throughput(run)[WEEK - DAY + PROPAGATION :]
    means = np.convolve(arrived, np.ones(BASE_RTT) / BASE_RTT, mode="valid")
    full = np.flatnonzero(means >= FULL * PAYLOAD * rate)
    return float(full[0]) if len(full) else float(DAY)


def powertcp_fill(results: Results) -> float:
    """Of PowerTCP."""
    return fill(results.run("transports", "powertcp"))


_LINKS = ("links", "cubic")

week = of_days(_LINKS, "week_ns", 1e3)
"""Mean length of a week in us."""
day = of_days(_LINKS, "day_ns", 1e3)
"""Mean length of a day in us."""
packet_rate = of_days(_LINKS, "packet_rate_bps", 1e9)
"""Mean rate of the packet network while it is busy, in Gb/s."""
circuit_rate = of_days(_LINKS, "circuit_rate_bps", 1e9)
"""Mean rate of the circuit while it is busy, in Gb/s."""
