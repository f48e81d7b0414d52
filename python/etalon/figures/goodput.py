# SPDX-License-Identifier: MIT OR Apache-2.0
"""Goodput of each flow, and how fairly it is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from etalon.figures import style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def gigabits(run: RunLike) -> NDArray[np.float64]:
    """Goodput of each flow over the measured time in Gb/s, the fastest first."""
    resolved = run.plan.resolve()
    measured_ns = run.meta.get("simulated_ns", resolved["duration_ns"]) - resolved["warmup_ns"]
    if measured_ns <= 0:
        return np.zeros(run.flows.height)
    return np.sort(run.flows["bytes_delivered"].to_numpy() * 8 / measured_ns)[::-1]


def jain(goodput: NDArray[np.float64]) -> float:
    """Jain's fairness index: 1 if all flows get the same, 1/n if one of n gets all. 1 if nobody gets anything."""
    squares = float(np.sum(goodput**2))
    return float(np.sum(goodput)) ** 2 / (len(goodput) * squares) if squares > 0 else 1.0


def _label(name: str, goodput: NDArray[np.float64]) -> str:
    fairness = f"Jain's index {jain(goodput):.3f}"
    return f"{name}, {fairness}" if name else fairness


def draw(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draws the goodput of each flow, in order of size, with Jain's index in the legend.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    most, highest = 1, 0.0
    for index, (name, run) in enumerate(named.items()):
        goodput = gigabits(run)
        most, highest = max(most, len(goodput)), max(highest, float(goodput.max(initial=0)))
        rank = np.arange(1, len(goodput) + 1)
        colour, label = style.colour(index), _label(name, goodput)
        if len(named) == 1 and len(goodput) <= 64:
            ax.bar(rank, goodput, color=colour, width=0.8, label=label)
        else:
            few = len(goodput) <= 32
            ax.plot(
                rank,
                goodput,
                color=colour,
                marker=style.marker(index) if few else None,
                label=label,
            )
    ax.set_ylim(0, 1.05 * highest if highest > 0 else None)
    ax.set_xlim(0.3, most + 0.7)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.set_xlabel("flow, by goodput")
    ax.set_ylabel("goodput (Gb/s)")
    style.legend(ax, outside=True)
    return style.figure_of(ax)


def interactive(runs: Runs) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    named = by_name(runs)
    for index, (name, run) in enumerate(named.items()):
        goodput = gigabits(run)
        rank = np.arange(1, len(goodput) + 1)
        if len(named) == 1:
            figure.add_bar(
                x=rank.tolist(), y=goodput.tolist(), name=_label(name, goodput), marker={"color": web.colour(index)},
                showlegend=True,
            )  # fmt: skip
        else:
            web.line(
                figure,
                rank,
                goodput,
                _label(name, goodput),
                colour=web.colour(index),
                markers=index,
            )
    web.label(figure, x="flow, by goodput", y="goodput (Gb/s)")
    return figure
