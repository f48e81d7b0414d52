# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long schedulers take, for several numbers of racks and kinds of demand: the median of some computations.

A week is computed in the time of a week, or it comes late: Etalon'18's weeks last 2 ms.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from etalon import schedulers

NAME = "schedulers"
RACKS = (8, 32, 64, 128, 256)
BYTES_PER_US = 10_000
"""Of a circuit of 80 Gb/s."""

Demand = schedulers.Matrix
_Pick = np.random.Generator


def dense(racks: int, fill: int, pick: _Pick) -> Demand:
    """All pairs have 0.5 to 1.5 times the same, as in a shuffle; a rack's sum is what the window carries."""
    mean = fill / (racks - 1)
    return _demand(mean * pick.uniform(0.5, 1.5, (racks, racks)))


def skewed(racks: int, fill: int, pick: _Pick) -> Demand:
    """Four rings share nine tenths of the window, all other pairs the last tenth."""
    src, dst = np.indices((racks, racks))
    ring = (dst - src) % racks
    mean = np.where(ring <= 4, fill * 9 / 40, fill / 10 / racks)
    return _demand(mean * pick.uniform(0.5, 1.5, (racks, racks)))


def sparse(racks: int, fill: int, pick: _Pick) -> Demand:
    """Each rack sends to about four others, chosen at random."""
    sends = pick.uniform(size=(racks, racks)) < 4 / racks
    return _demand(sends * fill / 4 * pick.uniform(0.5, 1.5, (racks, racks)))


KINDS: dict[str, Callable[[int, int, _Pick], Demand]] = {
    "dense": dense,
    "skewed": skewed,
    "sparse": sparse,
}


def _demand(values: np.typing.NDArray[np.float64]) -> Demand:
    whole = values.astype(np.uint64)
    np.fill_diagonal(whole, 0)
    return whole


def measure(scheduler: str = "solstice") -> Iterator[dict[str, Any]]:
    """One row for each kind of demand and number of racks; computations are timed inside the core.

    Windows are Etalon'18's 2 ms, and one that has room for a day for every other rack: a dense matrix of many racks has no
    days to offer in 2 ms.

    The keys are scheduler, demand, racks, window_us, median_ms, best_ms, days (with circuits) and served (share of the demand).
    """
    for kind, make in KINDS.items():
        for racks in RACKS:
            for window_us in dict.fromkeys((2000, 250 * racks)):
                yield _measure(scheduler, kind, make, racks, window_us)


def _measure(
    scheduler: str, kind: str, make: Callable[[int, int, _Pick], Demand], racks: int, window_us: int
) -> dict[str, Any]:
    demand = make(racks, window_us * BYTES_PER_US, np.random.default_rng(racks))
    times: list[int] = []
    while len(times) < 5 or (len(times) < 50 and sum(times) < 300_000_000):
        # Nothing is too small: the bench is about the computation.
        week = schedulers.compute(scheduler, demand, window=f"{window_us}us", threshold="1B")
        times.append(week.took_ns)
    days = sum(any(src >= 0 for src in c["sources"]) for c in week.configurations)
    return {
        "scheduler": scheduler,
        "demand": kind,
        "racks": racks,
        "window_us": window_us,
        "median_ms": statistics.median(times) / 1e6,
        "best_ms": min(times) / 1e6,
        "days": days,
        "served": float(week.served.sum() / demand.sum()),
    }
