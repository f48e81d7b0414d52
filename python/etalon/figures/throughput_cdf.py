"""Distribution of the throughput of finite flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from etalon.figures import style
from etalon.figures._types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures._types import WebFigure

XLABEL = "flow throughput (Gb/s)"
YLABEL = "share of flows"


def cdf(
    run: RunLike, flow_class: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Payload over completion time in Gb/s and the share of finite flows that are no faster, or None if no flow was done.

    Of one class of flows, or of all. Flows that were cut off by the end of the run, or killed, count as slower than all
    others: the curve then starts above 0.
    """
    finite = run.flows.filter(pl.col("bytes") >= 0)
    if flow_class is not None:
        finite = finite.filter(pl.col("class") == flow_class)
    done = finite.filter(pl.col("end_ns") >= 0)
    if done.height == 0:
        return None
    # Bits per nanosecond are Gb/s.
    rates = np.sort((done["bytes"] * 8 / (done["end_ns"] - done["start_ns"])).to_numpy())
    shares = (np.arange(len(rates) + 1) + finite.height - done.height) / finite.height
    return np.concatenate((rates[:1], rates)), shares


def draw(runs: Runs, ax: Axes | None = None, *, flow_class: str | None = None) -> Figure:
    """Draws the distribution of throughput over flows.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; a new figure without.
        flow_class: flows of this class only.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    for index, (name, run) in enumerate(named.items()):
        if (curve := cdf(run, flow_class)) is not None:
            ax.step(*curve, where="post", color=style.colour(index), label=name)
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(XLABEL)
    ax.set_ylabel(YLABEL)
    if len(named) > 1:
        style.legend(ax, loc="lower right")
    return style.figure_of(ax)


def interactive(runs: Runs, *, flow_class: str | None = None) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    for index, (name, run) in enumerate(by_name(runs).items()):
        if (curve := cdf(run, flow_class)) is not None:
            web.line(figure, *curve, name or "flows", colour=web.colour(index), step=True)
    web.label(figure, x=XLABEL, y=YLABEL)
    return figure
