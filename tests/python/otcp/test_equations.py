# SPDX-License-Identifier: MIT OR Apache-2.0
"""Equations, bounds and Table I of the paper."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalon.plan.otcp import bounds, equations, table1
from etalon.plan.otcp.bounds import Bounds
from etalon.plan.otcp.equations import Parameters, PathInputs

windows = st.integers(0, 10**7)
times = st.integers(0, 10**11)


def test_table_1_is_exact_but_for_the_two_values_that_contradict_its_equations() -> None:
    cells = table1.cells()
    assert len(cells) == 15
    different = {
        (cell.layer, cell.column): (cell.computed, cell.printed)
        for cell in cells
        if cell.computed != cell.printed
    }
    assert different == {
        ("ToR", "CWNDmax (MSS)"): (53.0, 49.0),
        ("Core", "RTOinit (ms)"): (26.0, 25.0),
    }
    assert different.keys() == table1.WHY.keys()


def test_table_1_on_the_command_line(etalon) -> None:  # type: ignore[no-untyped-def]
    answer = etalon("otcp", "table1")
    assert answer.code == 0
    assert "53" in answer.out and "629 us x 1 Gb/s" in answer.out
    assert len(json.loads(etalon("otcp", "table1", "--json").out)) == 15


@given(
    rtt=st.integers(1, 10**10),
    queueing=st.integers(0, 10**10),
    rate=st.integers(10**6, 10**12),
    back=st.integers(10**6, 10**12),
    alpha=st.integers(1, 1000),
)
def test_parameters_hold_what_they_promise(
    rtt: int, queueing: int, rate: int, back: int, alpha: int
) -> None:
    found = equations.compute(PathInputs(rtt, queueing, rate, back, alpha, alpha))
    assert 0 <= found.rto_min_ns - rtt < 1_000_000 and found.rto_min_ns % 1_000_000 == 0
    assert found.rto_init_ns == 2 * (rtt + queueing)
    bits = found.max_cwnd * 8 * equations.MSS * 10**9
    assert bits <= rtt * rate < bits + 8 * equations.MSS * 10**9
    assert found.initial_cwnd * alpha >= found.max_cwnd
    assert found.initial_cwnd == 1 or (found.initial_cwnd - 1) * alpha < found.max_cwnd
    assert found.initial_rwnd >= 10


@given(times, times, times, windows, windows, windows)
def test_what_is_published_is_within_the_protocols_bounds(
    rto_min: int, rto_max: int, rto_init: int, most: int, initial: int, offered: int
) -> None:
    wanted = Parameters(rto_min, rto_max, rto_init, most, initial, offered)
    found, cuts = bounds.apply(wanted, Bounds())
    assert 10**6 <= found.rto_min_ns <= 10**9
    assert found.rto_min_ns <= found.rto_init_ns <= 3 * 10**9
    assert 1 <= found.initial_cwnd <= found.max_cwnd <= 65535
    assert 10 <= found.initial_rwnd <= 65535
    changed = {
        name
        for name, before, after in (
            ("rto_min", wanted.rto_min_ns, found.rto_min_ns),
            ("rto_init", wanted.rto_init_ns, found.rto_init_ns),
            ("max_cwnd", wanted.max_cwnd, found.max_cwnd),
            ("initial_cwnd", wanted.initial_cwnd, found.initial_cwnd),
            ("initial_rwnd", wanted.initial_rwnd, found.initial_rwnd),
        )
        if before != after
    }
    assert {cut.parameter for cut in cuts} == changed
    assert bounds.apply(found, Bounds()) == (found, [])


def test_a_cut_says_which_bound() -> None:
    wanted = Parameters(5_000_000, 6_000_000, 2_000_000, 100_000, 70_000, 20)
    _, cuts = bounds.apply(wanted, Bounds(max_cwnd_most=300))
    assert [(cut.parameter, cut.bounded, cut.bound) for cut in cuts] == [
        ("rto_init", 5_000_000, "rto_min"),
        ("max_cwnd", 300, "max_cwnd_most"),
        ("initial_cwnd", 300, "max_cwnd"),
    ]


@pytest.mark.parametrize(
    ("most", "alpha", "expected"), [(53, 100, 1), (127, 100, 2), (476, 100, 5), (0, 100, 1)]
)
def test_the_initial_window_is_rounded_up_and_at_least_one(
    most: int, alpha: int, expected: int
) -> None:
    assert equations.initial_cwnd(most, alpha) == expected
