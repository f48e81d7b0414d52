# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distribution of flow completion times, by class of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from etalon.figures import distribution, style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

X, Y = "flow completion time (ms)", "share of flows"


def cdf(run: RunLike, flow_class: str | None = None) -> distribution.Curve | None:
    """Completion time in milliseconds and the share of finite flows done by then, or None if no flow was.

    Of one class of flows, or of all. Flows that were cut off by the end of the run, or killed, count as not done: the
    curve then stays below 1.
    """
    done, total = distribution.finite(run, flow_class)
    return distribution.curve(distribution.milliseconds(done), total)


def curves(runs: Runs, flow_class: str | None) -> distribution.Named:
    """A curve for each run, of one class of its flows, or for each class if they have classes; with its name."""
    found = []
    for name, run in by_name(runs).items():
        for chosen in _classes(run) if flow_class is None else [flow_class]:
            curve = cdf(run, chosen)
            if curve is not None:
                shown = chosen if flow_class is None else None
                found.append((" ".join(filter(None, (name, shown))), curve))
    return found


def _classes(run: RunLike) -> list[str | None]:
    """The classes of finite flows; only None if they have none."""
    if "class" not in run.flow_table.collect_schema().names():
        return [None]
    finite = run.flow_table.filter(pl.col("bytes") >= 0).select(pl.col("class").unique())
    names = finite.collect()["class"].sort().to_list()
    return [None] if names in ([], [""]) else list(names)


def draw(runs: Runs, ax: Axes | None = None, *, flow_class: str | None = None) -> Figure:
    """Draws the distribution of flow completion times.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
        flow_class: flows of this class only; without it, a curve for each class.
    """
    ax = distribution.draw(curves(runs, flow_class), ax, x=X, y=Y, from_zero=False)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if high < 100 * low else (1,)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    return style.figure_of(ax)


def interactive(runs: Runs, *, flow_class: str | None = None) -> WebFigure:
    """The same figure for a browser."""
    figure = distribution.interactive(curves(runs, flow_class), x=X, y=Y, alone="flows")
    figure.update_xaxes(type="log")
    return figure
