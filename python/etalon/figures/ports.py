# SPDX-License-Identifier: MIT OR Apache-2.0
"""What each egress port carried, dropped and marked, and how long its queue was: a bar a port, the largest first.

Needs a run of a plan with `measure.ports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Quantity = Literal["utilization", "queue", "packets", "dropped", "marked"]
LABELS: Final = {
    "utilization": "utilisation (%)",
    "queue": "queue (packets)",
    "packets": "packets",
    "dropped": "packets dropped",
    "marked": "packets marked CE",
}
MOST_PORTS = 16
"""That are drawn."""


def largest(run: RunLike, quantity: Quantity, most: int) -> pl.DataFrame:
    """The ports of which a quantity is largest: `name`, `value`, `longest`.

    Raises:
        EtalonError: if ports were not measured.
    """
    if run.ports.is_empty():
        raise EtalonError("ports were not measured: the plan needs measure.ports = true")
    value = {
        "utilization": 100 * pl.col("utilization"),
        "queue": pl.col("queue_mean"),
    }.get(quantity, pl.col(quantity).cast(pl.Float64))
    table = run.ports.select(
        pl.concat_str("from", "to", separator=" → ").alias("name"), value.alias("value"), "longest"
    )
    return table.sort("value", descending=True, maintain_order=True).head(most)


def draw(
    run: RunLike,
    ax: Axes | None = None,
    *,
    quantity: Quantity = "utilization",
    most: int = MOST_PORTS,
) -> Figure:
    """Draws one number of the table `ports` as bars.

    Args:
        run: a run.
        ax: axes to draw on; by default a new figure's.
        quantity: which; "queue" has the mean as a bar and the longest as a dot.
        most: how many ports are shown, the largest.
    """
    table = largest(run, quantity, most)
    ax = style.axes(ax, height=0.6 + 0.14 * table.height)
    rows = range(table.height)
    ax.barh(rows, table["value"].to_list(), 0.7, color=style.colour(0), label="mean")
    if quantity == "queue":
        ax.plot(table["longest"].to_list(), rows, ".", color=style.colour(1), ms=4, label="longest")
        style.legend(ax, outside=True, columns=2)
    ax.set_yticks(rows, table["name"].to_list())
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel(LABELS[quantity])
    ax.set_ylabel("port")
    return style.figure_of(ax)


def interactive(
    run: RunLike, *, quantity: Quantity = "utilization", most: int = MOST_PORTS
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    table = largest(run, quantity, most)
    names = table["name"].to_list()
    one = {
        "orientation": "h",
        "showlegend": quantity == "queue",
        "marker": {"color": web.colour(0)},
    }
    figure.add_bar(y=names, x=table["value"].to_list(), name="mean", **one)
    if quantity == "queue":
        figure.add_scatter(
            y=names,
            x=table["longest"].to_list(),
            mode="markers",
            name="longest",
            marker={"color": web.colour(1)},
        )
    figure.update_yaxes(autorange="reversed")
    web.label(figure, x=LABELS[quantity], y="port")
    return figure
