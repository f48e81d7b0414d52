# SPDX-License-Identifier: MIT OR Apache-2.0
"""A packet's path through a network of circuits: the racks where it waits, and its hops, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import PlanLike, RunLike
from etalon.plan.ways import Ways

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


MOST_NUMBERS = 24
"""Of slices, that find room above the axes."""


class Leap(NamedTuple):
    """A hop over an uplink, from rack to rack, at a time in us."""

    at_us: float
    source: int
    destination: int
    uplink: int


class Path(NamedTuple):
    """A path by its label: when it begins and ends, in us, and its hops."""

    label: int
    start_us: float
    end_us: float
    leaps: tuple[Leap, ...]


def paths(
    run: RunLike | PlanLike,
    source: int,
    destination: int,
    slice: int = 0,
    labels: Sequence[int] = (0,),
    priority: str = "low",
) -> tuple[list[Path], float]:
    """The paths of packets that arrive at their first rack as a slice begins, and the length of a slice in us.

    Raises:
        EtalonError: without circuits, or without a path.
    """
    made: Any = getattr(run, "plan", run)
    if "ocs" not in made.resolve()["network"]:
        raise EtalonError('only a network of kind "ocs" has paths to draw')
    ways, length = Ways(made), made.schedule.slice / 1e3
    found = []
    for label in dict.fromkeys(labels):
        hops = ways.of(source, destination, slice, label, priority)
        of_slice, gone = Counter(hop.slice for hop in hops), Counter[int]()
        here, leaps = source, []
        for hop in hops:
            gone[hop.slice] += 1
            share = gone[hop.slice] / (of_slice[hop.slice] + 1)
            leaps.append(Leap((hop.slice + share) * length, here, hop.rack, hop.uplink))
            here = hop.rack
        last = hops[-1].slice if hops else slice
        found.append(Path(label, slice * length, (last + 1) * length, tuple(leaps)))
    return found, length


def _rows(found: list[Path], source: int, destination: int) -> dict[int, int]:
    """The rows of the racks on the paths."""
    racks = {source, destination} | {leap.destination for one in found for leap in one.leaps}
    return {rack: row for row, rack in enumerate(sorted(racks))}


def _steps(path: Path, source: int, rows: dict[int, int]) -> tuple[list[float], list[int]]:
    """A line: it stays level at a rack, and rises or falls with a hop."""
    x, y = [path.start_us], [rows[source]]
    for leap in path.leaps:
        x += [leap.at_us, leap.at_us]
        y += [rows[leap.source], rows[leap.destination]]
    return [*x, path.end_us], [*y, y[-1]]


def _mark_slices(ax: Axes, slices: range, length: float) -> None:
    """Draws a line where each slice begins, and writes its number above; the last of them is not drawn."""
    first, last = slices[0], slices[-1]
    for slot in slices:
        ax.axvline(slot * length, color=style.BASELINE, linewidth=0.4, linestyle=":")
        if slot < last and last - first <= MOST_NUMBERS:
            name = f"slice {slot}" if slot == first else str(slot)
            place = ((slot - first + 0.5) / (last - first), 1.01)
            ax.text(*place, name, transform=ax.transAxes, ha="center", fontsize=7)


def draw(
    run: RunLike | PlanLike,
    ax: Axes | None = None,
    *,
    source: int = 0,
    destination: int = 1,
    slice: int = 0,
    labels: Sequence[int] = (0,),
    priority: str = "low",
) -> Figure:
    """Draws a line for each packet: level where it waits at a rack, vertical where it takes a circuit, with the uplink's
    number beside it.

    Hops within a slice follow one another within microseconds; here they are spread over the slice. Queues delay no packet.

    Args:
        run: a run or a plan whose network is of kind "ocs".
        ax: axes to draw on; by default a new figure's.
        source: the first rack.
        destination: the last rack.
        slice: the slice at whose beginning packets arrive at the first rack.
        labels: a packet for each, which chooses among several paths, as a flow's hash or a packet's spraying does.
        priority: the class of the packets, "low" or "bulk".

    Raises:
        EtalonError: for another kind of network, or without a path.
    """
    found, length = paths(run, source, destination, slice, labels, priority)
    rows = _rows(found, source, destination)
    ax = style.axes(ax, width=style.PAGE, height=1.0 + 0.24 * len(rows))
    first, last = slice, round(max(one.end_us for one in found) / length)
    for index, one in enumerate(found):
        colour, shift = style.PALETTE[index % len(style.PALETTE)], 0.06 * index
        x, y = _steps(one, source, rows)
        ax.plot(x, [row + shift for row in y], color=colour, label=f"label {one.label}")
        for leap in one.leaps:
            low, high = sorted((rows[leap.source], rows[leap.destination]))
            ax.text(
                leap.at_us,
                (low + high) / 2 + shift,
                f" {leap.uplink}",
                color=colour,
                fontsize=7,
                va="center",
            )
    _mark_slices(ax, range(first, last + 1), length)
    ax.set_xlim(first * length, last * length)
    ax.set_ylim(-0.5, len(rows) - 0.4)
    ax.set_yticks(list(rows.values()), [str(rack) for rack in rows])
    ax.xaxis.set_major_locator(MaxNLocator(9))
    ax.set_xlabel("time (µs); the number of the uplink beside each hop")
    ax.set_ylabel("rack")
    if len(found) > 1:
        ax.legend(ncols=len(found), loc="lower left", bbox_to_anchor=(0, 1.06))
    return style.figure_of(ax)


def interactive(
    run: RunLike | PlanLike,
    source: int = 0,
    destination: int = 1,
    slice: int = 0,
    labels: Sequence[int] = (0,),
    priority: str = "low",
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    found, _ = paths(run, source, destination, slice, labels, priority)
    rows = _rows(found, source, destination)
    figure = web.panels()
    for index, one in enumerate(found):
        x, y = _steps(one, source, rows)
        hops = [f"uplink {leap.uplink} to rack {leap.destination}" for leap in one.leaps]
        told = ["", *(text for hop in hops for text in (hop, hop)), "delivered"]
        figure.add_scatter(
            x=x,
            y=y,
            text=told,
            mode="lines",
            name=f"label {one.label}",
            line={"color": web.colour(index)},
            hovertemplate="%{x:.6g} µs: %{text}",
        )
    web.label(figure, x="time (µs)", y="rack")
    figure.update_yaxes(tickvals=list(rows.values()), ticktext=[str(rack) for rack in rows])
    return figure
