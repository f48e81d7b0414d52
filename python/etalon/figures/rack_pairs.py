# SPDX-License-Identifier: MIT OR Apache-2.0
"""One number of every rack pair, racks by racks: which pairs used what they had, which queued, which lost packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

SHOWN: dict[str, tuple[str, pl.Expr]] = {
    "circuit_utilization": ("circuit utilisation (%)", 100 * pl.col("circuit_utilization")),
    "packet_utilization": ("packet utilisation (%)", 100 * pl.col("packet_utilization")),
    "voq_mean": ("packets in the VOQ, mean over time", pl.col("voq_mean")),
    "dropped": (
        "packets dropped",
        pl.sum_horizontal("dropped_voq", "dropped_shrink", "dropped_hold"),
    ),
    "marked": ("packets marked CE", pl.col("marked")),
}
"""What can be shown, with its label: columns of a run's pairs."""


def matrix(run: RunLike, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The metric by source (row) and destination rack; not a number where a pair carried nothing."""
    if metric not in SHOWN:
        raise EtalonError(f"rack_pairs shows {', '.join(SHOWN)}, not {metric!r}")
    needed = SHOWN[metric][1].meta.root_names()
    if missing := [name for name in needed if name not in run.pairs.columns]:
        raise EtalonError(f"rack_pairs: this network has no {missing[0]}")
    racks = run.plan.resolve()["hosts"]["racks"]
    cells = np.full((racks, racks), np.nan)
    for src, dst, value in run.pairs.select("src", "dst", SHOWN[metric][1].alias("x")).iter_rows():
        cells[src, dst] = np.nan if value is None else value
    return cells


def draw(run: RunLike, ax: Axes | None = None, *, metric: str = "packet_utilization") -> Figure:
    """Draws a heat map; pairs that carried nothing stay white.

    Args:
        run: a run.
        ax: axes to draw on; by default a new figure's.
        metric: circuit_utilization, packet_utilization, voq_mean, dropped or marked.
    """
    cells = matrix(run, metric)
    ax = style.axes(ax)
    shown = ax.imshow(cells, cmap=mpl.colormaps["viridis"], aspect="equal", vmin=0)
    ax.grid(visible=False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))
        axis.set_tick_params(length=0)
    ax.set_xlabel("to rack")
    ax.set_ylabel("from rack")
    for spine in ax.spines.values():
        spine.set_visible(False)
    figure = style.figure_of(ax)
    bar = figure.colorbar(shown, ax=ax, label=SHOWN[metric][0], shrink=0.75)
    bar.outline.set_visible(False)
    return figure


def interactive(run: RunLike, *, metric: str = "packet_utilization") -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    cells = [
        [None if np.isnan(value) else value for value in row]
        for row in matrix(run, metric).tolist()
    ]
    figure.add_heatmap(z=cells, colorscale="Viridis", zmin=0, colorbar={"title": SHOWN[metric][0]})
    figure.update_yaxes(autorange="reversed")
    web.label(figure, x="to rack", y="from rack")
    return figure
