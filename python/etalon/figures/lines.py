# SPDX-License-Identifier: MIT OR Apache-2.0
"""Any number of runs over the values of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import parameter, style
from etalon.figures.types import Estimate, Points, series_by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def draw(
    points: Points | Mapping[str, Points],
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Draws numbers over the values of a parameter.

    Args:
        points: numbers by value of the parameter; or several such series by the name for the legend. Of an `Estimate` the
            interval is drawn as a band, of several numbers at a point (seeds) the spread as a bar.
        ax: axes to draw on; by default a new figure's.
        xlabel: the parameter, with its unit.
        ylabel: the quantity, with its unit.
        levels: values to compare with, by name: a dashed line each.
    """
    ax = style.axes(ax)
    series = _lines(points)
    bands = {
        name
        for name, part in series_by_name(points).items()
        if any(isinstance(point, Estimate) for point in part.values())
    }
    dashes = ((0, (4, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
    for index, (name, line) in enumerate(series.items()):
        seen: dict[str, Any] = {
            "color": style.colour(index),
            "marker": style.marker(index),
            "ls": style.dash(index),
            "label": name or None,
        }
        if line.spread is not None and name not in bands:
            ax.errorbar(line.x, line.y, yerr=line.spread, capsize=1.5, elinewidth=0.7, **seen)
            continue
        ax.plot(line.x, line.y, **seen)
        if line.spread is not None:
            ax.fill_between(
                line.x, line.low, line.high, color=style.colour(index), alpha=0.18, linewidth=0
            )
    for index, (name, level) in enumerate((levels or {}).items()):
        ax.axhline(level, color=style.BASELINE, ls=dashes[index % len(dashes)], lw=0.9, label=name)
    ax.margins(y=0.06)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    style.legend(ax, columns=3, outside=True)
    return style.figure_of(ax)


def interactive(
    points: Points | Mapping[str, Points],
    *,
    xlabel: str = "",
    ylabel: str = "",
    levels: Mapping[str, float] | None = None,
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    series = _lines(points)
    for index, (name, line) in enumerate(series.items()):
        colour = web.colour(index)
        web.line(
            figure,
            line.x,
            line.y,
            name or ylabel,
            colour=colour,
            markers=index,
            dash=web.dash(index),
        )
        if line.spread is not None:
            above, below = line.spread[1], line.spread[0]
            figure.data[-1].error_y = {"array": above, "arrayminus": below, "color": colour}
    every = sorted(set(parameter.all_x(series.values(), ())))
    for name, level in (levels or {}).items():
        ends = [every[0], every[-1]] if every else []
        web.line(figure, ends, [level] * len(ends), name, colour=web.GREY, dash="dash")
    web.label(figure, x=xlabel, y=ylabel)
    return figure


def _lines(points: Points | Mapping[str, Points]) -> dict[str, parameter.Line]:
    """The series, each in the order of the parameter."""
    return {
        name: parameter.line_of(part, lambda _: None)
        for name, part in series_by_name(points).items()
    }
