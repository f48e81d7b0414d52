# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circuit utilisation over a parameter (NSDI'20 figures 8a, 9a, 11a), beside published values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import parameter, style
from etalon.figures.parameter import Published
from etalon.figures.types import Points, RunLike, series_by_name

if TYPE_CHECKING:
    from etalon.figures.types import Tolerance, WebFigure


def percent(run: RunLike) -> float | None:
    """Circuit utilisation of the measured pair in percent."""
    share = run.circuit_utilization
    return None if share is None else 100 * share


def draw(
    points: Points | Mapping[str, Points],
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    published: Published | None = None,
    tolerance: Tolerance | None = None,
) -> Figure:
    """Draws circuit utilisation in percent over the values of a parameter.

    Args:
        points: runs (or lists of runs that differ by seed, or percentages) by value of the parameter; or several such
            series by the name for the legend.
        ax: axes to draw on; by default a new figure's.
        xlabel: the parameter, with its unit.
        published: percentages by value of the parameter, drawn as open markers; or
            several such series by the names of those measured.
        tolerance: of the published values, drawn as whiskers.
    """
    ax = style.axes(ax)
    series = {
        name: parameter.line_of(part, percent) for name, part in series_by_name(points).items()
    }
    references = parameter.references(published, tolerance, list(series))
    seen = parameter.all_x(series.values(), references)
    for reference in references:
        parameter.plot_reference(ax, reference)
    for index, (name, line) in enumerate(series.items()):
        ax.errorbar(
            line.x, line.y, yerr=line.spread, color=style.colour(index), marker=style.marker(index), ls=style.dash(index),
            capsize=1.5, elinewidth=0.7, label=name or "measured",
        )  # fmt: skip
    parameter.scale_x(ax, seen, logarithmic=parameter.looks_logarithmic(seen))
    ax.set_ylim(0, 105)
    ax.set_yticks(range(0, 101, 20))
    ax.set_xlabel(xlabel)
    ax.set_ylabel("circuit utilisation (%)")
    if published or len(series) > 1:
        style.legend(ax, loc="lower right")
    return style.figure_of(ax)


def interactive(
    points: Points | Mapping[str, Points],
    *,
    xlabel: str = "",
    published: Published | None = None,
    tolerance: Tolerance | None = None,
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    series = {
        name: parameter.line_of(part, percent) for name, part in series_by_name(points).items()
    }
    references = parameter.references(published, tolerance, list(series))
    for index, (name, line) in enumerate(series.items()):
        parameter.web_line(figure, line, name or "measured", index)
    for reference in references:
        parameter.web_reference(figure, reference)
    web.label(figure, x=xlabel, y="circuit utilisation (%)")
    seen = parameter.all_x(series.values(), references)
    if parameter.looks_logarithmic(seen):
        figure.update_xaxes(type="log", tickvals=sorted(set(seen)))
    return figure
