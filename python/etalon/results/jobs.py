# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers of jobs of ranks, read off their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from etalon.plan import Plan


def done(iterations: pl.DataFrame) -> pl.DataFrame:
    """Iterations that all ranks ended, with the time they took."""
    ended = iterations.filter(pl.col("end_ns") >= 0)
    return ended.with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("took_ns"))


def time(iterations: pl.DataFrame, percentile: float) -> float | None:
    """A percentile of the time of an iteration, from its first rank's start to its last rank's end, in milliseconds."""
    quantile = done(iterations)["took_ns"].quantile(percentile / 100, "nearest")
    return None if quantile is None else float(quantile) / 1e6


def exposed_share(iterations: pl.DataFrame) -> float | None:
    """Share of ranks' time in which they did not compute."""
    ended = done(iterations)
    exposed, computed = (float(ended[name].sum()) for name in ("exposed_ns", "compute_ns"))
    return exposed / (exposed + computed) if exposed + computed > 0 else None


def straggler_wait(iterations: pl.DataFrame) -> float | None:
    """How much longer the slowest rank computed than ranks on average, mean over iterations, in milliseconds."""
    late = done(iterations)
    mean = (late["slowest_ns"] - late["compute_ns"]).mean()
    return None if mean is None else float(str(mean)) / 1e6


def circuit_wait(steps: pl.DataFrame) -> float | None:
    """Mean time from when a rank was ready to send to when its circuits were there, in milliseconds."""
    granted = steps.filter(pl.col("granted_ns") >= 0)
    mean = (granted["granted_ns"] - granted["ready_ns"]).clip(lower_bound=0).mean()
    return None if mean is None else float(str(mean)) / 1e6


def bandwidth(plan: Plan, iterations: pl.DataFrame, bus: bool) -> float | None:
    """Bytes of an iteration's collectives over the time that its ranks did not compute, in bit/s; with `bus`, the bytes that a
    rank has to send at least (nccl-tests)."""
    per_job = []
    for number, job in enumerate(plan.job):
        mine = done(iterations.filter(pl.col("job") == number))
        exposed = float(mine["exposed_ns"].sum())
        if exposed > 0:
            ranks = len(job.hosts(plan.setting()))
            size = sum(deed.bus(ranks) if bus else deed.bytes for deed in job.do)
            per_job.append((size * 8e9 * len(mine), exposed))
    if not any(bits for bits, _ in per_job):
        return None
    return sum(bits for bits, _ in per_job) / sum(ns for _, ns in per_job)
