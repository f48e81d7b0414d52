# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who gets how much: the share of each congestion control (row) beside each other one (column), as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Shares = Mapping[str, Mapping[str, float]]
"""0..1, by who gets it and beside whom."""


def _matrix(shares: Shares) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """The names, the one with the most first, and the shares in percent; not a number where nothing was measured."""

    def mean(name: str) -> float:
        others = [value for other, value in shares[name].items() if other != name]
        return float(np.mean(others)) if others else 0.0

    names = sorted(shares, key=mean, reverse=True)
    cells = [[100 * shares[name].get(other, np.nan) for other in names] for name in names]
    return names, np.array(cells, dtype=float)


def draw(shares: Shares, ax: Axes | None = None) -> Figure:
    """Draws a heat map: blue gets more than half, orange less; the diagonal is a control beside itself.

    Args:
        shares: each control's share of both controls' goodput, 0..1, by that control and the other.
        ax: axes to draw on; by default a new figure's.
    """
    names, cells = _matrix(shares)
    side = min(1.2 + 0.38 * len(names), style.PAGE)
    ax = style.axes(ax, width=max(side + 0.6, style.COLUMN), height=max(side, 2.1))
    colours = mpl.colors.LinearSegmentedColormap.from_list(
        "shares", [style.PALETTE[1], "#ffffff", style.PALETTE[0]]
    )
    shown = ax.imshow(cells, cmap=colours, vmin=0, vmax=100, aspect="equal")
    for row, column in np.ndindex(*cells.shape):
        value = cells[row, column]
        if np.isfinite(value):
            strong = abs(value - 50) > 35
            ax.text(
                column, row, f"{value:.0f}", ha="center", va="center", fontsize=7,
                color="white" if strong else "black",
            )  # fmt: skip
    ax.grid(visible=False)
    style.name_bars(ax, names)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    ax.set_xlabel("beside")
    ax.set_ylabel("gets")
    for spine in ax.spines.values():
        spine.set_visible(False)
    bar = style.figure_of(ax).colorbar(shown, ax=ax, label="share of the goodput (%)", shrink=0.8)
    bar.outline.set_visible(False)
    return style.figure_of(ax)


def interactive(shares: Shares) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    names, cells = _matrix(shares)
    figure = web.panels()
    rows = [
        [None if np.isnan(value) else round(value, 2) for value in row] for row in cells.tolist()
    ]
    colours = [[0, style.PALETTE[1]], [0.5, "#ffffff"], [1, style.PALETTE[0]]]
    figure.add_heatmap(
        x=names, y=names, z=rows, zmin=0, zmax=100, colorscale=colours, texttemplate="%{z:.0f}",
        colorbar={"title": "share (%)"}, hovertemplate="%{y} gets %{z:.1f} % beside %{x}",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed")
    web.label(figure, x="beside", y="gets")
    return figure
