# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distribution of reordering over the days of the measured pair (SIGCOMM'22 figure 10): a curve a run.

Needs runs of plans with `measure.reordering`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import distribution, style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.distribution import Curve
    from etalon.figures.types import WebFigure

LABELS: Final = {
    "events": "reordering events in a day",
    "missing": "packets missing in a day",
    "spurious": "unnecessary packets in a day",
}
Quantity = Literal["events", "missing", "spurious"]
Of = Literal["flow", "pair"]


def cdf(run: RunLike, quantity: Quantity, of: Of) -> Curve | None:
    """Values and the share of days at or below each; None if that was not measured."""
    table = run.reordering.filter((pl.col("quantity") == quantity) & (pl.col("of") == of))
    if table.is_empty():
        return None
    table = table.sort("value")
    shares = np.cumsum(table["count"].to_numpy()) / table["count"].sum()
    return table["value"].to_numpy().astype(np.float64), shares


def draw(
    runs: Runs, ax: Axes | None = None, *, quantity: Quantity = "events", of: Of = "flow"
) -> Figure:
    """Draws how a quantity of the table `reordering` is distributed over days.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
        quantity: events of reordering, packets missing at these, or packets in vain.
        of: the days of each flow, or those of all flows of the pair together.
    """
    curves = [(name, cdf(run, quantity, of)) for name, run in by_name(runs).items()]
    ax = distribution.draw(curves, ax, x=LABELS[quantity], y="share of days")
    lowest = min((float(curve[1][0]) for _, curve in curves if curve is not None), default=0.0)
    ax.set_ylim(0 if lowest < 0.5 else 0.5, 1.01)
    return style.figure_of(ax)


def interactive(runs: Runs, *, quantity: Quantity = "events", of: Of = "flow") -> WebFigure:
    """The same figure for a browser."""
    curves = [(name, cdf(run, quantity, of)) for name, run in by_name(runs).items()]
    return distribution.interactive(curves, x=LABELS[quantity], y="share of days", alone=quantity)
