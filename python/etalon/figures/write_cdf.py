# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distribution of the time in which files were written to HDFS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import distribution, style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

X, Y = "time to write a file (ms)", "share of files"


def cdf(run: RunLike) -> distribution.Curve | None:
    """Time to write in milliseconds and the share of files written by then, or None if none was.

    Files that were not finished count: the curve then stays below 1.
    """
    done = run.writes.filter(pl.col("end_ns") >= 0)
    return distribution.curve(distribution.milliseconds(done), run.writes.height)


def curves(runs: Runs) -> distribution.Named:
    """A curve for each run, with its name."""
    return [(name, cdf(run)) for name, run in by_name(runs).items()]


def draw(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draws the distribution of the times to write a file.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
    """
    return style.figure_of(distribution.draw(curves(runs), ax, x=X, y=Y))


def interactive(runs: Runs) -> WebFigure:
    """The same figure for a browser."""
    return distribution.interactive(curves(runs), x=X, y=Y, alone="files")
