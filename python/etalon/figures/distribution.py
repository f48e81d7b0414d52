# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distributions of quantities that have one value a flow or a file: a curve a run, in steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Curve: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values from low to high, and the share of all at or below each."""
Named: TypeAlias = Sequence[tuple[str, Curve | None]]
"""Curves with their names; None where nothing was measured."""


MOST_STEPS = 20_000
"""Steps of a curve: of more values, so many are shown, evenly spaced by rank, the first and the last among them."""


def finite(run: RunLike, flow_class: str | None) -> tuple[pl.DataFrame, int]:
    """Size, start and end of the finite flows of a class, or of all, that were done, and the number of all of these flows."""
    flows = run.flow_table.filter(pl.col("bytes") >= 0)
    if flow_class is not None:
        flows = flows.filter(pl.col("class") == flow_class)
    done = flows.filter(pl.col("end_ns") >= 0).select("bytes", "start_ns", "end_ns").collect()
    return done, int(flows.select(pl.len()).collect().item())


def curve(values: NDArray[np.float64], total: int, below: int = 0) -> Curve | None:
    """The distribution of values among `total`, `below` of which are lower than all values; None without values."""
    if len(values) == 0:
        return None
    ordered = np.sort(values)
    shares = (np.arange(len(ordered) + 1) + below) / total
    values = np.concatenate((ordered[:1], ordered))
    if len(values) > MOST_STEPS:
        shown = np.linspace(0, len(values) - 1, MOST_STEPS).astype(np.int64)
        values, shares = values[shown], shares[shown]
    return values, shares


def milliseconds(done: pl.DataFrame) -> NDArray[np.float64]:
    """How long each took."""
    times: NDArray[np.float64] = (done["end_ns"] - done["start_ns"]).to_numpy() / 1e6
    return times


def draw(curves: Named, ax: Axes | None, *, x: str, y: str, from_zero: bool = True) -> Axes:
    """Draws the curves, with a legend if there are several; x begins at 0 unless the caller sets where."""
    ax = style.axes(ax)
    for index, (name, one) in enumerate(curves):
        if one is not None:
            ax.step(*one, where="post", color=style.colour(index), ls=style.dash(index), label=name)
    if from_zero:
        ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if len(curves) > 1:
        style.legend(ax, loc="lower right")
    return ax


def interactive(curves: Named, *, x: str, y: str, alone: str) -> WebFigure:
    """The same for a browser; `alone` is the name of a curve without one."""
    from etalon.figures import web

    figure = web.panels()
    for index, (name, one) in enumerate(curves):
        if one is not None:
            colour, dash = web.colour(index), web.dash(index)
            web.line(figure, *one, name or alone, colour=colour, dash=dash, step=True)
    web.label(figure, x=x, y=y)
    return figure
