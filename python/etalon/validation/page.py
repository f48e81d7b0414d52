# SPDX-License-Identifier: MIT OR Apache-2.0
"""`docs/validation.md`: the measured part of the page, and its figures. What people wrote around it stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from etalon import files, pages
from etalon.results import Run
from etalon.validation.comparison import RATIO_POINTS, Comparison, gains
from etalon.validation.experiments import Section

PANELS = {
    "sequence": ("bytes", 1e3, "sequence (kB/flow)"),
    "cwnd": ("cwnd_packets", 1.0, "cwnd (packets)"),
}
"""Figures over time: column of the sequence table, scale, label."""
ACROSS = 4
"""Panels side by side."""
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
    text = "\n".join([*summary(rows), *tables(rows), "", *pictures])
    pages.check(page)
    images.mkdir(parents=True, exist_ok=True)
    for name, path in drawn.items():
        files.put(path, figure(rows, name))
    pages.put(page, text, "# Simulator and Linux\n\n")
    return [page, *drawn.values()]


def summary(rows: Sequence[Comparison]) -> list[str]:
    """The tables in a few sentences."""
    outside = [row.experiment.name for row in rows if not row.holds]
    kernel = rows[0].linux.meta.get("kernel", "6.1")
    lines = [
        f"Linux {kernel}, {len(rows)} experiments, {len(rows) - len(outside)} within all bounds"
        f"{'; outside: ' if outside else ''}{'; '.join(outside)}.",
    ]
    for gain in gains(rows):
        bound = "bound: " if gain.holds else "outside its bound of "
        lines.append(
            f"Goodput of '{gain.name}' relative to '{gain.other}': {gain.sim:.2f} / {gain.linux:.2f}, "
            f"{gain.points:+.1f} points ({bound}{RATIO_POINTS:g})."
        )
    return lines


def by_section(rows: Sequence[Comparison]) -> Iterator[tuple[Section, list[Comparison]]]:
    """The rows of each table."""
    for section in dict.fromkeys(row.experiment.section for row in rows):
        yield section, [row for row in rows if row.experiment.section == section]


def tables(rows: Sequence[Comparison]) -> Iterator[str]:
    """The tables in Markdown, a heading each."""
    for section, part in by_section(rows):
        names = column_names(section)
        yield from ("", f"### {section.title}", "", f"Bounds: {bounds(section)}.", "")
        yield f"| experiment | {' | '.join(names)} |"
        yield f"|---|{'---:|' * len(names)}"
        for row in part:
            mark = "" if row.holds else " \\*"
            yield f"| {row.experiment.name}{mark} | {' | '.join(cells(row))} |"


def bounds(section: Section) -> str:
    """How far apart the engines may be, in words."""
    return "; ".join(
        f"{quantity.title.partition(' (')[0]} {quantity.bound:g} {quantity.difference_in}"
        for quantity in section.quantities
        if quantity.bound is not None
    )


def column_names(section: Section) -> list[str]:
    """Of its table, after the experiment."""
    return [
        name
        for quantity in section.quantities
        for name in (quantity.title, *([quantity.difference_in] if quantity.compared else []))
    ]


def cells(row: Comparison) -> list[str]:
    """One row's numbers: simulator / Linux, and how far the simulator is off."""
    return [
        text
        for number in row.numbers
        for text in (
            f"{number.sim:.1f} / {number.linux:.1f}",
            *([f"{number.difference:+.1f}"] if number.quantity.compared else []),
        )
    ]


def figure(rows: Sequence[Comparison], name: str) -> bytes:
    """A panel an experiment with circuits: the mean over flows and weeks on both engines, as a PNG file."""
    from matplotlib.figure import Figure

    from etalon.figures import style, weeks

    column, scale, label = PANELS[name]
    drawn = [row for row in rows if row.experiment.section.drawn]
    shown = [row for row in drawn if row.sim.sequence.height and row.linux.sequence.height]
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
