# SPDX-License-Identifier: MIT OR Apache-2.0
"""Completion time of a transfer over the length of a day, one line a queue size (NSDI'20 figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from etalon.figures import parameter, style
from etalon.figures.types import Points, RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def seconds(run: RunLike) -> float | None:
    """From the start of the first finite flow to the end of the last in seconds; None if one was not done."""
    finite = run.flows.filter(pl.col("bytes") >= 0)
    start, first_end, end = (
        finite["start_ns"].min(),
        finite["end_ns"].min(),
        finite["end_ns"].max(),
    )
    if (
        not isinstance(start, int)
        or not isinstance(end, int)
        or not isinstance(first_end, int)
        or first_end < 0
    ):
        return None
    return (end - start) / 1e9


def _name(queue: object) -> str:
    return f"{queue} packets" if isinstance(queue, int) else str(queue)


def draw(points: Mapping[int | str, Points], ax: Axes | None = None) -> Figure:
    """Draws completion times in seconds over the length of a day in microseconds, on a logarithmic axis.

    Args:
        points: for each queue size in packets (or name), runs (or lists of runs that differ by seed, or seconds) by the
            length of a day in microseconds.
        ax: axes to draw on; by default a new figure's.
    """
    ax = style.axes(ax, height=2.3)
    for index, (queue, part) in enumerate(points.items()):
        line = parameter.line_of(part, seconds)
        ax.plot(
            line.x,
            line.y,
            color=style.colour(index),
            marker=style.marker(index),
            label=_name(queue),
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(10, numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda us, _: _micro(us)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(bottom=0)
    ax.set_xlabel("day length")
    ax.set_ylabel("flow completion time (s)")
    style.legend(ax, columns=3, outside=True)
    return style.figure_of(ax)


def _micro(us: float) -> str:
    """Microseconds in the largest unit that leaves a whole number: 10 µs, 1 ms."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if us >= factor:
            return f"{us / factor:g} {unit}"
    return f"{us:g} µs"


def interactive(points: Mapping[int | str, Points]) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    for index, (queue, part) in enumerate(points.items()):
        parameter.web_line(figure, parameter.line_of(part, seconds), _name(queue), index)
    web.label(figure, x="day length (µs)", y="flow completion time (s)")
    figure.update_xaxes(type="log")
    return figure
