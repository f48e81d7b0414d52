# SPDX-License-Identifier: MIT OR Apache-2.0
"""An iteration of a job, rank by rank: computing, waiting for circuits, sending, waiting for others. Below them the circuits
that were asked for: waiting, dark, up; hatched if another job asked for them."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import RunLike
from etalon.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from etalon.figures.types import WebFigure

Bars = dict[str, dict[int, list[tuple[float, float]]]]
"""Begin and length in microseconds, by what a rank does, by rank; or by the state of a circuit, by lane."""

COMPUTES, CIRCUITS, SENDS = "computes", "waits for circuits", "sends"
ASKED, DARK, UP = "circuit asked for", "dark", "up"
OTHERS = "for another job"
HATCH = "/////"
COLOURS = {
    COMPUTES: style.PALETTE[2],
    CIRCUITS: style.PALETTE[1],
    SENDS: style.PALETTE[0],
    ASKED: "#CCCCCC",
    DARK: style.PALETTE[6],
    UP: style.PALETTE[5],
}
MOST_LANES = 32
"""Circuits with lanes of their own; if there are more, those from one rack share lanes."""
LANE, APART = 0.5, 0.4
"""Height of a circuit's lane, and of the gap above the first, where a rank's is 1."""
INCHES, LEAST_INCHES, MOST_INCHES = 0.18, 0.1, 12.0
"""Height of a rank; of one of many; most of a figure, below which ranks have no names."""
LEGEND = 0.26
"""Height in inches of two more rows of the legend."""
FEW = 8
"""Ranks that fit into one column of a page."""
NARROWEST = 1 / 500
"""Least width of a dark span, relative to the axis: a change of 10 us should show in an iteration of 5 ms."""
LETTER, SMALL = 0.045, 4.5
"""Width in inches of a letter, and its size in points, of what is written in bars."""

Span = tuple[float, float]
"""From and to, in microseconds from the start of the iteration."""


def bars(run: RunLike, iteration: int, job: int) -> Bars:
    """What each rank does in an iteration, times from its start on. Raises `EtalonError` if the run has no such iteration."""
    steps = run.steps.filter((pl.col("job") == job) & (pl.col("iteration") == iteration))
    if steps.is_empty():
        raise EtalonError(
            f"the run has no steps of iteration {iteration} of job {job}: it has "
            f"{counted(len(run.iterations), 'iteration')} and {counted(len(run.steps), 'step')}"
        )
    origin, _ = _span(run, iteration, job)
    end = int(run.meta["simulated_ns"])
    found: Bars = {COMPUTES: {}, CIRCUITS: {}, SENDS: {}}
    for row in steps.iter_rows(named=True):
        parts = []
        received = row["received_ns"] if row["received_ns"] >= 0 else end
        if row["peer"] < 0:
            parts.append((COMPUTES, row["ready_ns"], received))
        else:
            begins = row["granted_ns"] if row["granted_ns"] >= 0 else row["ready_ns"]
            if row["asked_ns"] >= 0:
                begins = row["granted_ns"] if row["granted_ns"] >= 0 else end
                parts.append((CIRCUITS, row["ready_ns"], begins))
            parts.append((SENDS, begins, received))
        for what, begin, until in parts:
            if until > begin:
                bar = ((begin - origin) / 1e3, (until - begin) / 1e3)
                found[what].setdefault(row["rank"], []).append(bar)
    return found


def _span(run: RunLike, iteration: int, job: int) -> tuple[int, int]:
    """When an iteration begins, and when it ends or the run does."""
    mine = run.iterations.filter((pl.col("job") == job) & (pl.col("iteration") == iteration))
    start, end = int(mine["start_ns"][0]), int(mine["end_ns"][0])
    return start, end if end >= 0 else int(run.meta["simulated_ns"])


def _several(run: RunLike) -> bool:
    return run.iterations["job"].n_unique() > 1


def rank_name(run: RunLike, job: int) -> str:
    """What a row of a rank is: of which job, if there are several."""
    return f"rank of job {job}" if _several(run) else "rank"


def lanes(run: RunLike, iteration: int, job: int) -> tuple[list[str], Bars, Bars]:
    """Names of the lanes of circuits, and what their circuits do during an iteration, times from its start on: all of them, and
    those for which another job asked."""
    start, end = _span(run, iteration, job)
    last = pl.when(pl.col("down_ns") >= 0).then("down_ns").otherwise(end)
    first = pl.when(pl.col("asked_ns") >= 0).then("asked_ns").otherwise("granted_ns")
    there = run.cross_connects.filter((last > start) & (first < end))
    each = there.select("src", "dst").unique().height <= MOST_LANES
    granted = pl.when(pl.col("granted_ns") >= 0).then("granted_ns").otherwise(end)
    there = there.sort("src", *["dst"] * each, granted, "plane")
    names: list[str] = []
    found: Bars = {ASKED: {}, DARK: {}, UP: {}}
    others: Bars = {ASKED: {}, DARK: {}, UP: {}}
    mine = ("", f"job {job}")
    free: dict[str, int] = {}  # when each lane's last circuit goes down
    for row in there.iter_rows(named=True):
        over = [row[key] if row[key] >= 0 else end for key in ("granted_ns", "up_ns", "down_ns")]
        first_lane = f"r{row['src']}→" + f"r{row['dst']}" * each
        beside = (f"{first_lane} ({number})" for number in count(2))
        name = next(lane for lane in chain([first_lane], beside) if free.get(lane, 0) <= over[0])
        if name not in free:
            names.append(name)
        free[name] = over[-1]
        lane = names.index(name)
        asked = row["asked_ns"] if row["asked_ns"] >= 0 else over[0]
        for what, begin, until in zip(found, (asked, *over), over, strict=False):
            begin, until = max(begin, start), min(until, end)
            if until > begin:
                bar = ((begin - start) / 1e3, (until - begin) / 1e3)
                found[what].setdefault(lane, []).append(bar)
                if row["asked_by"] not in mine:
                    others[what].setdefault(lane, []).append(bar)
    return names, found, others


def waits(run: RunLike, iteration: int, job: int) -> dict[int, list[tuple[float, float, int]]]:
    """Begin and length in microseconds of each rank's waits for circuits, with the rank to which they lead."""
    origin, _ = _span(run, iteration, job)
    end = int(run.meta["simulated_ns"])
    mine = (pl.col("job") == job) & (pl.col("iteration") == iteration) & (pl.col("asked_ns") >= 0)
    found: dict[int, list[tuple[float, float, int]]] = {}
    for row in run.steps.filter(mine).iter_rows(named=True):
        until = row["granted_ns"] if row["granted_ns"] >= 0 else end
        if until > row["ready_ns"]:
            wait = ((row["ready_ns"] - origin) / 1e3, (until - row["ready_ns"]) / 1e3, row["peer"])
            found.setdefault(row["rank"], []).append(wait)
    return found


