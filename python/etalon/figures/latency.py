# SPDX-License-Identifier: MIT OR Apache-2.0
"""Latency through the switch over a parameter (NSDI'20 figures 8c, 9c, 11c), at chosen percentiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import parameter, style
from etalon.figures.parameter import Line, Published
from etalon.figures.types import Points, RunLike, series_by_name

if TYPE_CHECKING:
    from etalon.figures.types import Tolerance, WebFigure

_DASHES = (("-", "solid"), ((0, (4, 1.5)), "dash"), ((0, (1, 1)), "dot"))
"""Dashes of the percentiles of a series, in print and in a browser."""


def _percentile(run: RunLike, percentile: float, network: str | None) -> float:
    return run.latency(percentile, network)


def _lines(
    points: Points | Mapping[str, Points],
    percentiles: Sequence[float],
    network: str | None,
) -> list[tuple[int, int, str, Line]]:
    """Index of the series, index of the percentile, label and points of each line."""
    series = series_by_name(points)
    lines = []
    for index, (name, part) in enumerate(series.items()):
        for rank, percentile in enumerate(percentiles):
            quantity = partial(_percentile, percentile=percentile, network=network)
            label = f"{name} {_ordinal(percentile)}".strip()
            lines.append((index, rank, label, parameter.line_of(part, quantity)))
    return lines


def _references(
    points: Points | Mapping[str, Points],
    percentiles: Sequence[float],
    published: Published | None,
    tolerance: Tolerance | None,
) -> list[parameter.Reference]:
    label = f"published {_ordinal(percentiles[0])}"
    return parameter.references(published, tolerance, list(series_by_name(points)), label)


def _ordinal(percentile: float) -> str:
    return "median" if percentile == 50 else f"p{percentile:g}"


def draw(
    points: Points | Mapping[str, Points],
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    percentiles: Sequence[float] = (99, 50),
    network: str | None = None,
    published: Published | None = None,
    tolerance: Tolerance | None = None,
) -> Figure:
    """Draws latency in microseconds over the values of a parameter.

    Args:
        points: runs (or lists of runs that differ by seed, or microseconds) by value of the parameter; or several such
            series by the name for the legend.
        ax: axes to draw on; by default a new figure's.
        xlabel: the parameter, with its unit.
        percentiles: which to draw, at most three.
        network: the name of a plane, for the packets that it carried; by default all packets.
        published: microseconds at the first percentile by value of the parameter, drawn as open markers; or
            several such series by the names of those measured.
        tolerance: of the published values, drawn as whiskers.
    """
    ax = style.axes(ax)
    lines = _lines(points, percentiles, network)
    references = _references(points, percentiles, published, tolerance)
    for reference in references:
        parameter.plot_reference(ax, reference)
    for index, rank, label, line in lines:
        ax.errorbar(
            line.x, line.y, yerr=line.spread, color=style.colour(index), ls=_DASHES[rank][0],
            marker=style.marker(index), mfc=None if rank == 0 else "white", capsize=1.5, elinewidth=0.7, label=label,
        )  # fmt: skip
    seen = parameter.all_x((line for *_, line in lines), references)
    parameter.scale_x(ax, seen, logarithmic=parameter.looks_logarithmic(seen))
    ax.set_ylim(bottom=0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel("latency (µs)")
    if published or len(lines) > 1:
        style.legend(ax)
    return style.figure_of(ax)


def interactive(
    points: Points | Mapping[str, Points],
    *,
    xlabel: str = "",
    percentiles: Sequence[float] = (99, 50),
    network: str | None = None,
    published: Published | None = None,
    tolerance: Tolerance | None = None,
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    references = _references(points, percentiles, published, tolerance)
    seen = [x for reference in references for x in reference.x]
    for index, rank, label, line in _lines(points, percentiles, network):
        parameter.web_line(figure, line, label, index, dash=_DASHES[rank][1])
        seen += line.x
    for reference in references:
        parameter.web_reference(figure, reference)
    web.label(figure, x=xlabel, y="latency (µs)")
    if parameter.looks_logarithmic(seen):
        figure.update_xaxes(type="log", tickvals=sorted(set(seen)))
    return figure
