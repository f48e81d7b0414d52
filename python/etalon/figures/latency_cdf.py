# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distribution of the latency through the switch, for the packets of each plane apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from etalon.figures import style, weeks
from etalon.figures.types import RunLike, Runs, by_name, planes_of

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

DASHES = (("-", "solid"), ((0, (3, 1.2)), "dash"), ((0, (1, 1.2)), "dot"))
"""Dashes of the planes, in print and in a browser."""


def dashed(runs: Iterable[RunLike]) -> list[tuple[str, tuple[Any, str]]]:
    """The planes of all runs, each with its dash."""
    return list(zip(planes_of(runs), itertools.cycle(DASHES), strict=False))


def _legend(run: RunLike, network: str) -> str:
    """What a plane is called: a network that is measured as one is none of packets alone."""
    return "network" if tuple(run.planes) == ("packet",) else network


def cdf(run: RunLike, network: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Latency in microseconds and the share of the measured pair's packets at or below it; None without packets."""
    src, dst = weeks.measured_pair(run.plan.resolve())
    bins = (
        run.latency_histogram.filter(
            (pl.col("src") == src) & (pl.col("dst") == dst) & (pl.col("network") == network)
        )
        .sort("upper_ns")
        .select("lower_ns", "upper_ns", "count")
    )
    if bins.height == 0:
        return None
    counts = np.cumsum(bins["count"].to_numpy().astype(np.float64))
    latency = np.concatenate(([bins["lower_ns"][0]], bins["upper_ns"].to_numpy())) / 1e3
    return latency, np.concatenate(([0.0], counts / counts[-1]))


def draw(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draws the latency distribution of the measured pair's packets by network.

    Args:
        runs: a run, or several by the name for the legend.
        ax: axes to draw on; by default a new figure's.
    """
    ax = style.axes(ax)
    named = by_name(runs)
    planes = dashed(named.values())
    for index, run in enumerate(named.values()):
        for rank, (network, (dash, _)) in enumerate(planes):
            if (curve := cdf(run, network)) is not None:
                colour = style.colour(index if len(named) > 1 else rank)
                ax.plot(
                    *curve,
                    color=colour,
                    ls=dash,
                    label=_legend(run, network) if len(named) == 1 else None,
                )
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.set_xlabel("latency through the switch (µs)")
    ax.set_ylabel("share of packets")
    if len(named) > 1:
        # Colour tells the run, dash the network.
        for index, name in enumerate(named):
            ax.plot([], color=style.colour(index), label=name)
        for network, (dash, _) in planes:
            ax.plot([], color=style.BASELINE, ls=dash, label=network)
    style.legend(ax, columns=3, outside=True)
    return style.figure_of(ax)


def interactive(runs: Runs) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    named = by_name(runs)
    planes = dashed(named.values())
    for index, (name, run) in enumerate(named.items()):
        for rank, (network, (_, dash)) in enumerate(planes):
            if (curve := cdf(run, network)) is not None:
                colour = web.colour(index if len(named) > 1 else rank)
                web.line(
                    figure,
                    *curve,
                    f"{name}, {network}" if name else _legend(run, network),
                    colour=colour,
                    dash=dash,
                )
    web.label(figure, x="latency through the switch (µs)", y="share of packets")
    figure.update_xaxes(rangemode="tozero")
    return figure
