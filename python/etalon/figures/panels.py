# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small multiples: one figure in several panels that share their limits and one legend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from etalon.figures import style

if TYPE_CHECKING:
    from etalon.figures.panel import Drawn
    from etalon.figures.registry import Entry

ACROSS = 3
"""Panels beside each other."""


def draw(entry: Entry, drawn: Drawn, more: Mapping[str, Any]) -> Figure:
    """Draws each panel of a sweep that is laid out; one alone is the figure itself."""
    if len(drawn.panels) == 1:
        figure = entry.draw(drawn.panels[0].points, **more)
        _name_places(figure.axes[0], drawn.names)
        return figure
    columns = min(len(drawn.panels), 2 if len(drawn.panels) == 4 else ACROSS)
    rows = math.ceil(len(drawn.panels) / columns)
    with style.context():
        figure = style.new(style.PAGE, 0.5 + 1.75 * rows)
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        for ax in axes[len(drawn.panels) :]:
            ax.remove()
        axes = axes[: len(drawn.panels)]
        for ax, panel in zip(axes, drawn.panels, strict=True):
            entry.draw(panel.points, ax, **more)
            ax.set_title(panel.title)
            _name_places(ax, drawn.names)
        _share(axes, columns)
        _legend(figure, axes)
    return figure


def _name_places(ax: Axes, names: Sequence[str]) -> None:
    """Names the places along an axis of names, which are 0, 1, 2, ...; between names there is nothing, so no lines."""
    if not names:
        return
    ax.set_xscale("linear")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(FixedLocator(range(len(names))))
    ax.xaxis.set_major_formatter(FixedFormatter(list(names)))
    ax.set_xlim(-0.4, len(names) - 0.6)
    if sum(map(len, names)) > 24:
        ax.tick_params(axis="x", rotation=45)
    for line in ax.get_lines():
        if line.get_marker() not in (None, "", "None", "_", "|"):
            line.set_linestyle("none")


def _share(axes: Sequence[Axes], columns: int) -> None:
    """Limits that hold for all panels; labels at the left and at the bottom alone."""
    lefts, rights = zip(*(ax.get_xlim() for ax in axes), strict=True)
    lows, tops = zip(*(ax.get_ylim() for ax in axes), strict=True)
    highest = max(ax.dataLim.ymax for ax in axes)
    if min(lows) == 0 and math.isfinite(highest):
        tops = (*tops, 1.04 * highest)
    for number, ax in enumerate(axes):
        ax.set_xlim(min(lefts), max(rights))
        ax.set_ylim(min(lows), max(tops))
        if number % columns:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if number + columns < len(axes):
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend above all panels, of every line that one of them has."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
        if (legend := ax.get_legend()) is not None:
            legend.remove()
    if len(found) > 1:
        figure.legend(
            found.values(), found.keys(), loc="outside upper left", ncols=min(len(found), 6)
        )
