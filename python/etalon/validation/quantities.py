# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is compared of two runs of one plan, and how far apart they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from etalon.results import Run


@dataclass(frozen=True)
class Quantity:
    """One column of a table of comparisons."""

    key: str
    """Its name in JSON."""
    title: str
    """Its name in the table, with the unit."""
    unit: str
    of: Callable[[Run], float]
    relative: bool = False
    """Compared in percent of what Linux has, otherwise by the difference."""
    bound: float | None = None
    """How far apart they may be; nothing where it is not bounded."""
    least: float = 0.0
    """A difference up to this, in its unit, counts for none (of random plans, whose queues may be empty)."""

    @property
    def compared(self) -> bool:
        """Whether the difference is shown."""
        return self.relative or self.bound is not None

    @property
    def difference_in(self) -> str:
        """The unit of the difference."""
        return "%" if self.relative else "points" if self.unit == "%" else self.unit

    def difference(self, sim: float, linux: float) -> float:
        """How far the simulator is off; not a number if one of both has none."""
        if not self.relative:
            return sim - linux
        return 100 * (sim - linux) / linux if linux else float("nan")


def utilization(run: Run) -> float:
    """Circuit utilisation in percent; of the packet network where there are no circuits.

    Payload over the capacity that the pair really had in the measured time (`docs/metrics.md`), and not
    `circuit_utilization_nsdi20`, the papers' from the first packet to the last.
    """
    value = run.circuit_utilization if run.plan.week_ns else run.packet_utilization
    return 100 * (value or 0.0)


def retransmissions(run: Run) -> float:
    """Segments sent again for 1000 data packets that left the network."""
    packets = sum(run.total("pairs", f"{plane}_packets") for plane in run.planes)
    return 1000 * run.total("flows", "retransmits") / max(packets, 1)


def goodput(run: Run) -> float:
    """Of all flows, in Gb/s."""
    return (run.goodput or 0.0) / 1e9


def first_share(run: Run) -> float:
    """What the flows of the plan's first workload delivered, in percent of all."""
    delivered = run.flows["bytes_delivered"]
    first = run.flows["cc"] == run.flows["cc"][0]
    return 100 * float(delivered.filter(first).sum()) / max(int(delivered.sum()), 1)


def _median(run: Run) -> float:
    return run.latency(50)


def _tail(run: Run) -> float:
    return run.latency(99)


def _voq(run: Run) -> float:
    return run.voq_mean or 0.0


def _fct(flow_class: str, percentile: float) -> Callable[[Run], float]:
    def of(run: Run) -> float:
        time = run.fct_percentile(percentile, flow_class)
        return float("nan") if time is None else time

    return of


def rates(points: float) -> tuple[Quantity, ...]:
    """Of flows without end: utilisation within so many points, the 99th percentile of the time in the switch within 15 %."""
    return (
        Quantity("utilization", "utilisation (%)", "%", utilization, bound=points),
        Quantity("latency_p50", "p50 (µs)", "us", _median, relative=True),
        Quantity("latency_p99", "p99 (µs)", "us", _tail, relative=True, bound=15),
        Quantity("retransmitted", "retransmitted (‰)", "per 1000 packets", retransmissions),
    )


VOQ = Quantity("voq_mean", "mean VOQ (packets)", "packets", _voq, bound=2)
SHARE = Quantity("share", "share of the first (%)", "%", first_share, bound=5)
COMPLETION = tuple(
    Quantity(
        f"fct_{flow_class}_p{percentile}",
        f"{flow_class}, p{percentile} (µs)",
        "us",
        _fct(flow_class, percentile),
        relative=True,
        bound=bound,
    )
    for flow_class in ("small", "big")
    for percentile, bound in ((50, 8), (99, 15))
)
"""Of finite flows: medians within 8 %, 99th percentiles within 15 %."""


def _latency_of_all(percentile: float) -> Callable[[Run], float]:
    return lambda run: run.latency(percentile, pair="all")


def _fct_of_all(percentile: float) -> Callable[[Run], float]:
    def of(run: Run) -> float:
        time = run.fct_percentile(percentile)
        return float("nan") if time is None else time

    return of


def _finished(run: Run) -> float:
    """Flows that came to their end, in percent of those that have one."""
    times = run.fct()["fct_us"]
    return 100 * times.count() / len(times) if len(times) else float("nan")


ANY_PLAN = (
    Quantity("utilization", "utilisation (%)", "%", utilization, bound=5),
    Quantity("goodput", "goodput (Gb/s)", "Gb/s", goodput, relative=True, bound=5),
    Quantity(
        "latency_p50", "p50 (µs)", "us", _latency_of_all(50), relative=True, bound=10, least=1
    ),
    Quantity(
        "latency_p99", "p99 (µs)", "us", _latency_of_all(99), relative=True, bound=10, least=1
    ),
    Quantity("voq_mean", "mean VOQ (packets)", "packets", _voq, relative=True, bound=10, least=0.5),
    Quantity("fct_p50", "FCT, p50 (µs)", "us", _fct_of_all(50), relative=True, bound=10, least=1),
    Quantity("finished", "finished (%)", "%", _finished, bound=5),
    Quantity("fct_p99", "FCT, p99 (µs)", "us", _fct_of_all(99), relative=True),
    Quantity("retransmitted", "retransmitted (‰)", "per 1000 packets", retransmissions),
)
"""Of plans that nobody chose: utilisation and the share of flows that finish within 5 points, goodput within 5 %, times in the
switch, the mean VOQ and the median completion time within 10 %. The last two are shown."""
