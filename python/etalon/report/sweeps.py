# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report of a sweep: its figures and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from etalon import figures
from etalon.campaign.plots import numbers_of
from etalon.campaign.sweeps import Sweep, censored, overview
from etalon.errors import PlanError, warn
from etalon.figures import sweeps
from etalon.report.page import Answer, Code, Part, Picture, Prose, Section, Table
from etalon.report.page import write as write_page
from etalon.report.runs import MOST_ROWS
from etalon.results.metrics import METRICS
from etalon.units import counted


def write(
    sweep: Sweep,
    folder: Path,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
    metrics: Sequence[str] = (),
    pdf: bool = False,
) -> Path:
    """Draws the figures that suit the sweep into `folder`/figures and writes `folder`/report.html.

    A metric that no run has gets a sentence instead of a figure, and a warning.

    Args:
        sweep: the sweep.
        folder: its folder.
        x: the key along the axes of its figures; this, `hue` and `facet` are chosen if they are not given.
        hue: the key that tells lines apart.
        facet: the key that tells panels apart.
        metrics: numbers that have a figure beside the usual ones.
        pdf: whether the figures are written as PDF, too.
    """
    keys: dict[str, Any] = {"x": x, "hue": hue, "facet": facet}
    pictures: list[Part] = []
    there = [metric for metric in metrics if sweep.table[metric].null_count() < len(sweep.runs)]
    for file, name, caption, more in _wanted(sweep, there):
        try:
            figure = sweeps.draw(sweep, name, **keys, **more)
            png, *_ = figures.save(figure, folder / "figures", file, pdf=pdf)
        except PlanError as error:
            if any(keys.values()):
                raise
            pictures.append(Prose(f"{error}.", warning=True))
            continue
        pictures.append(Picture(caption, png, sweeps.interactive(sweep, name, **keys, **more)))
    for metric in (one for one in metrics if one not in there):
        warn(f"no run of this sweep has the metric {metric}")
        pictures.append(Prose(f"No run of this sweep has the metric {metric}.", warning=True))
    columns, rows = overview(sweep)
    caption = f"{counted(len(rows), 'run')}; `table.parquet` and `table.csv` have all columns"
    if len(rows) > MOST_ROWS:
        caption = f"The first {MOST_ROWS} of {caption}"
    right = [at for at, name in enumerate(columns) if name not in ("seed", *sweep.keys)]
    warning = [Prose(f"{said}.", warning=True) for said in [censored(sweep.table)] if said]
    sections = [Section("", [Answer(sweep.answer), *warning, *pictures[:1]])]
    if len(pictures) > 1:
        sections.append(Section("Figures", pictures[1:]))
    sections += [
        Section("Runs", [Table(columns, rows[:MOST_ROWS], caption, right)]),
        Section("Plan", [Prose(_varied(sweep)), Code(sweep.shared_plan.to_toml())]),
    ]
    title, over = f"{sweep.plan.name}, sweep", f"over {', '.join(sweep.keys)}"
    return write_page(folder / "report.html", title, sections, subtitle=over)


def _varied(sweep: Sweep) -> str:
    """Which keys of the plan below have other values in some runs."""
    seeds = ["seed"] * (len({point.plan.seed for point in sweep.points}) > 1)
    keys = list(dict.fromkeys([*(key for key in sweep.keys if key != "seed"), *seeds]))
    return (
        f"All runs share this plan, except for {', '.join(keys)}."
        if keys
        else "All runs share this plan."
    )


def _wanted(sweep: Sweep, metrics: Sequence[str]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Name of the file, figure, caption and further arguments of each picture."""
    for name, caption in sweeps.suitable(sweep).items():
        yield name, name, caption, {}
    for metric in metrics:
        description = METRICS[metric].description
        caption = f"{description[:1].upper()}{description[1:]}."
        yield metric, "lines", caption, numbers_of(sweep, metric)
