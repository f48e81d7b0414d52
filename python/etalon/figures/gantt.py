# SPDX-License-Identifier: MIT OR Apache-2.0
"""An iteration of a job, rank by rank: computing, waiting for circuits, sending, waiting for others. Below them the circuits
that were asked for: waiting, dark, up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure

Bars = dict[str, dict[int, list[tuple[float, float]]]]
"""Begin and length in microseconds, by what a rank does, by rank; or by the state of a circuit, by lane."""

COMPUTES, CIRCUITS, SENDS = "computes", "waits for circuits", "sends"
ASKED, DARK, UP = "circuit asked for", "dark", "up"
COLOURS = {
    COMPUTES: style.PALETTE[2],
    CIRCUITS: style.PALETTE[1],
    SENDS: style.PALETTE[0],
    ASKED: "#CCCCCC",
    DARK: style.PALETTE[6],
    UP: style.PALETTE[5],
}
MOST_LANES = 32
"""Circuits with a lane each; if there are more, those from one rack share a lane, of which one is up at a time."""
LANE, APART = 0.5, 0.4
"""Height of a circuit's lane, and of the gap above the first, where a rank's is 1."""
INCHES = 0.18
"""Height of a rank."""


def bars(run: RunLike, iteration: int, job: int) -> Bars:
    """What each rank does in an iteration, times from its start on. Raises `EtalonError` if the run has no such iteration."""
    steps = run.steps.filter((pl.col("job") == job) & (pl.col("iteration") == iteration))
    if steps.is_empty():
        raise EtalonError(
            f"the run has no steps of iteration {iteration} of job {job}: it has {len(run.iterations)} "
            f"iterations and {len(run.steps)} steps"
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


def lanes(run: RunLike, iteration: int, job: int) -> tuple[list[str], Bars]:
    """Names of the lanes of circuits, and what their circuits do during an iteration, times from its start on."""
    start, end = _span(run, iteration, job)
    last = pl.when(pl.col("down_ns") >= 0).then("down_ns").otherwise(end)
    first = pl.when(pl.col("asked_ns") >= 0).then("asked_ns").otherwise("granted_ns")
    there = run.cross_connects.filter((last > start) & (first < end)).sort("src", "dst", "plane")
    each = there.select("src", "dst").unique().height <= MOST_LANES
    names: list[str] = []
    found: Bars = {ASKED: {}, DARK: {}, UP: {}}
    for row in there.iter_rows(named=True):
        name = f"r{row['src']}→r{row['dst']}" if each else f"r{row['src']}→"
        if name not in names[-1:]:
            names.append(name)
        over = [row[key] if row[key] >= 0 else end for key in ("granted_ns", "up_ns", "down_ns")]
        asked = row["asked_ns"] if row["asked_ns"] >= 0 else over[0]
        for what, begin, until in zip(found, (asked, *over), over, strict=False):
            begin, until = max(begin, start), min(until, end)
            if until > begin:
                bar = ((begin - start) / 1e3, (until - begin) / 1e3)
                found[what].setdefault(len(names) - 1, []).append(bar)
    return names, found


def _ranks(found: Bars) -> int:
    return 1 + max(rank for by_rank in found.values() for rank in by_rank)


def draw(run: RunLike, ax: Axes | None = None, iteration: int = 0, job: int = 0) -> Figure:
    """Draws what each rank does in one iteration of a job: blank is waiting for other ranks. If circuits are asked for, each
    has a lane below the ranks.

    A message is drawn from when its rank was ready, or its circuits were there, to when its peer had read all of it. A circuit
    is asked for, dark while it changes, and up until it makes way. Of more than 32 circuits those from one rack share a lane.

    Args:
        run: the run of a plan with jobs.
        ax: axes to draw on; by default a new figure's.
        iteration: which, from 0 on.
        job: which of the plan's jobs, from 0 on.

    Raises:
        EtalonError: if the run has no such iteration, or no table of steps.
    """
    found = bars(run, iteration, job)
    names, circuits = lanes(run, iteration, job)
    ranks = _ranks(found)
    below = APART + LANE * len(names) if names else 0.0
    rows = min(INCHES * ranks, 3.5) * (1 + below / ranks)
    ax = style.axes(ax, height=1.0 + 0.12 * bool(names) + min(rows, 8.0))
    for what, by_rank in found.items():
        for rank, mine in by_rank.items():
            ax.broken_barh(mine, (rank - 0.4, 0.8), facecolors=COLOURS[what], linewidth=0)
    places = [ranks - 0.5 + APART + LANE * (lane + 0.5) for lane in range(len(names))]
    for what, by_lane in circuits.items():
        for lane, mine in by_lane.items():
            where = (places[lane] - 0.4 * LANE, 0.8 * LANE)
            ax.broken_barh(mine, where, facecolors=COLOURS[what], linewidth=0)
    ax.set_ylim(ranks - 0.4 + below, -0.6)
    ax.set_xlim(left=0)
    _name_rows(ax, ranks, places, names)
    ax.grid(visible=False)
    ax.set_xlabel("time in the iteration (µs)")
    patches = [
        Patch(color=COLOURS[what], label=what)
        for what, mine in {**found, **circuits}.items()
        if mine
    ]
    ax.legend(handles=patches, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0), handlelength=0.9)
    return style.figure_of(ax)


def _name_rows(ax: Axes, ranks: int, places: list[float], names: list[str]) -> None:
    """Names the ranks, and the lanes of circuits below them; of many not all."""
    ax.set_ylabel("circuit, rank" if names else "rank")
    if not names:
        ax.yaxis.set_major_locator(MaxNLocator(9, integer=True))
        return
    every = -(-ranks // 9)
    shown = range(0, ranks, every)
    labels = [str(rank) for rank in shown]
    ax.set_yticks([*shown, *places], [*labels, *names])
    for label in ax.get_yticklabels()[len(labels) :]:
        label.set_fontsize(5)
    ax.tick_params(axis="y", length=0)


def interactive(run: RunLike, iteration: int = 0, job: int = 0) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    found = bars(run, iteration, job)
    names, circuits = lanes(run, iteration, job)
    rows = [f"rank {rank}" for rank in range(_ranks(found))]
    for what, by_row in {**found, **circuits}.items():
        mine = names if what in circuits else rows
        every = [(row, *bar) for row, bars_of in sorted(by_row.items()) for bar in bars_of]
        if every:
            figure.add_bar(
                base=[begin for _, begin, _ in every],
                x=[length for *_, length in every],
                y=[mine[row] for row, *_ in every],
                orientation="h",
                name=what,
                marker={"color": COLOURS[what], "line": {"width": 0}},
                hovertemplate="%{y}, from %{base:.6g} for %{x:.6g} µs",
            )
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(title_text="time in the iteration (µs)")
    figure.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=[*rows, *names])
    figure.update_layout(height=max(380, 120 + 18 * (len(rows) + len(names))))
    return figure
