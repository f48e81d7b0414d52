# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the demonstration measured, in a few numbers: how far delays are off, how long failures and restarts take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

CLOSE_US = 50
"""Delays that are off by no more count as close."""


def nearest_rank(values: Sequence[float], percent: int) -> float:
    """A percentile: the smallest value that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def of(told: dict[str, Any]) -> dict[str, Any]:
    """Errors of delays (us); from a link's change to the last host that has applied it (ms); a restart (s)."""
    errors = [link["measured_us"] - link["configured_us"] for link in told["delays"]]
    found: dict[str, Any] = {
        "links": len(errors),
        "close": sum(abs(error) <= CLOSE_US for error in errors),
        "error_us": {
            "median": statistics.median(errors),
            "worst": max(errors, key=abs),
        },
    }
    for way in ("down", "up"):
        last = [max(failure[way]["applied_ms"]) for failure in told["failures"]]
        found[f"{way}_ms"] = {
            "times": len(last),
            "median": statistics.median(last),
            "p95": nearest_rank(last, 95),
            "worst": max(last),
        }
    found["restart_s"] = max(told["restart"]["served_s"], told["restart"]["heard_s"])
    return found


def lines(found: dict[str, Any], hosts: int, load: float | None) -> list[str]:
    """As people read it; `load` is the machine's, where it matters."""
    error = found["error_us"]
    shown = [
        f"{found['links']} links: measured delays are off by {error['median']:+z.0f} us (median), {error['worst']:+z.0f} us "
        f"(worst); {found['close']} are within {CLOSE_US} us"
    ]
    for way in ("down", "up"):
        ms = found[f"{way}_ms"]
        shown.append(
            f"link {way}, until the last of {hosts} hosts has applied it, {ms['times']} times: {ms['median']:.1f} ms (median), "
            f"{ms['p95']:.1f} ms (p95), {ms['worst']:.1f} ms (worst)"
        )
    shown.append(
        f"controller started again, until all hosts are served: {found['restart_s']:.2f} s"
    )
    if load is not None:
        shown.append(f"load of the machine meanwhile: {load:.1f}")
    return shown
