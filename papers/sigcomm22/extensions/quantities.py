# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is read off the runs of a point, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

import etalon as et

Measured = Mapping[tuple[str, str | float], Sequence[et.Run]]
"""The runs of an experiment by line and x, one a seed."""


@dataclass(frozen=True)
class Quantity:
    """A number of a run."""

    title: str
    short: str
    """In the head of a table's column."""
    of: Callable[[et.Run], float]
    digits: int = 1

    def mean(self, runs: Sequence[et.Run]) -> float:
        """Over seeds."""
        return fmean(map(self.of, runs))

    def text(self, runs: Sequence[et.Run]) -> str:
        """As a cell of a table."""
        value = self.mean(runs)
        return "-" if value != value else f"{value:.{self.digits}f}"


def jain(run: et.Run) -> float:
    """Jain's index of what flows received: 1 if all have the same, 1/n if one has all."""
    received = run.flows["bytes_delivered"].to_list()
    return float(sum(received) ** 2 / (len(received) * sum(b * b for b in received)))


def share(run: et.Run) -> float:
    """What a flow of TDTCP receives over what one of CUBIC does; not a number if there are no flows of one of them."""
    flows = run.plan.resolve()["flows"]
    is_tdtcp = [isinstance(flow.get("transport"), dict) for flow in flows]
    parts = run.flows.with_columns(pl.Series("tdtcp", is_tdtcp))
    means = [
        parts.filter(pl.col("tdtcp") == of)["bytes_delivered"].to_list() for of in (True, False)
    ]
    return fmean(means[0]) / fmean(means[1]) if all(means) else float("nan")


QUANTITIES: Mapping[str, Quantity] = {
    "goodput": Quantity("goodput (Gb/s)", "Gb/s", lambda run: (run.goodput or 0) / 1e9, 2),
    "voq": Quantity("VOQ (packets)", "VOQ", lambda run: run.voq_mean or 0),
    "spurious": Quantity("packets in vain", "in vain", lambda run: run.spurious or 0, 0),
    "jain": Quantity("Jain's index", "Jain", jain, 3),
    "share": Quantity("a TDTCP flow's goodput over a CUBIC flow's", "TDTCP over CUBIC", share, 2),
    "slowdown_p50": Quantity(
        "slowdown, median", "median", lambda run: run.slowdown(50) or float("nan")
    ),
    "slowdown_p99": Quantity(
        "slowdown, 99 %", "99 %", lambda run: run.slowdown(99) or float("nan"), 0
    ),
}
