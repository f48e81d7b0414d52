# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the demonstration says in short, from what it measured."""

from __future__ import annotations

from typing import Any

import pytest

from etalon_otcp.demo import summary


def told() -> dict[str, Any]:
    """Three links, twenty failures of a network with two hosts, a restart."""
    links = [(100, 110), (200, 290), (300, 249)]
    failures = [
        {"down": {"applied_ms": [1.0, float(n)]}, "up": {"applied_ms": [2.0, 3.0]}}
        for n in range(1, 21)
    ]
    return {
        "delays": [{"configured_us": true, "measured_us": seen} for true, seen in links],
        "failures": failures,
        "restart": {"served_s": 1.5, "heard_s": 1.6},
    }


def test_the_last_host_counts() -> None:
    found = summary.of(told())
    assert found["error_us"] == {"median": 10, "worst": 90}
    assert (found["links"], found["close"]) == (3, 1)
    assert found["down_ms"] == {"times": 20, "median": 10.5, "p95": 19.0, "worst": 20.0}
    assert found["up_ms"]["p95"] == 3.0
    assert found["restart_s"] == 1.6


def test_it_is_said_in_words() -> None:
    shown = "\n".join(summary.lines(summary.of(told()), hosts=2, load=None))
    assert "off by +10 us (median), +90 us (worst); 1 are within 50 us" in shown
    assert "link down, until the last of 2 hosts has applied it, 20 times" in shown
    assert "19.0 ms (p95)" in shown
    assert "load" not in shown
    assert "load of the machine meanwhile: 2.5" in summary.lines(summary.of(told()), 2, 2.5)


@pytest.mark.parametrize(("values", "expected"), [([7], 7), (range(1, 101), 95), (range(20), 18)])
def test_percentiles_are_values_that_occurred(values: list[float], expected: float) -> None:
    assert summary.nearest_rank(values, 95) == expected
