# SPDX-License-Identifier: MIT OR Apache-2.0
"""The expected sequence graph (NSDI'20 figures 2, 8b, 9b, 11b): how far a flow gets in a week.

With it comes the VOQ's length. Time zero is the end of the measured pair's day, so that a day of the pair ends each
week shown. 'optimal' fills the packet network while its gate is open to the pair, the circuit in its days, and nothing
in the night before; 'packet only' fills the packet network throughout. Both are shares of one flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from etalon.errors import EtalonError
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


@dataclass(frozen=True)
class _Shown:
    """What both forms of the figure show."""

    tables: dict[str, pl.DataFrame]
    baselines: Baselines | None
    span_us: tuple[float, float]

    @classmethod
    def of(cls, runs: Runs, span_us: tuple[float, float] | None, points: int) -> _Shown:
        named = by_name(runs)
        if any("streamed" in run.plan.resolve() for run in named.values()):
            raise EtalonError(
                "no sequence graph: the plan does not list its flows, so Etalon does not follow their bytes"
            )
        resolved = next(iter(named.values())).plan.resolve()
        tables = {name: _thin(run.sequence, span_us, points) for name, run in named.items()}
        ends = (float(table["t_us"][-1]) for table in tables.values() if table.height)
        end_us = max(ends, default=0.0)
        lines = baselines(resolved, _flow_count(resolved), end_us)
        return cls(tables, lines, span_us or (0.0, end_us))

    def sent(self) -> Iterator[tuple[int, str, pl.DataFrame, pl.Series]]:
        """Of each run that has rows: its place, name, table, and what was sent since the start in kB."""
        for index, (name, table) in enumerate(self.tables.items()):
            if table.height:
                yield index, name, table, (table["bytes"] - table["bytes"][0]) / 1e3


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
    if ax is None:
        figure: Figure = style.new(style.COLUMN, 2.9)
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
        panels = [top, bottom]
    else:
        figure, top, panels = style.figure_of(ax), ax, [ax]

    shown = _Shown.of(runs, span_us, 4000)
    for panel in panels:
        for day in shown.baselines.days_us if shown.baselines else ():
            panel.axvspan(*day, color=style.DAY, alpha=style.DAY_ALPHA, linewidth=0)
    highest = _draw_baselines(top, shown) if with_baselines else 0.0
    for index, name, table, sent in shown.sent():
        colour = style.colour(index)
        highest = max(highest, float(sent[-1]))
        top.plot(table["t_us"], sent, color=colour, label=name or "measured")
        for panel in panels[1:]:
            panel.plot(table["t_us"], table["voq_packets"], color=colour, ls=(0, (1, 0.8)), lw=0.8)
    several = len(shown.tables) > 1
    top.set_ylabel("sequence (kB/flow)")
    top.set_ylim(0, 1.05 * highest if highest > 0 else None)
    if shown.span_us[0] < shown.span_us[1]:
        top.set_xlim(*shown.span_us)
    style.legend(top, columns=3 if several else 1, outside=several)
    panels[-1].set_xlabel("time after the circuit (µs)")
    if ax is None:
        panels[-1].set_ylabel("VOQ (packets)")
        panels[-1].set_ylim(bottom=0)
        figure.align_ylabels()
    return figure


def _draw_baselines(ax: Axes, shown: _Shown) -> float:
    """Draws what to compare with; how high it gets in kB. In a part of the graph, bytes are counted from its start."""
    lines, highest = shown.baselines, 0.0
    if lines is None:
        return highest
    for values, dash, label in (
        (lines.optimal, (0, (4, 1.5)), "optimal"),
        (lines.packet_only, (0, (1, 1)), "packet only"),
    ):
        origin, last = np.interp(shown.span_us, lines.t_us, values)
        highest = max(highest, (last - origin) / 1e3)
        kilobytes = (values - origin) / 1e3
        ax.plot(lines.t_us, kilobytes, color=style.BASELINE, ls=dash, lw=0.9, label=label)
    return highest


def interactive(
    runs: Runs,
    *,
    span_us: tuple[float, float] | None = None,
    with_baselines: bool = True,
) -> WebFigure:
    """The same graph for a browser."""
    from etalon.figures import web

    shown = _Shown.of(runs, span_us, 1500)
    lines, (start_us, stop_us) = shown.baselines, shown.span_us
    figure = web.panels(2, heights=(0.68, 0.32))
    for day in lines.days_us if lines is not None else ():
        web.shade(figure, *day)
    if lines is not None and with_baselines:
        for values, dash, label in (
            (lines.optimal, "dash", "optimal"),
            (lines.packet_only, "dot", "packet only"),
        ):
            origin = np.interp(start_us, lines.t_us, values)
            within = (lines.t_us > start_us) & (lines.t_us < stop_us)
            t_us = np.concatenate(([start_us], lines.t_us[within], [stop_us]))
            kilobytes = (np.interp(t_us, lines.t_us, values) - origin) / 1e3
            web.line(figure, t_us, kilobytes, label, colour=web.GREY, dash=dash)
    for index, name, table, sent in shown.sent():
        group, colour = str(index), web.colour(index)
        web.line(figure, table["t_us"], sent, name or "measured", colour=colour, group=group)
        web.line(
            figure, table["t_us"], table["voq_packets"], f"VOQ {name}".strip(), colour=colour, dash="dot",
            row=2, group=group, legend=False,
        )  # fmt: skip
    web.label(figure, y="sequence (kB/flow)", row=1)
    web.label(figure, x="time after the circuit (µs)", y="VOQ (packets)", row=2)
    figure.update_xaxes(range=[start_us, stop_us])
    figure.update_layout(height=480)
    return figure
