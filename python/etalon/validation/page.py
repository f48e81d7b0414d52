"""`docs/validation.md`: the measured part of the page, and its figures. What people wrote around it stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from etalon import files, pages
from etalon.results import Run
from etalon.validation.comparison import (
    PERCENT,
    POINTS,
    Comparison,
    retransmissions,
    utilization,
)

PANELS = {
    "sequence": ("bytes", 1e3, "sequence (kB/flow)"),
    "cwnd": ("cwnd_packets", 1.0, "cwnd (packets)"),
}
"""Figures over time: column of the sequence table, scale, label."""
ACROSS = 4
"""Panels side by side."""
COLUMN_NAMES = (
    "utilisation (%)",
    "points",
    "p50 (µs)",
    "%",
    "p99 (µs)",
    "%",
    "retransmitted (‰)",
)
"""Of the table, behind the experiment: simulator / Linux, and how far the simulator is off."""
ENGINES = (("simulator", "sim"), ("Linux", "linux"))


def write(rows: Sequence[Comparison], page: Path) -> list[Path]:
    """Writes the table into the page between its two marks, and the figures to `images/` beside it.

    A page without the marks is refused; one that does not exist is made. Returns what was written.
    """
    images = page.parent / "images"
    drawn = {name: images / f"{page.stem}-{name}.png" for name in PANELS}
    pictures = [
        f"![{PANELS[name][2]}, simulator and Linux](images/{path.name})\n"
        for name, path in drawn.items()
    ]
    text = "\n".join([*summary(rows), "", *table(rows), "", *pictures])
    pages.check(page)
    images.mkdir(parents=True, exist_ok=True)
    for name, path in drawn.items():
        files.put(path, figure(rows, name))
    pages.put(page, text, "# Simulator and Linux\n\n")
    return [page, *drawn.values()]


def summary(rows: Sequence[Comparison]) -> list[str]:
    """What the table says in two sentences."""
    outside = [row.experiment.name for row in rows if not row.holds]
    utilisation = max(rows, key=lambda row: abs(row.utilization_error))
    latency = max(rows, key=lambda row: abs(row.latency_error(99)))
    median = max(rows, key=lambda row: abs(row.latency_error(50)))
    meta = rows[0].linux.meta
    return [
        f"Linux {meta.get('kernel', '6.1')}, {len(rows)} experiments. The largest difference in utilisation is "
        f"{utilisation.utilization_error:+.1f} points ({utilisation.experiment.name}), in 99th percentile latency "
        f"{latency.latency_error(99):+.1f} % ({latency.experiment.name}).",
        f"Outside {POINTS:g} points of utilisation and {PERCENT:g} % of 99th percentile latency: "
        f"{'; '.join(outside) or 'none'}. Medians are not bounded; the furthest is {median.latency_error(50):+.1f} % "
        f"({median.experiment.name}).",
    ]


def table(rows: Sequence[Comparison]) -> list[str]:
    """The table in Markdown."""
    lines = [
        f"| experiment | {' | '.join(COLUMN_NAMES)} |",
        f"|---|{'---:|' * len(COLUMN_NAMES)}",
    ]
    for row in rows:
        mark = "" if row.holds else " \\*"
        lines.append(f"| {row.experiment.name}{mark} | {' | '.join(cells(row))} |")
    return lines


def cells(row: Comparison) -> list[str]:
    """One row's numbers: simulator / Linux, and how far the simulator is off."""
    return [
        _pair(row, utilization),
        f"{row.utilization_error:+.1f}",
        _pair(row, lambda run: run.latency(50)),
        f"{row.latency_error(50):+.1f}",
        _pair(row, lambda run: run.latency(99)),
        f"{row.latency_error(99):+.1f}",
        _pair(row, retransmissions),
    ]


def figure(rows: Sequence[Comparison], name: str) -> bytes:
    """A panel an experiment with circuits: the mean over flows and weeks on both engines, as a PNG file."""
    from matplotlib.figure import Figure

    from etalon.figures import style, weeks

    column, scale, label = PANELS[name]
    shown = [row for row in rows if row.sim.sequence.height and row.linux.sequence.height]
    height = -(-len(shown) // ACROSS)
    with style.context():
        drawing = Figure(figsize=(style.PAGE, 1.25 * height + 0.4), layout="constrained")
        panels = drawing.subplots(height, ACROSS, sharex=True, squeeze=False)
        for ax in panels.flat[len(shown) :]:
            ax.set_axis_off()
        for row, ax in zip(shown, panels.flat, strict=False):
            week = weeks.of_plan(row.sim.plan.resolve())
            for index, (title, engine) in enumerate(ENGINES):
                run: Run = getattr(row, engine)
                part = run.sequence.gather_every(max(run.sequence.height // 2000, 1))
                ax.plot(
                    part["t_ns"] / 1e6,
                    part[column] / scale,
                    color=style.colour(index),
                    linestyle="-" if index == 0 else (0, (3, 1)),
                    linewidth=0.9,
                    label=title,
                )
            if week is not None:
                length, (src, dst) = week.length_ns, row.sim.plan.measured_pair
                day = sum(end - start for start, end in week.days(src, dst))
                for end in range(length, int(row.sim.sequence["t_ns"][-1]) + length, length):
                    ax.axvspan((end - day) / 1e6, end / 1e6, color=style.DAY, alpha=style.DAY_ALPHA)
            ax.set_title(row.experiment.name, fontsize=7)
            ax.set_ylim(bottom=0)
        drawing.supxlabel("time after the circuit (ms)", fontsize=8)
        drawing.supylabel(label, fontsize=8)
        drawing.legend(
            *panels[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=2
        )
        return style.png(drawing)


def _pair(row: Comparison, of: Callable[[Run], float]) -> str:
    sim, linux = row.both(of)
    return f"{sim:.1f} / {linux:.1f}"
