# SPDX-License-Identifier: MIT OR Apache-2.0
"""Utilisation of a network's links over time: of uplinks, and of hosts' links in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def over_time(run: RunLike) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """By kind of links: the start of each interval in ms, and the utilisation in it (0 to 1), all classes together.

    Raises:
        EtalonError: the plan has no `measure.links`.
    """
    if run.links.is_empty():
        raise EtalonError(
            'the run did not record links over time: set measure.links to an interval, such as "1ms"'
        )
    rows: dict[str, dict[int, float]] = {}
    for row in run.links.select("t_ns", "links", "utilization").iter_rows():
        t_ns, links, utilization = row
        shares = rows.setdefault(links, {})
        shares[t_ns] = shares.get(t_ns, 0.0) + utilization
    return {
        links: (np.array(sorted(shares)) / 1e6, np.array([shares[t] for t in sorted(shares)]))
        for links, shares in rows.items()
    }


def draw(run: RunLike, ax: Axes | None = None) -> Figure:
    """Draws the utilisation of uplinks, of links to hosts (data packets) and of links from hosts (all packets) over time.

    Args:
        run: a run with `measure.links`.
        ax: axes to draw on; by default a new figure's.
    """
    found = over_time(run)
    ax = style.axes(ax)
    for index, (links, (time, share)) in enumerate(found.items()):
        ax.plot(
            time,
            share,
            color=style.colour(index),
            linestyle=style.dash(index),
            label=links,
            drawstyle="steps-post",
        )
    ax.set_ylim(0, None)
    ax.set_xlabel("time (ms)")
    ax.set_ylabel("utilisation")
    style.legend(ax, outside=True)
    return style.figure_of(ax)


def interactive(run: RunLike) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    for index, (links, (time, share)) in enumerate(over_time(run).items()):
        web.line(
            figure,
            time,
            share,
            links,
            colour=web.colour(index),
            dash=web.dash(index),
            step=True,
        )
    web.label(figure, x="time (ms)", y="utilisation")
    return figure
