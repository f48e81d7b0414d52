# SPDX-License-Identifier: MIT OR Apache-2.0
"""Quantities: read exactly, written back exactly, refused with a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from etalon.units import RATE, SIZE, TIME, Quantity, counted, rounded


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (TIME, "180us", 180_000),
        (TIME, "1.44 s", 1_440_000_000),
        (TIME, "0.5us", 500),
        (RATE, "10Gbps", 10_000_000_000),
        (RATE, "2.5 Gb/s", 2_500_000_000),
        (SIZE, "64KiB", 65_536),
        (SIZE, "25GB", 25_000_000_000),
    ],
)
def test_text_becomes_an_exact_integer(quantity: Quantity, text: str, value: int) -> None:
    assert quantity.read(text) == value


@given(st.integers(0, 3_600_000_000_000))
def test_times_are_written_back_exactly(ns: int) -> None:
    assert TIME.read(TIME.format(ns)) == ns


@given(st.integers(0, 10**14))
def test_rates_are_written_back_exactly(bps: int) -> None:
    assert RATE.read(RATE.format(bps)) == bps


def test_zero_needs_no_unit() -> None:
    assert TIME.read(0) == 0


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (180, "180 has no unit"),
        (True, "true has no unit"),
        ("180", '"180" has no unit'),
        ("10Gbps", '"10Gbps" has an unknown unit; a time is written like "180us"'),
        ("-3us", '"-3us" is negative'),
        ("fast", '"fast" does not start with a number'),
        ("0.1ns", '"0.1ns" is finer than the smallest unit'),
        ("2000min", '"2000min" is too large: a time is at most "60min"'),
        ("99999999999999999999s", '"99999999999999999999s" is too large'),
    ],
)
def test_what_is_not_a_time_is_refused(value: object, sentence: str) -> None:
    with pytest.raises(PydanticCustomError) as refusal:
        TIME.read(value)
    assert refusal.value.message().startswith(sentence)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_440_000_000, "1.44 s"),
        (960_000_000, "960 ms"),
        (999_600_000, "1 s"),
        (33_436_694_519, "33.4 s"),
        (240_000_480_000, "240 s"),
        (3_600_000_000_000, "3600 s"),
    ],
)
def test_times_for_people_have_three_digits(ns: int, text: str) -> None:
    assert rounded(ns) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (counted(0, "packet"), "0 packets"),
        (counted(1, "packet"), "1 packet"),
        (counted(1, "switch", "switches"), "1 switch"),
        (counted(2, "switch", "switches"), "2 switches"),
    ],
)
def test_one_is_no_plural(count: str, text: str) -> None:
    assert count == text
