# SPDX-License-Identifier: MIT OR Apache-2.0
# mypy: disable-error-code="import-untyped"
"""Pieces of interactive figures: plotly with the colours and habits of the printed ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from etalon.figures import style

GREY: Final = "#808080"
"""Baselines and published values; seen on light and on dark ground."""
SYMBOLS: Final = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "x",
)


def colour(index: int) -> str:
    """Colour of series number `index`: as in print, but no black, which a dark page would swallow."""
    palette = tuple(c for c in style.PALETTE if c != "#000000")
    return palette[index % len(palette)]


def dash(index: int) -> str:
    """Dashes of series number `index`, as in print."""
    return ("solid", "dash", "dot", "dashdot")[index // 6 % 4]


def panels(rows: int = 1, heights: tuple[float, ...] | None = None) -> go.Figure:
    """An empty figure of panels above each other that share their x axis."""
    figure = make_subplots(
        rows=rows,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        row_heights=list(heights) if heights else None,
    )
    figure.update_layout(
        template="none",
        font={"family": "system-ui, sans-serif", "size": 13, "color": GREY},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 62, "r": 14, "t": 34, "b": 58},
        height=380,
        hovermode="closest",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": style.PALETTE[0]},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
    # Half-transparent greys are readable on both grounds.
    figure.update_xaxes(
        showgrid=False,
        zeroline=False,
        showline=True,
        linecolor=GREY,
        ticks="outside",
        tickcolor=GREY,
    )
    gap = {
        "ticks": "outside",
        "tickcolor": "rgba(0,0,0,0)",
        "ticklen": 4,
    }  # between labels and axis
    figure.update_yaxes(
        gridcolor="rgba(128,128,128,0.25)", zeroline=False, rangemode="tozero", **gap
    )
    return figure


def label(figure: go.Figure, *, x: str | None = None, y: str | None = None, row: int = 1) -> None:
    """Names the axes of panel `row`."""
    if x is not None:
        figure.update_xaxes(title_text=x, row=row, col=1)
    if y is not None:
        figure.update_yaxes(title_text=y, row=row, col=1)


def _list(values: Any) -> list[Any]:
    """Values as a list of at most six significant digits: a report is a text file, and 16 digits are noise."""
    array = np.asarray(values)
    return [float(f"{value:.6g}") for value in array] if array.dtype.kind == "f" else array.tolist()


def line(
    figure: go.Figure,
    x: Any,
    y: Any,
    name: str,
    *,
    colour: str,
    dash: str = "solid",
    markers: int | None = None,
    row: int = 1,
    group: str | None = None,
    legend: bool = True,
    step: bool = False,
) -> None:
    """Adds a line, with the markers of series `markers` if given."""
    figure.add_scatter(
        x=_list(x),
        y=_list(y),
        name=name,
        mode="lines" if markers is None else "lines+markers",
        line={
            "color": colour,
            "dash": dash,
            "width": 2,
            "shape": "hv" if step else "linear",
        },
        marker=None if markers is None else {"symbol": SYMBOLS[markers % len(SYMBOLS)], "size": 7},
        legendgroup=group,
        showlegend=legend,
        row=row,
        col=1,
    )


def published(
    figure: go.Figure,
    x: Any,
    y: Any,
    tolerance: Any,
    name: str,
    *,
    colour: str,
    symbol: int,
    group: str | None = None,
) -> None:
    """Adds published values as open markers with their tolerance as whiskers."""
    whiskers = None
    if tolerance is not None:
        whiskers = {"type": "data", "array": _list(tolerance), "color": colour, "thickness": 1}
    figure.add_scatter(
        x=_list(x),
        y=_list(y),
        name=name,
        mode="markers",
        marker={"symbol": SYMBOLS[symbol % len(SYMBOLS)] + "-open", "size": 10, "color": colour},
        error_y=whiskers,
        offsetgroup=group,
    )


def shade(figure: go.Figure, start: float, end: float) -> None:
    """Shades the x range of a circuit day in every panel."""
    figure.add_vrect(
        x0=start,
        x1=end,
        fillcolor=style.DAY,
        opacity=style.DAY_ALPHA,
        line_width=0,
        layer="below",
        exclude_empty_subplots=False,
    )
