# SPDX-License-Identifier: MIT OR Apache-2.0
"""An iteration of a job, rank by rank: computing, waiting for circuits, sending, waiting for others."""

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
"""Begin and length in microseconds, by what a rank does, by rank."""

COMPUTES, CIRCUITS, SENDS = "computes", "waits for circuits", "sends"
COLOURS = {COMPUTES: style.PALETTE[2], CIRCUITS: style.PALETTE[1], SENDS: style.PALETTE[0]}


def bars(run: RunLike, iteration: int, job: int) -> Bars:
    """What each rank does in an iteration, times from its start on. Raises `EtalonError` if the run has no such iteration."""
    steps = run.steps.filter((pl.col("job") == job) & (pl.col("iteration") == iteration))
    if steps.is_empty():
        raise EtalonError(
            f"the run has no steps of iteration {iteration} of job {job}: it has {len(run.iterations)} "
            f"iterations and {len(run.steps)} steps"
        )
    starts = run.iterations.filter((pl.col("job") == job) & (pl.col("iteration") == iteration))
    origin, end = int(starts["start_ns"][0]), int(run.meta["simulated_ns"])
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


def _ranks(found: Bars) -> int:
    return 1 + max(rank for by_rank in found.values() for rank in by_rank)


def draw(run: RunLike, ax: Axes | None = None, iteration: int = 0, job: int = 0) -> Figure:
    """Draws what each rank does in one iteration of a job: blank is waiting for other ranks.

    A message is drawn from when its rank was ready, or its circuits were there, to when its peer had read all of it.

    Args:
        run: the run of a plan with jobs.
        ax: axes to draw on; a new figure without.
        iteration: which, from 0 on.
        job: which of the plan's jobs, from 0 on.

    Raises:
        EtalonError: if the run has no such iteration, or no table of steps.
    """
    found = bars(run, iteration, job)
    ranks = _ranks(found)
    ax = style.axes(ax, height=min(1.0 + 0.18 * ranks, 4.5))
    for what, by_rank in found.items():
        for rank, mine in by_rank.items():
            ax.broken_barh(mine, (rank - 0.4, 0.8), facecolors=COLOURS[what], linewidth=0)
    ax.set_ylim(ranks - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.yaxis.set_major_locator(MaxNLocator(9, integer=True))
    ax.grid(visible=False)
    ax.set_xlabel("time in the iteration (µs)")
    ax.set_ylabel("rank")
    patches = [Patch(color=COLOURS[what], label=what) for what, mine in found.items() if mine]
    ax.legend(handles=patches, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0), handlelength=0.9)
    return style.figure_of(ax)


def interactive(run: RunLike, iteration: int = 0, job: int = 0) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    figure = web.panels()
    for what, by_rank in bars(run, iteration, job).items():
        every = [(rank, *bar) for rank, mine in sorted(by_rank.items()) for bar in mine]
        if every:
            figure.add_bar(
                base=[begin for _, begin, _ in every],
                x=[length for *_, length in every],
                y=[f"rank {rank}" for rank, *_ in every],
                orientation="h",
                name=what,
                marker={"color": COLOURS[what], "line": {"width": 0}},
                hovertemplate="%{y}, from %{base:.6g} for %{x:.6g} µs",
            )
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(title_text="time in the iteration (µs)")
    figure.update_yaxes(autorange="reversed")
    return figure
