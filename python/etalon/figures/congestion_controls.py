# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circuit utilisation by congestion control (NSDI'20 figures 4a and 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import parameter, style
from etalon.figures.parameter import Published
from etalon.figures.types import Points, series_by_name
from etalon.figures.utilization import percent

if TYPE_CHECKING:
    from etalon.figures.types import Tolerance, WebFigure

_HATCHES = (None, "//////", "......")
_BARS = 0.8
"""Share of a name's place that its bars take together."""


def _order(lines: Sequence[parameter.Line], references: Sequence[parameter.Reference]) -> list[str]:
    """All congestion controls: those measured by the last series from low to high, then those only published."""
    height = {name: value for line in lines for name, value in zip(line.x, line.y, strict=True)}
    only = sorted({name for reference in references for name in reference.x} - set(height))
    return sorted(height, key=lambda name: (height[name], name)) + only


def draw(
    points: Points | Mapping[str, Points],
    ax: Axes | None = None,
    *,
    published: Published | None = None,
    tolerance: Tolerance | None = None,
) -> Figure:
    """Draws a bar for each congestion control, from low to high.

    Args:
        points: runs (or lists of runs that differ by seed, or percentages) by the name of the congestion control; or
            several such series by the name for the legend ("static", "dynamic").
        ax: axes to draw on; by default a new figure's.
        published: percentages by name, drawn as open markers; or several such series by the names of those measured.
            Congestion controls that were not measured have no bar and say so.
        tolerance: of the published values, drawn as whiskers.
    """
    ax = style.axes(ax)
    series = {
        name: parameter.line_of(part, percent) for name, part in series_by_name(points).items()
    }
    references = parameter.references(published, tolerance, list(series))
    order = _order(list(series.values()), references)
    place = {name: float(index) for index, name in enumerate(order)}
    width = _BARS / max(len(series), 1)
    for index, (name, line) in enumerate(series.items()):
        offset = (index - (len(series) - 1) / 2) * width
        ax.bar(
            [place[key] + offset for key in line.x], line.y, width * 0.94, yerr=line.spread, color=style.colour(index),
            hatch=_HATCHES[index % len(_HATCHES)], edgecolor="white", linewidth=0, label=name or "measured",
            error_kw={"elinewidth": 0.7, "capsize": 1.5},
        )  # fmt: skip
    above = _draw_references(ax, references, place, len(series))
    measured = {name for line in series.values() for name in line.x}
    for name in order:
        if name not in measured:
            ax.annotate(
                "not measured", (place[name], above[name]), rotation=90, ha="center", va="bottom", fontsize=6,
                color=style.BASELINE,
            )  # fmt: skip
    ax.set_xlim(-0.6, len(order) - 0.4)
    style.name_bars(ax, order)
    ax.set_ylim(0, 105)
    ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel("circuit utilisation (%)")
    if references or len(series) > 1:
        style.legend(ax, columns=3, outside=True)
    return style.figure_of(ax)


def _draw_references(
    ax: Axes, references: Sequence[parameter.Reference], place: Mapping[str, float], series: int
) -> dict[str, float]:
    """Draws what is published beside the bars of `series` series; the height above which each name has room."""
    above = dict.fromkeys(place, 2.0)
    for number, reference in enumerate(references):
        offset = 0.0
        if reference.index is not None:
            offset = (reference.index - (series - 1) / 2) * _BARS / max(series, 1)
        # In grey: on a bar of its own colour a marker would not be seen, and its place tells the series.
        grey = replace(reference, index=None, name="published" if number == 0 else "_")
        parameter.plot_reference(
            ax, grey, x=[place[name] + offset for name in reference.x], marker="D"
        )
        whiskers = reference.whiskers or [4.0] * len(reference.x)
        for name, value, whisker in zip(reference.x, reference.y, whiskers, strict=True):
            above[name] = max(above[name], value + whisker + 3)
    return above


def interactive(
    points: Points | Mapping[str, Points],
    *,
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
    order = _order(list(series.values()), references)
    for index, (name, line) in enumerate(series.items()):
        figure.add_bar(
            x=line.x,
            y=line.y,
            name=name or "measured",
            marker={"color": web.colour(index)},
            offsetgroup=str(index),
        )
    for reference in references:
        group = None if reference.index is None else str(reference.index)
        parameter.web_reference(figure, replace(reference, index=None), symbol=3, group=group)
    web.label(figure, y="circuit utilisation (%)")
    figure.update_xaxes(categoryorder="array", categoryarray=order)
    figure.update_layout(barmode="group", scattermode="group")
    return figure