def total(spans: Iterable[tuple[float, ...]], within: Span) -> float:
    """How long at least one of these spans (begin, length) lasts."""
    covered, last = 0.0, within[0]
    for begin, length, *_ in sorted(spans):
        until = min(begin + length, within[1])
        covered += max(until - max(begin, last), 0.0)
        last = max(last, until)
    return covered


def _ranks(found: Bars) -> int:
    return 1 + max(rank for by_rank in found.values() for rank in by_rank)


def _part(span_us: Span | None, length_us: float) -> Span:
    """Which part of an iteration of this length is drawn: all of it, or what was asked for."""
    span = span_us or (0.0, length_us)
    if not 0 <= span[0] < span[1]:
        raise EtalonError(f"span_us is {span}: give the part's start and its later end, in us")
    return span


def _within(found: Bars, span: Span) -> Bars:
    """The bars of a span of time, cut to it."""
    cut: Bars = {}
    for what, by_row in found.items():
        cut[what] = {}
        for row, mine in by_row.items():
            ends = ((max(begin, span[0]), min(begin + length, span[1])) for begin, length in mine)
            cut[what][row] = [(begin, until - begin) for begin, until in ends if until > begin]
    return cut


def _lanes_within(names: list[str], found: Bars, others: Bars) -> tuple[list[str], Bars, Bars]:
    """The lanes that have bars."""
    kept = sorted({lane for by_lane in found.values() for lane, mine in by_lane.items() if mine})
    place = {lane: number for number, lane in enumerate(kept)}
    all_bars, bars_of_others = (
        {
            what: {place[lane]: mine for lane, mine in by_lane.items() if mine}
            for what, by_lane in some.items()
        }
        for some in (found, others)
    )
    return [names[lane] for lane in kept], all_bars, bars_of_others


