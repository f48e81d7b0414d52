"""How much payload each network carried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.figures import style
from etalon.figures.types import RunLike, Runs, by_name

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

NETWORKS = ("packet", "circuit")


def gigabytes(run: RunLike) -> dict[str, float]:
    """Payload that left each network in the measured time, all pairs, in GB."""
    return {
        network: float(run.pairs[f"{network}_payload_bytes"].sum()) / 1e9 for network in NETWORKS
    }


def draw(runs: Runs, ax: Axes | None = None) -> Figure:
    """Draws a bar for each network of each run.

    Args:
        runs: a run, or several by name.
        ax: axes to draw on; a new figure without.
    """
    ax = style.axes(ax)
    bars = {name or "payload": gigabytes(run) for name, run in by_name(runs).items()}
    for index, network in enumerate(NETWORKS):
        places = [place + (index - 0.5) * 0.4 for place in range(len(bars))]
        heights = [amounts[network] for amounts in bars.values()]
        ax.bar(places, heights, 0.38, color=style.colour(index), label=f"{network} network")
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
    for index, network in enumerate(NETWORKS):
        figure.add_bar(
            x=list(bars),
            y=[amounts[network] for amounts in bars.values()],
            name=f"{network} network",
            marker={"color": web.colour(index)},
        )
    web.label(figure, y="payload (GB)")
    figure.update_layout(barmode="group")
    return figure
