# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distribution of the throughput of finite flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import distribution, style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

X, Y = "flow throughput (Gb/s)", "share of flows"


def cdf(run: RunLike, flow_class: str | None = None) -> distribution.Curve | None:
    """Payload over completion time in Gb/s and the share of finite flows that are no faster, or None if no flow was done.

    Of one class of flows, or of all. Flows that were cut off by the end of the run, or killed, count as slower than all
    others: the curve then starts above 0.
    """
    done, total = distribution.finite(run, flow_class)
    rates = done["bytes"] * 8 / (done["end_ns"] - done["start_ns"])  # bits per nanosecond are Gb/s
    return distribution.curve(rates.to_numpy(), total, total - done.height)


def curves(runs: Runs, flow_class: str | None) -> distribution.Named:
    """A curve for each run, with its name."""
    return [(name, cdf(run, flow_class)) for name, run in by_name(runs).items()]


def draw(runs: Runs, ax: Axes | None = None, *, flow_class: str | None = None) -> Figure:
    """Draws the distribution of throughput over flows.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
        flow_class: flows of this class only.
    """
    return style.figure_of(distribution.draw(curves(runs, flow_class), ax, x=X, y=Y))


def interactive(runs: Runs, *, flow_class: str | None = None) -> WebFigure:
    """The same figure for a browser."""
    return distribution.interactive(curves(runs, flow_class), x=X, y=Y, alone="flows")
