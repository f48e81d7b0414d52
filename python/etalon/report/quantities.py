# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of frames for people: headings in words, one unit for all amounts of a kind, one number of decimals a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from etalon import amounts
from etalon.amounts import Scale
from etalon.report.page import Table

_UNITS = {"ns": "ns", "us": "us", "ms": "ms", "bps": "bit/s", "bytes": "B"}
"""Words of columns' names that say a unit."""
_SHARES = ("utilization", "share")
_WORDS = {
    "utilization": "utilisation",
    "voq": "VOQ",
    "fct": "completion",
    "nsdi20": "(NSDI'20)",
    "rtos": "RTOs",
    "tlps": "TLPs",
    "packets": "packets",
}

Units = Callable[[str, Iterable[Any]], Scale]


def described(column: str) -> tuple[str, str]:
    """A column's name in words, and the unit of its amounts: "fct_us_p99" is ("completion p99", "us")."""
    words = column.split("_")
    unit = next((_UNITS[word] for word in words if word in _UNITS), "1")
    if any(word in _SHARES for word in words):
        unit = "0..1"
    kept = [word for word in words if word not in _UNITS] or words
    return " ".join(_WORDS.get(word, word) for word in kept), unit


def by_column(
    frame: pl.DataFrame,
    caption: str,
    units: Mapping[str, str] | None = None,
    most: int | None = None,
) -> Table:
    """A table with a column a column of the frame; `units` are those that names do not say. At most `most` rows are shown."""
    shown = frame if most is None else frame.head(most)
    said = {name: _said(name, units) for name in shown.columns}
    common = _common((said[name][1], shown[name]) for name in shown.columns)
    headings, cells, right = [], [], []
    for at, name in enumerate(shown.columns):
        values, (label, unit) = shown[name].to_list(), said[name]
        if shown[name].dtype.is_numeric():
            scale = common(unit, values)
            headings.append(_with(label, scale.unit))
            cells.append([scale.text(value) for value in values])
            right.append(at)
        else:
            headings.append(label)
            cells.append(["-" if value is None else str(value) for value in values])
    return Table(headings, list(zip(*cells, strict=True)), caption, right)


def by_row(
    frame: pl.DataFrame, heads: Sequence[str], caption: str, leave: Sequence[str] = ()
) -> Table:
    """A table with a row a column of the frame, whose rows are named by `heads`: for many quantities of few things."""
    names = [name for name in frame.columns if name not in leave]
    said = {name: described(name) for name in names}
    common = _common((said[name][1], frame[name]) for name in names)
    rows = []
    for name in names if frame.height else []:
        label, unit = said[name]
        values = frame[name].to_list()
        scale = common(unit, values)
        rows.append((_with(label, scale.unit), *(scale.text(value) for value in values)))
    return Table(("", *heads), rows, caption, range(1, 1 + len(heads)))


def _said(name: str, units: Mapping[str, str] | None) -> tuple[str, str]:
    return (name, units[name]) if units and name in units else described(name)


def _common(columns: Iterable[tuple[str, pl.Series]]) -> Units:
    """The units of a table with these columns."""
    return amounts.units_of(
        (unit, value)
        for unit, values in columns
        if values.dtype.is_numeric()
        for value in values.drop_nulls()
    )


def _with(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit else label