def draw(
    run: RunLike,
    ax: Axes | None = None,
    iteration: int = 0,
    job: int = 0,
    span_us: Span | None = None,
) -> Figure:
    """Draws what each rank does in one iteration of a job: blank is waiting for other ranks. If circuits are asked for, each
    has a lane below the ranks. On the right: how long each rank waited for circuits, and how long each lane was dark.

    A message is drawn from when its rank was ready, or its circuits were there, to when its peer had read all of it. A circuit
    is asked for, dark while it changes, and up until it makes way; hatched if another job, or a program, asked for it. Parallel
    circuits have a lane each, as r0→r1 (2). Of more than 32 circuits those from one rack share lanes; a wide wait has the rank
    to which its circuit leads, and the time. Dark spans have a least width.

    Args:
        run: the run of a plan with jobs.
        ax: axes to draw on; by default a new figure's, which grows with the ranks.
        iteration: which, from 0 on.
        job: which of the plan's jobs, from 0 on.
        span_us: the part of the iteration to draw, like (1000, 1200); by default all of it.

    Raises:
        EtalonError: if the run has no such iteration, or no table of steps.
    """
    found = bars(run, iteration, job)
    ranks = _ranks(found)
    start, end = _span(run, iteration, job)
    span = _part(span_us, (end - start) / 1e3)
    found = _within(found, span)
    names, circuits, others = lanes(run, iteration, job)
    names, circuits, others = _lanes_within(names, _within(circuits, span), _within(others, span))
    below = APART + LANE * len(names) if names else 0.0
    ax, inches = _axes(ax, ranks, below, LEGEND * any(others.values()))
    for what, by_rank in found.items():
        for rank, mine in by_rank.items():
            # A rank may wait for its next circuit while its peer still reads what it sent.
            above = 1.5 if what == CIRCUITS else 1.0
            where = (rank - 0.4, 0.8)
            ax.broken_barh(mine, where, facecolors=COLOURS[what], linewidth=0, zorder=above)
    places = [ranks - 0.5 + APART + LANE * (lane + 0.5) for lane in range(len(names))]
    _draw_lanes(ax, circuits, others, places, NARROWEST * (span[1] - span[0]))
    ax.set_ylim(ranks - 0.4 + below, -0.6)
    ax.set_xlim(*span)
    _name_rows(ax, ranks, places, names, inches)
    label = rank_name(run, job)
    ax.set_ylabel(f"circuit, {label}" if names else label)
    _say_waits(ax, waits(run, iteration, job), circuits[DARK], places, span, inches)
    ax.grid(visible=False)
    ax.set_xlabel("time in the iteration (µs)")
    shown = [what for what, by_row in {**found, **circuits}.items() if any(by_row.values())]
    _add_legend(ax, shown, any(others.values()))
    return style.figure_of(ax)


def _draw_lanes(ax: Axes, circuits: Bars, others: Bars, places: list[float], least: float) -> None:
    """Circuits in their lanes, hatched if another job asked for them; none is dark for less than `least` us of the axis."""
    hatched: Any = {"facecolors": "none", "edgecolors": "white", "hatch": HATCH, "linewidth": 0}
    for what, by_lane in circuits.items():
        for lane, mine in by_lane.items():
            where = (places[lane] - 0.4 * LANE, 0.8 * LANE)
            wide = [(at, max(length, least)) for at, length in mine] if what == DARK else mine
            above = 1.5 if what == DARK else 1.0
            ax.broken_barh(wide, where, facecolors=COLOURS[what], linewidth=0, zorder=above)
            if what != DARK and lane in others[what]:
                ax.broken_barh(others[what][lane], where, **hatched)


def _add_legend(ax: Axes, shown: list[str], has_others: bool) -> None:
    patches = [Patch(color=COLOURS[what], label=what) for what in shown]
    if has_others:
        patches.append(Patch(facecolor=COLOURS[UP], edgecolor="white", hatch=HATCH, label=OTHERS))
    corner: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "handlelength": 0.9}
    ax.legend(handles=patches, ncols=2 if has_others else 3, **corner)


def _axes(ax: Axes | None, ranks: int, below: float, above: float) -> tuple[Axes, float]:
    """Axes for so many ranks, lanes that take as much room as `below` ranks, and `above` inches more of a legend; and the
    height of a rank in inches."""
    height = 1.0 + 0.12 * bool(below) + above
    inches = max(LEAST_INCHES, INCHES * min(1.0, 16 / ranks))
    inches = min(inches, (MOST_INCHES - height) / (ranks + below))
    width = style.COLUMN if ranks <= FEW else style.PAGE
    return style.axes(ax, width=width, height=height + inches * (ranks + below)), inches


