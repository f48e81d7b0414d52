# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much payload each plane of the network carried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style
from etalon.figures.types import RunLike, Runs, by_name, planes_of

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def gigabytes(run: RunLike) -> dict[str, float]:
    """Payload that each plane carried in the measured time, all pairs, in GB."""
    return {plane: float(run.pairs[f"{plane}_payload_bytes"].sum()) / 1e9 for plane in run.planes}


def draw(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draws a bar for each plane of each run.

    Args:
        runs: a run, or several by name.
        ax: axes to draw on; by default a new figure's.
    """
    ax = style.axes(ax)
    bars = {name or "payload": gigabytes(run) for name, run in by_name(runs).items()}
    planes = planes_of(by_name(runs).values())
    width = 0.8 / len(planes)
    for index, network in enumerate(planes):
        offset = (index - (len(planes) - 1) / 2) * width
        places = [place + offset for place in range(len(bars))]
        heights = [amounts.get(network, 0.0) for amounts in bars.values()]
        ax.bar(places, heights, 0.95 * width, color=style.colour(index), label=f"{network} network")
    style.name_bars(ax, list(bars))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("payload (GB)")
    style.legend(ax, columns=2, outside=True)
    return style.figure_of(ax)


def interactive(runs: Runs) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    bars = {name or "payload": gigabytes(run) for name, run in by_name(runs).items()}
    for index, network in enumerate(planes_of(by_name(runs).values())):
        figure.add_bar(
            x=list(bars),
            y=[amounts.get(network, 0.0) for amounts in bars.values()],
            name=f"{network} network",
            marker={"color": web.colour(index)},
        )
    web.label(figure, y="payload (GB)")
    figure.update_layout(barmode="group")
    return figure
