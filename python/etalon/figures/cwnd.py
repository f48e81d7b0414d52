# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion window, slow start threshold and smoothed round-trip time of chosen flows over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style, weeks
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

MOST_FLOWS = len(style.PALETTE)
"""Flows that are drawn if none are named: as many as have a colour each."""
MOST_DAYS = 40
"""Days that are shaded; more would be stripes."""


@dataclass(frozen=True)
class Line:
    """A flow's sender on one of its paths: from each instant on, until the next."""

    name: str
    t_us: list[float]
    cwnd: list[int]
    ssthresh: list[int | None]
    srtt_us: list[float | None]


def lines(
    run: RunLike,
    flows: Sequence[int] | None = None,
    span_us: tuple[float, float] | None = None,
    points: int = 4000,
) -> list[Line]:
    """The senders of `flows`, the first `MOST_FLOWS` of the table if none are given; at most about `points` instants each."""
    table = run.tcp
    if flows is None:
        flows = table["flow"].unique().sort().to_list()[:MOST_FLOWS]
    several = table["path"].n_unique() > 1
    found = []
    for flow in flows:
        of_flow = table.filter(pl.col("flow") == flow)
        for path in of_flow["path"].unique().sort():
            part = _within(of_flow.filter(pl.col("path") == path), span_us)
            part = part.gather_every(max(-(-part.height // points), 1))
            name = f"flow {flow}, path {path}" if several else f"flow {flow}"
            found.append(
                Line(
                    name,
                    (part["t_ns"] / 1e3).to_list(),
                    part["cwnd"].to_list(),
                    [value if value >= 0 else None for value in part["ssthresh"]],
                    [value / 1e3 if value > 0 else None for value in part["srtt_ns"]],
                )
            )
    return found


def _within(table: pl.DataFrame, span_us: tuple[float, float] | None) -> pl.DataFrame:
    """The changes within `span_us`, and the state in which it begins."""
    if span_us is None:
        return table
    start, stop = (round(1e3 * at) for at in span_us)
    before = table.filter(pl.col("t_ns") < start).tail(1)
    before = before.with_columns(pl.lit(start, pl.Int64).alias("t_ns"))
    return pl.concat([before, table.filter(pl.col("t_ns").is_between(start, stop))])


def _span(run: RunLike, span_us: tuple[float, float] | None) -> tuple[float, float]:
    return span_us or (0.0, run.meta["simulated_ns"] / 1e3)


def _days(
    resolved: Mapping[str, Any], span_us: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """Days of the measured pair in µs, if they can be told from each other. Weeks that are computed are not known here."""
    week = weeks.of_plan(resolved)
    if week is None or "control" in resolved["schedule"]:
        return
    days = week.days(*weeks.measured_pair(resolved))
    start, stop = span_us
    first, last = (int(1e3 * at / week.length_ns) for at in span_us)
    if (last - first + 1) * len(days) > MOST_DAYS:
        return
    for number in range(first, last + 1):
        for day in days:
            begin, end = ((number * week.length_ns + at) / 1e3 for at in day)
            if begin < stop and end > start:
                yield max(begin, start), min(end, stop)


def draw(
    run: RunLike,
    ax: Axes | None = None,
    *,
    flows: Sequence[int] | None = None,
    span_us: tuple[float, float] | None = None,
) -> Figure:
    """Draws the senders that `measure.flows` names: cwnd, ssthresh (dashed) and, below, the smoothed RTT.

    Args:
        run: a run.
        ax: axes for the windows alone. Without, a new figure with both panels.
        flows: numbers of the flows; by default the first seven.
        span_us: the part shown, in microseconds of the experiment. All by default.
    """
    if ax is None:
        figure: Figure = style.new(style.COLUMN, 2.9)
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    else:
        figure, top, bottom = style.figure_of(ax), ax, None
    span = _span(run, span_us)
    panels = [panel for panel in (top, bottom) if panel is not None]
    for day in _days(run.plan.resolve(), span):
        for panel in panels:
            panel.axvspan(*day, color=style.DAY, alpha=style.DAY_ALPHA, lw=0)
    for index, line in enumerate(lines(run, flows, span_us)):
        colour: Any = {"color": style.colour(index), "drawstyle": "steps-post"}
        top.plot(line.t_us, line.cwnd, label=line.name, lw=0.9, **colour)
        top.plot(line.t_us, _gaps(line.ssthresh), ls=(0, (3, 1.5)), lw=0.6, **colour)
        if bottom is not None:
            bottom.plot(line.t_us, _gaps(line.srtt_us), lw=0.9, **colour)
    top.set_ylabel("cwnd, ssthresh\n(segments)")
    top.set_ylim(bottom=0)
    top.set_xlim(*span)
    style.legend(top, outside=True, columns=4)
    panels[-1].set_xlabel("time (µs)")
    if bottom is not None:
        bottom.set_ylabel("SRTT (µs)")
        bottom.set_ylim(bottom=0)
        figure.align_ylabels()
    return figure


def _gaps(values: Sequence[float | None]) -> list[float]:
    """What is not known leaves a gap in a line."""
    return [float("nan") if value is None else value for value in values]


def interactive(
    run: RunLike,
    *,
    flows: Sequence[int] | None = None,
    span_us: tuple[float, float] | None = None,
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels(2, heights=(0.68, 0.32))
    span = _span(run, span_us)
    for day in _days(run.plan.resolve(), span):
        web.shade(figure, *day)
    for index, line in enumerate(lines(run, flows, span_us, points=1500)):
        for values, name, dash, row in (
            (line.cwnd, line.name, "solid", 1),
            (line.ssthresh, f"ssthresh, {line.name}", "dash", 1),
            (line.srtt_us, f"SRTT, {line.name}", "solid", 2),
        ):
            web.line(
                figure, line.t_us, values, name, colour=web.colour(index), dash=dash, row=row,
                group=str(index), legend=name == line.name, step=True,
            )  # fmt: skip
    web.label(figure, y="cwnd, ssthresh (segments)", row=1)
    web.label(figure, x="time (µs)", y="SRTT (µs)", row=2)
    figure.update_xaxes(range=list(span))
    figure.update_layout(height=480)
    return figure
