# SPDX-License-Identifier: MIT OR Apache-2.0
"""The length of the measured pair's VOQ over the week (SIGCOMM'22 figures 7b, 8b, 13, 14), days of the pair shaded.

Time zero is the end of the pair's day, as in the sequence graph. The length is an average over time and weeks, not over
packets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style, weeks
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

MOST_POINTS = 4000
"""Of a line; a microsecond each in weeks of up to 4 ms."""


def _part(run: RunLike, span_us: tuple[float, float] | None) -> pl.DataFrame:
    """Time in us and length within `span_us`."""
    table = run.sequence.select(pl.col("t_ns") / 1e3, "voq_packets")
    if span_us is not None:
        table = table.filter(pl.col("t_ns").is_between(*span_us))
    return table.gather_every(max(-(-table.height // MOST_POINTS), 1))


def _days(run: RunLike) -> Iterator[tuple[float, float]]:
    """The pair's days in the time of the graph, in us."""
    resolved = run.plan.resolve()
    week = weeks.of_plan(resolved)
    if week is None or run.sequence.is_empty():
        return
    days = week.days(*weeks.measured_pair(resolved))
    cut = max((end for _, end in days), default=0)
    last_ns = int(run.sequence["t_ns"][-1])
    for start_of_week in range(0, last_ns + 1, week.length_ns):
        for start, end in days:
            shift = start_of_week + week.length_ns - cut
            yield (start + shift) / 1e3, (end + shift) / 1e3


def draw(
    runs: Runs, ax: Axes | None = None, *, span_us: tuple[float, float] | None = None
) -> Figure:
    """Draws the VOQ's length over time.

    Args:
        runs: a run, or several by the name for the legend. The days are those of the first.
        ax: axes to draw on; by default a new figure's.
        span_us: the part shown, in microseconds after the pair's day. All by default.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    for day in _days(next(iter(named.values()))):
        ax.axvspan(*day, color=style.DAY, alpha=style.DAY_ALPHA, linewidth=0)
    for index, (name, run) in enumerate(named.items()):
        part = _part(run, span_us)
        ax.plot(
            part["t_ns"], part["voq_packets"], color=style.colour(index), ls=style.dash(index), lw=0.9, label=name or None,
        )  # fmt: skip
    table = _part(next(iter(named.values())), span_us)
    if table.height:
        ax.set_xlim(*(span_us or (0, float(table["t_ns"][-1]))))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("time after the circuit (µs)")
    ax.set_ylabel("VOQ (packets)")
    style.legend(ax, columns=3, outside=True)
    return style.figure_of(ax)


def interactive(runs: Runs, *, span_us: tuple[float, float] | None = None) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    named = by_name(runs)
    for day in _days(next(iter(named.values()))):
        web.shade(figure, *day)
    for index, (name, run) in enumerate(named.items()):
        part = _part(run, span_us)
        web.line(figure, part["t_ns"], part["voq_packets"], name or "VOQ", colour=web.colour(index))
    web.label(figure, x="time after the circuit (µs)", y="VOQ (packets)")
    if span_us is not None:
        figure.update_xaxes(range=list(span_us))
    return figure
