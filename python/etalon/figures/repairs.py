# SPDX-License-Identifier: MIT OR Apache-2.0
"""How each flow repaired its losses: fast recoveries, tail loss probes, timeouts. A timeout stalls a flow for weeks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

KINDS = {"recoveries": "recoveries", "tlps": "probes", "rtos": "timeouts"}
"""Columns of a run's flows, and what they are called."""
MOST_BARS = 1000


def known(run: RunLike) -> pl.DataFrame:
    """The flows whose repairs are known: those of programs are not. Of too many for a bar each, those with most repairs."""
    flows = run.flows.drop_nulls(list(KINDS))
    most = pl.sum_horizontal(*KINDS)
    return flows.top_k(MOST_BARS, by=most).sort("flow") if flows.height > MOST_BARS else flows


def draw(run: RunLike, ax: Axes | None = None) -> Figure:
    """Draws stacked bars, one a flow in the order of the plan.

    Args:
        run: a run.
        ax: axes to draw on; by default a new figure's.
    """
    ax = style.axes(ax)
    flows = known(run)
    flow = flows["flow"].to_numpy()
    bottom = np.zeros(flows.height)
    for index, (column, name) in enumerate(KINDS.items()):
        count = flows[column].to_numpy()
        ax.bar(flow, count, bottom=bottom, color=style.colour(index), width=0.8, label=name)
        bottom += count
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.set_xlabel("flow")
    ax.set_ylabel("repairs in the measured time")
    style.legend(ax, outside=True, columns=3)
    return style.figure_of(ax)


def interactive(run: RunLike) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    flows = known(run)
    flow = flows["flow"].to_list()
    for index, (column, name) in enumerate(KINDS.items()):
        count = flows[column].to_list()
        figure.add_bar(x=flow, y=count, name=name, marker={"color": web.colour(index)})
    figure.update_layout(barmode="stack")
    web.label(figure, x="flow", y="repairs in the measured time")
    return figure
