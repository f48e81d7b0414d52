# SPDX-License-Identifier: MIT OR Apache-2.0
"""Completion times over the size of flows: a line a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Statistic = Literal["mean", "p50", "p99"]
LABELS: Final = {
    "mean": "mean completion time (ms)",
    "p50": "median completion time (ms)",
    "p99": "99th percentile of completion time (ms)",
}
X: Final = "flow size (bytes)"
MOST_SIZES = 50
"""Sizes of flows that have a point each."""


def size_of(rows: pl.LazyFrame) -> pl.Expr:
    """The size under which a row with the column `bytes` counts: its own, or, of more than 50 sizes, the next of four for
    each factor of ten."""
    sizes = rows.select(pl.col("bytes").n_unique()).collect(engine="streaming").item()
    if sizes <= MOST_SIZES:
        return pl.col("bytes")
    steps = (4 * pl.col("bytes").clip(lower_bound=1).log10()).ceil()
    return (10 ** (steps / 4)).ceil().cast(pl.Int64)


def mean(column: str) -> pl.Expr:
    """Of the values that there are."""
    return pl.col(column).mean()


def p50(column: str) -> pl.Expr:
    """Their median, one of them."""
    return pl.col(column).quantile(0.5, "nearest")


def p99(column: str) -> pl.Expr:
    """The value of rank 0.99 n of n, from 0."""
    values = pl.col(column).drop_nulls()
    rank = (0.99 * values.len()).round().cast(pl.Int64).clip(upper_bound=values.len() - 1)
    return values.sort().get(rank, null_on_oob=True)


def points(run: RunLike, statistic: Statistic, flow_class: str | None) -> pl.DataFrame:
    """`bytes` and `ms` of the flows that were done, by size."""
    rows = run.flow_table.filter((pl.col("bytes") >= 0) & (pl.col("end_ns") >= 0))
    if flow_class is not None:
        rows = rows.filter(pl.col("class") == flow_class)
    rows = rows.with_columns(ms=(pl.col("end_ns") - pl.col("start_ns")) / 1e6)
    value = {"mean": mean, "p50": p50, "p99": p99}[statistic]("ms")
    found = rows.group_by(size_of(rows).alias("bytes")).agg(ms=value)
    return found.sort("bytes").collect(engine="streaming")


def draw(
    runs: Runs,
    ax: Axes | None = None,
    *,
    statistic: Statistic = "p99",
    flow_class: str | None = None,
) -> Figure:
    """Draws completion times over the size of flows, on logarithmic axes.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; a new figure without.
        statistic: which.
        flow_class: flows of this class only.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    for index, (name, run) in enumerate(named.items()):
        table = points(run, statistic, flow_class)
        ax.plot(
            table["bytes"].to_list(),
            table["ms"].to_list(),
            color=style.colour(index),
            marker=style.marker(index),
            label=name,
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
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
            y=table["ms"].to_list(),
            name=name or "flows",
            mode="lines+markers",
            marker={"color": web.colour(index)},
        )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    web.label(figure, x=X, y=LABELS[statistic])
    return figure
