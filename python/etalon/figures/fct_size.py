# SPDX-License-Identifier: MIT OR Apache-2.0
"""Completion times, or slowdown, over the size of flows: a line a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from etalon.figures import style
from etalon.figures.sizes import mean, p50, p99, size_of
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Statistic = Literal["mean", "p50", "p99", "slowdown_mean", "slowdown_p99"]
LABELS: Final = {
    "mean": "completion time, mean (ms)",
    "p50": "completion time, median (ms)",
    "p99": "completion time, p99 (ms)",
    "slowdown_mean": "slowdown, mean",
    "slowdown_p99": "slowdown, p99",
}
X: Final = "flow size (bytes)"


def points(run: RunLike, statistic: Statistic, flow_class: str | None) -> pl.DataFrame:
    """`bytes` and `value` of the flows that were done, by size: times in ms, or slowdown."""
    if statistic.startswith("slowdown"):
        done = run.by_size(flow_class).filter(pl.col("finished") > 0)
        return done.select("bytes", value=statistic)
    rows = run.flow_table.filter((pl.col("bytes") >= 0) & (pl.col("end_ns") >= 0))
    if flow_class is not None:
        rows = rows.filter(pl.col("class") == flow_class)
    rows = rows.with_columns(ms=(pl.col("end_ns") - pl.col("start_ns")) / 1e6)
    value = {"mean": mean, "p50": p50, "p99": p99}[statistic]("ms")
    found = rows.group_by(size_of(rows).alias("bytes")).agg(value=value)
    return found.sort("bytes").collect(engine="streaming")


def draw(
    runs: Runs,
    ax: Axes | None = None,
    *,
    statistic: Statistic = "p99",
    flow_class: str | None = None,
) -> Figure:
    """Draws completion times, or slowdown, over the size of flows, on logarithmic axes.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
        statistic: which.
        flow_class: flows of this class only.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    for index, (name, run) in enumerate(named.items()):
        table = points(run, statistic, flow_class)
        ax.plot(
            table["bytes"].to_list(),
            table["value"].to_list(),
            color=style.colour(index),
            marker=style.marker(index),
            label=name,
        )
    if any(
        np.size(line.get_xdata(orig=False)) for line in ax.lines
    ):  # else there is nothing to take a logarithm of
        ax.set_xscale("log")
        ax.set_yscale("log")
    if statistic.startswith("slowdown"):
        for axis in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
            axis(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlabel(X)
    ax.set_ylabel(LABELS[statistic])
    if len(named) > 1:
        style.legend(ax, loc="upper left")
    return style.figure_of(ax)


def interactive(
    runs: Runs, *, statistic: Statistic = "p99", flow_class: str | None = None
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    for index, (name, run) in enumerate(by_name(runs).items()):
        table = points(run, statistic, flow_class)
        figure.add_scatter(
            x=table["bytes"].to_list(),
            y=table["value"].to_list(),
            name=name or "flows",
            mode="lines+markers",
            marker={"color": web.colour(index)},
        )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    web.label(figure, x=X, y=LABELS[statistic])
    return figure
