# SPDX-License-Identifier: MIT OR Apache-2.0
"""A rack's uplinks to circuit switches over time: to which rack each leads, nights, guard bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import PlanLike, RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

DAYS = 3
"""Of the first uplink, that are drawn if nothing else is asked for."""
GUARD = "#9A9A9A"


@dataclass(frozen=True)
class Held:
    """A circuit of one uplink: the rack that it leads to, None for none, from when and until when in us."""

    uplink: int
    peer: int | None
    start_us: float
    end_us: float


def _network(run: RunLike | PlanLike) -> dict[str, Any]:
    source: Any = run
    network: dict[str, Any] = getattr(source, "plan", source).resolve()["network"]
    if "ocs" not in network:
        raise EtalonError('only a network of kind "ocs" has slices to draw')
    ocs: dict[str, Any] = network["ocs"]
    return ocs


def held(ocs: dict[str, Any], rack: int, until_us: float | None = None) -> tuple[list[Held], float]:
    """The circuits of a rack's uplinks that begin or last within the first `until_us`, and that time.

    Raises:
        EtalonError: if there is no such rack.
    """
    racks = len(ocs["uplinks"][0]["rotation"][0]["sources"])
    if not 0 <= rack < racks:
        raise EtalonError(f"there is no rack {rack}: they are 0 to {racks - 1}")
    first = ocs["uplinks"][0]["rotation"][0]
    until = until_us or DAYS * (first["day_ns"] + first["night_ns"]) / 1e3
    found = []
    for uplink, switch in enumerate(ocs["uplinks"]):
        rotation = switch["rotation"]
        cycle = sum(one["day_ns"] + one["night_ns"] for one in rotation)
        # The cycle before the first one is under way at time 0.
        start = switch["offset_ns"] - cycle
        while start < until * 1e3:
            for one in rotation:
                sources, end = one["sources"], start + one["day_ns"]
                peer = sources.index(rack) if rack in sources else None
                if end > 0 and start < until * 1e3:
                    found.append(Held(uplink, peer, max(start, 0) / 1e3, min(end / 1e3, until)))
                start = end + one["night_ns"]
    return found, until


def draw(
    run: RunLike | PlanLike, ax: Axes | None = None, rack: int = 0, until_us: float | None = None
) -> Figure:
    """Draws a row for each uplink of a rack: the number of the rack that it leads to, day by day.

    Nights are blank. Within the guard bands, at both ends of a day, no transmission starts.

    Args:
        run: a run or a plan whose network is of kind "ocs".
        ax: axes to draw on; by default a new figure's.
        rack: the rack with the uplinks.
        until_us: the end of the drawn time, in us; by default after three days of the first uplink.

    Raises:
        EtalonError: for another kind of network, or if there is no such rack.
    """
    ocs = _network(run)
    circuits, until = held(ocs, rack, until_us)
    uplinks, guard = len(ocs["uplinks"]), ocs["guard_ns"] / 1e3
    ax = style.axes(ax, width=style.PAGE, height=0.9 + 0.28 * uplinks)
    for one in circuits:
        length = one.end_us - one.start_us
        colour = "none" if one.peer is None else style.PALETTE[5]
        row = (one.uplink - 0.4, 0.8)
        ax.broken_barh(
            [(one.start_us, length)], row, facecolors=colour, edgecolor="white", linewidth=0.6
        )
        if guard and one.peer is not None:
            bands = [(one.start_us, guard)] * (one.start_us > 0)
            bands += [(one.end_us - guard, guard)] * (one.end_us < until)
            ax.broken_barh(bands, row, facecolors=GUARD, linewidth=0)
        if one.peer is not None and length > until / 40:
            middle = one.start_us + length / 2
            ax.text(middle, one.uplink, str(one.peer), ha="center", va="center", fontsize=7)
    ax.set_ylim(uplinks - 0.4, -0.6)
    ax.set_xlim(0, until)
    ax.yaxis.set_major_locator(FixedLocator(range(uplinks)))
    ax.xaxis.set_major_locator(MaxNLocator(9))
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    ax.set_xlabel("time (µs)")
    ax.set_ylabel(f"uplink of rack {rack}")
    patches = [Patch(color=style.PALETTE[5], label="circuit to the rack of this number")]
    if guard:
        patches.append(Patch(color=GUARD, label="guard band"))
    ax.legend(handles=patches, ncols=2, loc="lower left", bbox_to_anchor=(0, 1.0), handlelength=0.9)
    return style.figure_of(ax)


def interactive(run: RunLike | PlanLike, rack: int = 0, until_us: float | None = None) -> WebFigure:
    """The same figure for a browser, without guard bands."""
    from etalon.figures import web

    circuits, until = held(_network(run), rack, until_us)
    lit = [one for one in circuits if one.peer is not None]
    figure = web.panels()
    figure.add_bar(
        base=[one.start_us for one in lit],
        x=[one.end_us - one.start_us for one in lit],
        y=[f"uplink {one.uplink}" for one in lit],
        text=[str(one.peer) for one in lit],
        orientation="h",
        name=f"circuits of rack {rack}",
        marker={"color": style.PALETTE[5]},
        hovertemplate="%{y} to rack %{text}, from %{base:.6g} for %{x:.6g} µs",
    )
    figure.update_layout(barmode="overlay")
    web.label(figure, x="time (µs)")
    figure.update_xaxes(range=[0, until])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure
