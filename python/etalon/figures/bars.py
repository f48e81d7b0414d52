# SPDX-License-Identifier: MIT OR Apache-2.0
"""One number of each run, as a bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def draw(values: Mapping[str, float], ax: Axes | None = None, *, ylabel: str = "") -> Figure:
    """Draws a bar for each value.

    Args:
        values: the numbers to compare, by name.
        ax: axes to draw on; by default a new figure's.
        ylabel: the quantity and its unit.
    """
    ax = style.axes(ax)
    ax.bar(range(len(values)), list(values.values()), 0.7, color=style.colour(0))
    style.name_bars(ax, list(values))
    ax.set_ylim(bottom=0)
    ax.set_ylabel(ylabel)
    return style.figure_of(ax)


def interactive(values: Mapping[str, float], *, ylabel: str = "") -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    figure.add_bar(
        x=list(values), y=list(values.values()), marker={"color": web.colour(0)}, showlegend=False
    )
    web.label(figure, y=ylabel)
    return figure
