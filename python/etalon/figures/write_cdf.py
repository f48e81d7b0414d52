"""Distribution of the time in which files were written to HDFS."""

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


def cdf(run: RunLike) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Time to write in milliseconds and the share of files written by then, or None if none was.

    Files that were not finished count: the curve then stays below 1.
    """
    done = run.writes.filter(pl.col("end_ns") >= 0)
    if done.height == 0:
        return None
    times = np.sort((done["end_ns"] - done["start_ns"]).to_numpy()) / 1e6
    return np.concatenate((times[:1], times)), np.arange(len(times) + 1) / run.writes.height


def draw(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draws the distribution of the times to write a file.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; a new figure without.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    for index, (name, run) in enumerate(named.items()):
        if (curve := cdf(run)) is not None:
            ax.step(*curve, where="post", color=style.colour(index), label=name)
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("time to write a file (ms)")
    ax.set_ylabel("share of files")
    if len(named) > 1:
        style.legend(ax, loc="lower right")
    return style.figure_of(ax)


def interactive(runs: Runs) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    for index, (name, run) in enumerate(by_name(runs).items()):
        if (curve := cdf(run)) is not None:
            web.line(figure, *curve, name or "files", colour=web.colour(index), step=True)
    web.label(figure, x="time to write a file (ms)", y="share of files")
    return figure
