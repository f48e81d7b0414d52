# SPDX-License-Identifier: MIT OR Apache-2.0
# mypy: disable-error-code="import-untyped"
"""A demand matrix beside the week of circuits that it gets, with the time in which circuits have nothing to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from etalon.errors import EtalonError
from etalon.figures import style
from etalon.figures.types import RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure
    from etalon.schedulers import Week

BUSY, IDLE = "#0072B2", "#E69F00"


@dataclass(frozen=True)
class _Bar:
    """A circuit of one day, and how long of it there is something to send."""

    src: int
    dst: int
    start_us: float
    day_us: float
    busy_us: float


@dataclass(frozen=True, eq=False)
class _Shown:
    demand: NDArray[np.float64]
    bars: tuple[_Bar, ...]
    week_us: float

    @property
    def idle(self) -> float:
        """Share of the week in which racks' circuit transmitters send nothing, nights included."""
        busy = sum(bar.busy_us for bar in self.bars)
        return 1 - busy / (self.week_us * len(self.demand))


def _of(source: RunLike | Week) -> _Shown:
    """What is shown of a week that was computed, or of the week of most demand of a run."""
    given: Any = source
    if hasattr(given, "configurations"):
        demand = np.asarray(given.demand, dtype=float)
        return _shown(demand, given.configurations, given.circuit_bps)
    kept = given.meta.get("schedule")
    if kept is None:
        raise EtalonError("this run's weeks were not computed from demand")
    if "demand" not in kept:
        raise EtalonError("this run had no demand when its weeks were computed")
    demand = np.asarray(kept["demand"], dtype=float)
    rate = given.plan.resolve()["network"]["rdcn"]["circuits"][0]["rate_bps"]
    return _shown(demand, kept["configurations"], rate)


def _shown(
    demand: NDArray[np.float64],
    configurations: Sequence[Mapping[str, Any]],
    circuit_bps: int,
) -> _Shown:
    left = demand * 8e9 / circuit_bps  # in ns on a circuit
    bars, now = [], 0
    for configuration in configurations:
        day = configuration["day_ns"]
        for dst, src in enumerate(configuration["sources"]):
            if src >= 0:
                busy = min(float(left[src, dst]), day)
                left[src, dst] -= busy
                bars.append(_Bar(src, dst, now / 1e3, day / 1e3, busy / 1e3))
        now += day + configuration["night_ns"]
    return _Shown(demand, tuple(bars), now / 1e3)


def draw(source: RunLike | Week, ax: Axes | None = None) -> Figure:
    """Draws a demand matrix, and beside it the week that a scheduler computed for it.

    `source` is what `etalon.schedulers.compute` returned, or a run whose weeks were computed: then the week of most demand
    is shown. On given axes the week is drawn alone.

    In the week, time in which a circuit is up and has something to send is told from time in which it has not.

    Raises:
        EtalonError: if the run's weeks were not computed from demand, or there was none.
    """
    shown = _of(source)
    if ax is None:
        figure = style.new(2 * style.COLUMN, 2.7)
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.4))
        _draw_demand(shown.demand, left)
    else:
        right = ax
    _draw_week(shown, right)
    return style.figure_of(right)


def _draw_demand(demand: NDArray[np.float64], ax: Axes) -> None:
    megabytes = np.ma.masked_less_equal(demand / 1e6, 0)
    scale = None
    if megabytes.count() and megabytes.max() > 20 * megabytes.min():
        scale = LogNorm(megabytes.min(), megabytes.max())
    cells = ax.imshow(megabytes, cmap=mpl.colormaps["viridis"], aspect="equal", norm=scale)
    bar = style.figure_of(ax).colorbar(cells, ax=ax, label="demand (MB)", shrink=0.75)
    bar.outline.set_visible(False)
    _racks(len(demand), ax.xaxis, ax.yaxis)
    ax.grid(visible=False)
    ax.set_xlabel("to rack")
    ax.set_ylabel("from rack")
    for spine in ax.spines.values():
        spine.set_visible(False)


