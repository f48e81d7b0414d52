"""The expected sequence graph (NSDI'20 figures 2, 8b, 9b, 11b): how far a flow gets in a week.

With it comes the VOQ's length. Time zero is the end of the measured pair's day, so that a day of the pair ends each
week shown. 'optimal' fills the packet network while its gate is open to the pair, the circuit in its days, and nothing
in the night before; 'packet only' fills the packet network throughout. Both are shares of one flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from etalon.figures import style, weeks
from etalon.figures.types import Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


@dataclass(frozen=True)
class Baselines:
    """The lines to compare with, over one or more weeks: corners only, straight between them."""

    t_us: NDArray[np.float64]
    optimal: NDArray[np.float64]
    packet_only: NDArray[np.float64]
    days_us: list[tuple[float, float]]


def baselines(resolved: Mapping[str, Any], flows: int, until_us: float) -> Baselines | None:
    """The baselines of a plan in bytes of each of `flows` flows, or None if the measured pair never has a circuit."""
    week = weeks.of_plan(resolved)
    src, dst = weeks.measured_pair(resolved)
    if week is None or not week.days(src, dst):
        return None
    # Segments of one week, from the end of the pair's last day on, where the sequence graph is cut: until when, and bytes a ns.
    cut = max(end for _, end in week.days(src, dst))
    rates = [rate / 8e9 / flows for rate in weeks.rates(resolved)]
    segments = [
        (until - cut, 0.0 if plane is None else rates[plane])
        for until, plane in week.planes(src, dst, cut)
    ]

    time, sent, days = [0.0], [0.0], []
    for number in range(int(np.ceil(until_us * 1e3 / week.length_ns))):
        start = number * week.length_ns
        for until, rate in segments:
            sent.append(sent[-1] + (start + until - time[-1]) * rate)
            time.append(float(start + until))
        days += [
            ((start + day + week.length_ns - cut) / 1e3, (start + end + week.length_ns - cut) / 1e3)
            for day, end in week.days(src, dst)
        ]
    t_us = np.array(time) / 1e3
    return Baselines(t_us, np.array(sent), np.array(time) * rates[0], days)


def _flow_count(resolved: Mapping[str, Any]) -> int:
    src, dst = weeks.measured_pair(resolved)
    count = sum((flow["src_rack"], flow["dst_rack"]) == (src, dst) for flow in resolved["flows"])
    return count or resolved["hosts"]["per_rack"]


def _thin(frame: pl.DataFrame, span_us: tuple[float, float] | None, points: int) -> pl.DataFrame:
    """The part of a sequence table within `span_us`, thinned to at most `points` steps."""
    frame = frame.with_columns(t_us=pl.col("t_ns") / 1e3)
    if span_us is not None:
        frame = frame.filter(pl.col("t_us").is_between(*span_us))
    every = -(-frame.height // points)
    return frame if every <= 1 else frame.gather_every(every)


def draw(
    runs: Runs,
    ax: Axes | None = None,
    *,
    span_us: tuple[float, float] | None = None,
    with_baselines: bool = True,
) -> Figure:
    """Draws the expected sequence graph of `runs`, with the VOQ's length below.

    Args:
        runs: a run, or several by the name for the legend. Days and baselines are those of the first.
        ax: axes for the sequence graph alone. Without, a new figure with both panels.
        span_us: the part shown, in microseconds after the cut. All by default.
        with_baselines: whether 'optimal' and 'packet only' are drawn.
    """
    named = by_name(runs)
    if ax is None:
        figure = Figure(figsize=(style.COLUMN, 2.9), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    else:
        figure, top, bottom = style.figure_of(ax), ax, None

    first = next(iter(named.values())).plan.resolve()
    tables = {name: _thin(run.sequence, span_us, 4000) for name, run in named.items()}
    end_us = max(
        (float(table["t_us"][-1]) for table in tables.values() if table.height),
        default=0.0,
    )
    lines = baselines(first, _flow_count(first), end_us)
    start_us, stop_us = span_us or (0.0, end_us)
    highest = 0.0
    # In a part of the graph, bytes are counted from its start: what happened before it is of no interest there.
    if lines is not None:
        for panel in (top, bottom):
            for day in lines.days_us if panel is not None else ():
                panel.axvspan(*day, color=style.DAY, alpha=style.DAY_ALPHA, linewidth=0)
        if with_baselines:
            for values, dash, label in (
                (lines.optimal, (0, (4, 1.5)), "optimal"),
                (lines.packet_only, (0, (1, 1)), "packet only"),
            ):
                origin, last = np.interp([start_us, stop_us], lines.t_us, values)
                highest = max(highest, (last - origin) / 1e3)
                top.plot(
                    lines.t_us,
                    (values - origin) / 1e3,
                    color=style.BASELINE,
                    ls=dash,
                    lw=0.9,
                    label=label,
                )
    for index, (name, table) in enumerate(tables.items()):
        colour = style.colour(index)
        if table.height == 0:
            continue
        sent = (table["bytes"] - table["bytes"][0]) / 1e3
        highest = max(highest, float(sent[-1]))
        top.plot(table["t_us"], sent, color=colour, label=name or "measured")
        if bottom is not None:
            bottom.plot(
                table["t_us"],
                table["voq_packets"],
                color=colour,
                ls=(0, (1, 0.8)),
                lw=0.8,
            )
    top.set_ylabel("sequence (kB/flow)")
    top.set_ylim(0, 1.05 * highest if highest > 0 else None)
    top.set_xlim(start_us, stop_us)
    style.legend(top, columns=3 if len(named) > 1 else 1, outside=len(named) > 1)
    lowest = bottom if bottom is not None else top
    lowest.set_xlabel("time after the circuit (µs)")
    if bottom is not None:
        bottom.set_ylabel("VOQ (packets)")
        bottom.set_ylim(bottom=0)
        figure.align_ylabels()
    return figure


def interactive(
    runs: Runs,
    *,
    span_us: tuple[float, float] | None = None,
    with_baselines: bool = True,
) -> WebFigure:
    """The same graph for a browser."""
    from etalon.figures import web

    named = by_name(runs)
    first = next(iter(named.values())).plan.resolve()
    tables = {name: _thin(run.sequence, span_us, 1500) for name, run in named.items()}
    end_us = max(
        (float(table["t_us"][-1]) for table in tables.values() if table.height),
        default=0.0,
    )
    lines = baselines(first, _flow_count(first), end_us)
    figure = web.panels(2, heights=(0.68, 0.32))
    start_us, stop_us = span_us or (0.0, end_us)
    if lines is not None:
        for day in lines.days_us:
            web.shade(figure, *day)
        if with_baselines:
            for values, dash, label in (
                (lines.optimal, "dash", "optimal"),
                (lines.packet_only, "dot", "packet only"),
            ):
                origin = np.interp(start_us, lines.t_us, values)
                shown = (lines.t_us > start_us) & (lines.t_us < stop_us)
                t_us = np.concatenate(([start_us], lines.t_us[shown], [stop_us]))
                kilobytes = (np.interp(t_us, lines.t_us, values) - origin) / 1e3
                web.line(figure, t_us, kilobytes, label, colour=web.GREY, dash=dash)
    for index, (name, table) in enumerate(tables.items()):
        if table.height == 0:
            continue
        sent = (table["bytes"] - table["bytes"][0]) / 1e3
        web.line(
            figure,
            table["t_us"],
            sent,
            name or "measured",
            colour=web.colour(index),
            group=str(index),
        )
        web.line(
            figure, table["t_us"], table["voq_packets"], f"VOQ {name}".strip(), colour=web.colour(index), dash="dot",
            row=2, group=str(index), legend=False,
        )  # fmt: skip
    web.label(figure, y="sequence (kB/flow)", row=1)
    web.label(figure, x="time after the circuit (µs)", y="VOQ (packets)", row=2)
    figure.update_xaxes(range=[start_us, stop_us])
    figure.update_layout(height=480)
    return figure