def _say_waits(
    ax: Axes,
    waited: dict[int, list[tuple[float, float, int]]],
    dark: dict[int, list[tuple[float, float]]],
    places: list[float],
    span: Span,
    inches: float,
) -> None:
    """Writes how long ranks waited for circuits and lanes were dark, and into wide waits to whom the circuit leads."""
    if not waited and not dark:
        return
    scale = style.figure_of(ax).get_size_inches()[0] * 0.8 / (span[1] - span[0])
    inside: Any = {"ha": "center", "va": "center", "fontsize": SMALL, "color": "white"}
    for rank, mine in waited.items():
        for begin, length, peer in sorted(set(mine)):
            first, last = max(begin, span[0]), min(begin + length, span[1])
            for text in (f"→{peer}, {length:.3g} µs", f"→{peer}"):
                if (last - first) * scale > LETTER * len(text):
                    ax.text((first + last) / 2, rank, text, **inside)
                    break
    beside: Any = {"va": "center", "clip_on": False, "transform": ax.get_yaxis_transform()}
    rows = [(float(rank), total(mine, span), 1.0) for rank, mine in waited.items()]
    rows += [(places[lane], total(mine, span), LANE) for lane, mine in dark.items()]
    if inches < LEAST_INCHES:
        return
    for place, time, row in rows:
        if time:
            ax.text(1.01, place, f"{time:.4g}", fontsize=_points(inches * row), **beside)
    across: Any = {"rotation": 270, "va": "center", "transform": ax.transAxes, "fontsize": 7}
    wide = style.figure_of(ax).get_size_inches()[0]
    ax.text(1 + 0.5 / wide, 0.5, "waited for circuits, dark (µs)", **across)


def _points(inches: float) -> float:
    """Size of letters in a row of this height."""
    return min(7.0, 60 * inches)


def _name_rows(ax: Axes, ranks: int, places: list[float], names: list[str], inches: float) -> None:
    """Names the ranks, and the lanes of circuits below them; of many not all."""
    if not names:
        ax.yaxis.set_major_locator(MaxNLocator(9, integer=True))
        return
    each = inches >= LEAST_INCHES
    shown = range(0, ranks, 1 if each else -(-ranks // 9))
    lanes_shown = range(0, len(names), 1 if each else -(-len(names) // 9))
    labels = [str(rank) for rank in shown] + [names[lane] for lane in lanes_shown]
    ax.set_yticks([*shown, *(places[lane] for lane in lanes_shown)], labels)
    for number, label in enumerate(ax.get_yticklabels()):
        row = inches if number < len(shown) else inches * LANE
        label.set_fontsize(_points(row) if each else 6)
    ax.tick_params(axis="y", length=0)


def interactive(
    run: RunLike, iteration: int = 0, job: int = 0, span_us: Span | None = None
) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    found = bars(run, iteration, job)
    names, circuits, others = lanes(run, iteration, job)
    whose = f", job {job}" if _several(run) else ""
    rows = [f"rank {rank}{whose}" for rank in range(_ranks(found))]
    every_bar = [(what, rows, by_row, "") for what, by_row in found.items()]
    every_bar += [(what, names, by_row, "") for what, by_row in circuits.items()]
    every_bar += [(what, names, by_row, OTHERS) for what, by_row in others.items()]
    for what, mine, by_row, whom in every_bar:
        every = [(row, *bar) for row, bars_of in sorted(by_row.items()) for bar in bars_of]
        if every:
            figure.add_bar(
                base=[begin for _, begin, _ in every],
                x=[length for *_, length in every],
                y=[mine[row] for row, *_ in every],
                orientation="h",
                name=f"{what} {whom}".replace("for for", "for by").strip(),
                marker={
                    "color": COLOURS[what],
                    "line": {"width": 0},
                    "pattern": {"shape": "/" if whom else ""},
                },
                hovertemplate="%{y}, from %{base:.6g} for %{x:.6g} µs",
            )
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(title_text="time in the iteration (µs)", range=span_us)
    figure.update_yaxes(
        autorange="reversed",
        automargin=True,
        categoryorder="array",
        categoryarray=[*rows, *names],
    )
    figure.update_layout(height=max(380, 120 + 18 * (len(rows) + len(names))))
    return figure
