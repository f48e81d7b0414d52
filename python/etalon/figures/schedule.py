# SPDX-License-Identifier: MIT OR Apache-2.0
"""The circuit schedule of a week: from which rack each rack receives, and the measured pair's packet gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator

from etalon.errors import EtalonError
from etalon.figures import style, weeks
from etalon.figures.types import PlanLike, RunLike

if TYPE_CHECKING:
    from etalon.figures.types import WebFigure


def _plan(run: RunLike | PlanLike) -> dict[str, Any]:
    source: Any = run
    resolved: dict[str, Any] = getattr(source, "plan", source).resolve()
    return resolved


def _week_of(resolved: dict[str, Any]) -> weeks.Week:
    week = weeks.of_plan(resolved)
    if week is None:
        raise EtalonError(
            "this plan has no week of circuits to draw; the figure slices draws those of circuit switches"
        )
    return week


def _colours(racks: int) -> list[str]:
    """A colour for each source rack: told apart by name up to seven, by order beyond."""
    if racks <= len(style.PALETTE):
        return list(style.PALETTE[:racks])
    ramp = mpl.colormaps["viridis"]
    return [to_hex(ramp(x)) for x in np.linspace(0.05, 0.95, racks)]


def _open(week: weeks.Week, pair: tuple[int, int]) -> list[weeks.Interval]:
    """When the packet gate of `pair` is open within the week."""
    edges = [0]
    closed = [(max(start, 0), end) for start, end in week.packet_closed(*pair)] + [
        (start + week.length_ns, week.length_ns)
        for start, _ in week.packet_closed(*pair)
        if start < 0
    ]
    for start, end in sorted(closed):
        edges += [start, end]
    edges.append(week.length_ns)
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def draw(run: RunLike | PlanLike, ax: Axes | None = None) -> Figure:
    """Draws one week of a run's or a plan's schedule: a row for each receiving rack, coloured by the sending rack.

    Nights are blank. The lowest row shows when the measured pair may use the packet network.

    Raises:
        ValueError: if the plan has no circuits.
    """
    resolved = _plan(run)
    week, racks = _week_of(resolved), resolved["hosts"]["racks"]
    pair = weeks.measured_pair(resolved)
    colours = _colours(racks)
    ax = style.axes(ax, height=min(0.9 + 0.2 * (racks + 1), 3.4))
    for dst in range(racks):
        mine = [c for c in week.circuits if c.dst == dst]
        ax.broken_barh(
            [(c.start_ns / 1e3, (c.end_ns - c.start_ns) / 1e3) for c in mine],
            (dst - 0.4, 0.8),
            facecolors=[colours[c.src] for c in mine],
            linewidth=0,
        )
    gate = racks + 0.25
    ax.broken_barh(
        [(a / 1e3, (b - a) / 1e3) for a, b in _open(week, pair)],
        (gate - 0.3, 0.6),
        facecolors="#9A9A9A",
        linewidth=0,
    )
    ax.set_ylim(gate + 0.55, -0.6)
    ax.set_xlim(0, week.length_ns / 1e3)
    every = 1 if racks <= 9 else -(-racks // 8)
    rows = [
        row for row in range(0, racks, every) if row == 0 or racks <= 9 or row <= racks - every / 2
    ]
    ax.yaxis.set_major_locator(FixedLocator([*rows, gate]))
    ax.set_yticklabels([*(str(row) for row in rows), f"packet\n{pair[0]}→{pair[1]}"])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    ax.xaxis.set_major_locator(MaxNLocator(6, min_n_ticks=3))
    ax.set_xlabel("time in the week (µs)")
    ax.set_ylabel("to rack")
    if racks <= len(style.PALETTE):
        senders = sorted({c.src for c in week.circuits})
        patches = [Patch(color=colours[src], label=str(src)) for src in senders]
        legend = ax.legend(
            handles=patches, title="from rack", ncols=len(senders), loc="lower left", bbox_to_anchor=(0, 1.0),
            handlelength=0.9, handletextpad=0.4, columnspacing=0.9, title_fontsize=7, alignment="left",
        )  # fmt: skip
        legend.set_in_layout(True)
    else:
        scale = ScalarMappable(
            BoundaryNorm(np.arange(racks + 1) - 0.5, racks), ListedColormap(colours)
        )
        bar = style.figure_of(ax).colorbar(
            scale, ax=ax, label="from rack", ticks=rows, pad=0.02, aspect=30
        )
        bar.outline.set_visible(False)
        bar.minorticks_off()
        bar.ax.tick_params(length=0)
    return style.figure_of(ax)


def interactive(run: RunLike | PlanLike) -> WebFigure:
    """The same figure for a browser."""
    from etalon.figures import web

    resolved = _plan(run)
    week, racks = _week_of(resolved), resolved["hosts"]["racks"]
    pair = weeks.measured_pair(resolved)
    colours = _colours(racks)
    figure = web.panels()
    for src in sorted({c.src for c in week.circuits}):
        mine = [c for c in week.circuits if c.src == src]
        figure.add_bar(
            base=[c.start_ns / 1e3 for c in mine],
            x=[(c.end_ns - c.start_ns) / 1e3 for c in mine],
            y=[f"to rack {c.dst}" for c in mine],
            orientation="h",
            name=f"from rack {src}",
            marker={
                "color": colours[src] if colours[src] != "#000000" else web.GREY,
                "line": {"width": 0},
            },
            customdata=[(c.start_ns / 1e3, c.end_ns / 1e3) for c in mine],
            hovertemplate="%{y}, %{customdata[0]:.6g} to %{customdata[1]:.6g} µs",
        )
    gate = _open(week, pair)
    figure.add_bar(
        base=[a / 1e3 for a, _ in gate],
        x=[(b - a) / 1e3 for a, b in gate],
        y=[f"packet {pair[0]}→{pair[1]}"] * len(gate),
        orientation="h",
        name="packet gate open",
        marker={"color": "rgba(128,128,128,0.6)", "line": {"width": 0}},
        hovertemplate="%{base:.6g} µs, for %{x:.6g} µs",
    )
    web.label(figure, x="time in the week (µs)")
    if racks > len(style.PALETTE):  # a scale says which colour is which rack
        figure.add_scatter(
            x=[None], y=[None], mode="markers", hoverinfo="skip", showlegend=False,
            marker={
                "colorscale": "Viridis", "cmin": 0, "cmax": racks - 1, "color": [0], "showscale": True,
                "colorbar": {"title": {"text": "from rack"}, "thickness": 12, "outlinewidth": 0},
            },
        )  # fmt: skip
    order = [*(f"to rack {dst}" for dst in range(racks)), f"packet {pair[0]}→{pair[1]}"]
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], showgrid=False)
    figure.update_xaxes(range=[0, week.length_ns / 1e3])
    figure.update_layout(
        showlegend=racks <= len(style.PALETTE),  # beyond, the pointer tells more than a list
        barmode="overlay",
        bargap=0.2,
        height=160 + min(24 * (racks + 1), 480),
        margin={"l": 90},
    )
    return figure
