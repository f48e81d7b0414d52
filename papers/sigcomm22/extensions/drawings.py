# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of docs/tdtcp-beyond.md, as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import etalon as et
from etalon.figures import sequence, style, voq
from etalon.papers.sigcomm22.extensions.experiments import Experiment
from etalon.papers.sigcomm22.extensions.quantities import QUANTITIES, Measured


def experiment(what: Experiment, measured: Measured) -> bytes:
    """Its first two quantities over x, a line each."""
    with style.context():
        figure = Figure(figsize=(style.PAGE, 2.3), layout="constrained")
        panels = figure.subplots(1, 2)
        for ax, name in zip(panels, what.of[:2], strict=True):
            quantity = QUANTITIES[name]
            values = {
                line: [quantity.mean(measured[line, x]) for x in what.points] for line in what.lines
            }
            _lines(ax, list(what.points), values, what)
            ax.set_ylabel(quantity.title)
        _legend(figure, panels[0])
        return style.png(figure)


def map_of(
    parts: Sequence[Experiment], ratios: Mapping[str, Mapping[str, Sequence[float]]]
) -> bytes:
    """Ratios over the RTT, a panel a transport and a line a length of days."""
    with style.context():
        figure = Figure(figsize=(style.PAGE, 2.5), layout="constrained")
        panels = figure.subplots(1, len(ratios), sharey=True, squeeze=False)[0]
        for ax, (title, lines) in zip(panels, ratios.items(), strict=True):
            _lines(ax, list(parts[0].points), lines, parts[0])
            ax.axhline(1, color=style.BASELINE, lw=0.9)
            ax.set_ylim(0.8, 1.5)
            ax.set_title(f"{title} over CUBIC")
        panels[0].set_ylabel("goodput (times)")
        _legend(figure, panels[0])
        return style.png(figure)


def week(runs: Mapping[str, et.Run]) -> bytes:
    """The mean week of some runs: the sequence graph and the VOQ."""
    length = next(iter(runs.values())).plan.week_ns / 1e3
    with style.context():
        figure = Figure(figsize=(style.PAGE, 2.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        sequence.draw(runs, left, span_us=(0, length))
        voq.draw(runs, right, span_us=(0, length))
        right.get_legend().remove()
        return style.png(figure)


def _lines(
    ax: Axes, xs: Sequence[str | float], values: Mapping[str, Sequence[float]], what: Experiment
) -> None:
    named = any(isinstance(x, str) for x in xs)
    places = range(len(xs)) if named else xs
    for index, (name, line) in enumerate(values.items()):
        ax.plot(
            places,
            line,
            color=style.colour(index),
            marker=style.marker(index),
            linestyle="none" if named and not what.xlabel else "-",
            label=name,
        )
    if named:
        style.name_bars(ax, [str(x) for x in xs])
    elif what.log:
        ax.set_xscale("log", base=2)
        ax.set_xticks(list(xs), [f"{x}" for x in xs])
        ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set_xlabel(what.xlabel)


def _legend(figure: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper left", ncols=6)
