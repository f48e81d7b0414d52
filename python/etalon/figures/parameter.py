# SPDX-License-Identifier: MIT OR Apache-2.0
"""A quantity over the values of a parameter: the common part of the figures that show a sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from etalon.figures import style
from etalon.figures.types import Estimate, Points, RunLike, Tolerance, Value

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Quantity = Callable[[RunLike], float | None]
"""What is read off a run; None where the run has no answer."""


@dataclass(frozen=True)
class Line:
    """Points of one series, in the order of the parameter."""

    x: list[Any]
    y: list[float]
    low: list[float]
    high: list[float]

    @property
    def spread(self) -> list[list[float]] | None:
        """Distance to the lowest and the highest seed of each point, or None if there was but one."""
        if self.low == self.high:
            return None
        middle, low, high = (np.array(values) for values in (self.y, self.low, self.high))
        return [list(middle - low), list(high - middle)]


def measure(value: Value, quantity: Quantity) -> list[float]:
    """The quantity of a point, one number a seed; points without an answer give none."""
    runs = value if isinstance(value, Sequence) else [value]
    numbers = (float(run) if isinstance(run, (int, float)) else quantity(run) for run in runs)
    return [number for number in numbers if number is not None and math.isfinite(number)]


def line_of(points: Points, quantity: Quantity) -> Line:
    """The mean over seeds at each value of the parameter, with the lowest and the highest; an estimate with its interval."""
    x, y, low, high = [], [], [], []
    for key in _ordered(points):
        point = points[key]
        numbers = measure(point, quantity)
        if numbers:
            estimate = point if isinstance(point, Estimate) else None
            x.append(key)
            y.append(sum(numbers) / len(numbers))
            low.append(estimate.low if estimate is not None else min(numbers))
            high.append(estimate.high if estimate is not None else max(numbers))
    return Line(x, y, low, high)


def _ordered(points: Mapping[Any, Any]) -> list[Any]:
    keys = list(points)
    return sorted(keys) if all(isinstance(key, (int, float)) for key in keys) else keys


Published = Mapping[Any, float] | Mapping[str, Mapping[Any, float]]
"""Published values by value of the parameter; or several such series by the names of the measured ones."""


@dataclass(frozen=True)
class Reference:
    """One series of published values, with the half widths of their tolerances."""

    name: str
    index: int | None
    """Number of the measured series that it belongs to; None if it stands for all."""
    x: list[Any]
    y: list[float]
    whiskers: list[float] | None

    @property
    def colour(self) -> str:
        """Grey, or the colour of its series."""
        return style.BASELINE if self.index is None else style.colour(self.index)


def references(
    published: Published | None,
    tolerance: Tolerance | None,
    series: Sequence[str],
    label: str = "published",
) -> list[Reference]:
    """The published values as series, in the order of the measured ones."""
    nested: dict[str, Any] = {
        str(k): v for k, v in (published or {}).items() if isinstance(v, Mapping)
    }
    result = []
    for name, values in (nested or {"": published or {}}).items():
        x = _ordered(values)
        y = [values[key] for key in x]
        whiskers = [tolerance.around(value) for value in y] if tolerance else None
        index = list(series).index(name) if name in series and nested else None
        if x:
            result.append(Reference(f"{name}, {label}" if name else label, index, x, y, whiskers))
    return result


def all_x(lines: Iterable[Line], references: Iterable[Reference]) -> list[Any]:
    """Every value of the parameter that is drawn."""
    return [x for line in lines for x in line.x] + [
        x for reference in references for x in reference.x
    ]


def plot_reference(
    ax: Axes, reference: Reference, *, x: Sequence[Any] | None = None, marker: str | None = None
) -> None:
    """Draws published values as open markers with their tolerance as whiskers, at `x` if it is given."""
    ax.errorbar(
        reference.x if x is None else x,
        reference.y,
        yerr=reference.whiskers,
        fmt=marker or style.marker(reference.index or 0),
        ls="none",
        ms=5.5,
        mfc="none",
        mew=0.8,
        color=reference.colour,
        elinewidth=0.7,
        capsize=1.8,
        capthick=0.7,
        zorder=2.5,
        label=reference.name,
    )


def scale_x(ax: Axes, x: Sequence[Any], *, logarithmic: bool) -> None:
    """Puts ticks at the values of the parameter, as many as there is room for."""
    values = sorted(set(x))
    if logarithmic:
        ax.set_xscale("log", base=2)
    formatter = ScalarFormatter()
    formatter.set_scientific(False)
    ax.xaxis.set_major_formatter(formatter)
    ax.xaxis.set_minor_locator(NullLocator())
    if len(values) <= 7 or not logarithmic:
        every = max(-(-len(values) // 7), 1)
        shown = values[::every]
        ax.xaxis.set_major_locator(FixedLocator(shown if logarithmic else _apart(shown)))


def _apart(values: Sequence[Any]) -> list[Any]:
    """Those of some ascending values whose labels do not touch, with both ends: an axis has room for eleven."""
    if not values:
        return []
    room = (values[-1] - values[0]) / 11
    shown = list(values[:1])
    for value in values[1:-1]:
        if value - shown[-1] >= room and values[-1] - value >= room:
            shown.append(value)
    return [*shown, *values[1:][-1:]]


def looks_logarithmic(x: Sequence[Any]) -> bool:
    """Whether the values of a parameter grow by a factor rather than by a step: 4, 8, 16."""
    values = sorted(set(x))
    if len(values) < 3 or values[0] <= 0:
        return False
    ratios = [b / a for a, b in pairwise(values)]
    return bool(max(ratios) < 1.2 * min(ratios))


def web_line(figure: WebFigure, line: Line, name: str, index: int, **kwargs: Any) -> None:
    """Adds a measured series to an interactive figure, with whiskers for its seeds."""
    from etalon.figures import web

    seen: dict[str, Any] = {"dash": web.dash(index)} | kwargs
    web.line(figure, line.x, line.y, name, colour=web.colour(index), markers=index, **seen)
    if (spread := line.spread) is not None:
        figure.data[-1].error_y = {
            "type": "data",
            "array": spread[1],
            "arrayminus": spread[0],
            "thickness": 1,
        }


def web_reference(
    figure: WebFigure, reference: Reference, symbol: int | None = None, group: str | None = None
) -> None:
    """Adds published values to an interactive figure."""
    from etalon.figures import web

    web.published(
        figure,
        reference.x,
        reference.y,
        reference.whiskers,
        reference.name,
        colour=web.GREY if reference.index is None else web.colour(reference.index),
        symbol=symbol if symbol is not None else reference.index or 0,
        group=group,
    )