def _racks(racks: int, *axes: Axis) -> None:
    """Ticks for at most eight racks."""
    for axis in axes:
        axis.set_ticks(range(0, racks, max(1, -(-racks // 8))))
        axis.set_tick_params(length=0)


def _draw_week(shown: _Shown, right: Axes) -> None:
    racks = len(shown.demand)
    _racks(racks, right.yaxis)
    for src in range(racks):
        mine = [one for one in shown.bars if one.src == src]
        right.broken_barh(
            [(one.start_us, one.busy_us) for one in mine],
            (src - 0.4, 0.8),
            facecolors=BUSY,
            linewidth=0,
        )
        right.broken_barh(
            [(one.start_us + one.busy_us, one.day_us - one.busy_us) for one in mine],
            (src - 0.4, 0.8),
            facecolors=IDLE,
            linewidth=0,
        )
        if racks <= 16:
            for one in mine:
                if one.day_us >= shown.week_us / 25:
                    right.text(
                        one.start_us + one.day_us / 2, src, f"→{one.dst}",
                        ha="center", va="center", fontsize=6, color="white",
                    )  # fmt: skip
    right.set_ylim(racks - 0.4, -0.6)
    right.set_xlim(0, shown.week_us)
    right.grid(visible=False)
    right.set_xlabel("time in the week (µs)")
    right.set_ylabel("from rack")
    right.legend(
        handles=[
            Patch(color=BUSY, label="in use"),
            Patch(color=IDLE, label="nothing to send"),
        ],
        title=f"circuits (idle, nights included: {100 * shown.idle:.0f} %)",
        ncols=2, loc="lower left", bbox_to_anchor=(0, 1.0), title_fontsize=7, alignment="left",
        handlelength=0.9, handletextpad=0.4, columnspacing=0.9,
    )  # fmt: skip


def interactive(source: RunLike | Week) -> WebFigure:
    """The same figure for a browser."""
    from plotly.subplots import make_subplots

    shown = _of(source)
    racks = len(shown.demand)
    figure = make_subplots(rows=1, cols=2, column_widths=[0.4, 0.6], horizontal_spacing=0.16)
    megabytes = np.where(shown.demand > 0, shown.demand / 1e6, np.nan)
    figure.add_heatmap(
        z=megabytes,
        colorscale="Viridis",
        colorbar={"title": "MB", "x": 0.37, "thickness": 12},
        hovertemplate="from rack %{y} to rack %{x}: %{z:.6g} MB<extra></extra>",
        row=1,
        col=1,
    )
    parts = (
        ("circuit in use", BUSY, [(one, one.start_us, one.busy_us) for one in shown.bars]),
        (
            "circuit with nothing to send",
            IDLE,
            [
                (one, one.start_us + one.busy_us, one.day_us - one.busy_us)
                for one in shown.bars
                if one.day_us > one.busy_us
            ],
        ),
    )
    for name, colour, bars in parts:
        figure.add_bar(
            base=[start for _, start, _ in bars],
            x=[length for _, _, length in bars],
            y=[one.src for one, _, _ in bars],
            orientation="h",
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[(one.dst, start, start + length) for one, start, length in bars],
            hovertemplate="rack %{y} to rack %{customdata[0]}, %{customdata[1]:.6g} to %{customdata[2]:.6g} µs",
            row=1,
            col=2,
        )
    for column in (1, 2):
        figure.update_yaxes(autorange="reversed", dtick=max(1, -(-racks // 8)), row=1, col=column)
    figure.update_xaxes(title="to rack", row=1, col=1)
    figure.update_yaxes(title="from rack", row=1, col=1)
    figure.update_xaxes(title="time in the week (µs)", range=[0, shown.week_us], row=1, col=2)
    figure.update_layout(
        barmode="overlay",
        bargap=0.2,
        title=f"idle, nights included: {100 * shown.idle:.0f} %",
        legend={"orientation": "h", "y": -0.2},
    )
    return figure
