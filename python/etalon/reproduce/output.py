# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a reproduction leaves behind: figures, results.json, claims.md, report.html."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etalon import _core, figures, files, report
from etalon.engine import Progress
from etalon.errors import EtalonError, PlanError
from etalon.reproduce import table
from etalon.reproduce.claims import Judged
from etalon.reproduce.drawing import Drawing
from etalon.reproduce.paper import FigureEntry, Paper
from etalon.reproduce.results import Missing, Results

RESULTS = "results.json"


def claim(folder: Path, paper: Paper) -> None:
    """Takes an empty or new folder, or one that holds this paper's results on this engine; refuses any other."""
    if folder.is_dir() and any(folder.iterdir()):
        held, engine = _held_by(folder / RESULTS)
        if held != paper.name:
            raise PlanError(
                f"is not empty and contains no results of {paper.name}; Etalon never overwrites such a folder",
                file=str(folder),
            )
        if engine != paper.engine:
            raise PlanError(
                f"holds results of --engine {engine}; those of --engine {paper.engine} need a folder of their own",
                file=str(folder),
            )
        return
    files.check_writable(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        document = {"paper": paper.name, "engine": paper.engine, "claims": []}
        files.put(folder / RESULTS, json.dumps(document) + "\n")
    except FileExistsError:
        raise PlanError("is a file, not a folder", file=str(folder)) from None
    except OSError as error:
        raise EtalonError(f"{folder}: could not be written: {error.strerror}") from error


def _held_by(path: Path) -> tuple[str | None, str]:
    """Of which paper and engine a folder holds results."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        return None, ""
    return document.get("paper"), document.get("engine", "sim")


def write(
    folder: Path,
    paper: Paper,
    results: Results,
    covered: Sequence[FigureEntry],
    judged: Sequence[Judged],
    *,
    interrupted: bool,
    progress: Progress,
) -> dict[str, str]:
    """Writes everything. `covered` are the figures that are drawn; those that cannot be are returned, with the reason."""
    not_drawn: dict[str, str] = {}
    document: dict[str, Any] = {
        "paper": paper.name,
        "engine": paper.engine,
        "version": _core.__version__,
        "interrupted": interrupted,
        "figures": [figure.id for figure in covered],
        "claims": [one.as_dict() for one in judged],
    }
    try:
        files.put(folder / RESULTS, json.dumps(document, indent=2) + "\n")
        files.put(folder / "claims.md", table.markdown(paper, judged))
        # Whoever interrupts it does not wait for figures, which take longer than the rest.
        pictures = (
            {} if interrupted else _pictures(folder, paper, results, covered, progress, not_drawn)
        )
        report.write(
            folder / "report.html",
            f"{paper.head.venue}: {paper.head.title}",
            _sections(paper, covered, judged, pictures, interrupted=interrupted),
            subtitle=f"{paper.head.authors}, {paper.head.link}",
        )
    except OSError as error:
        raise EtalonError(f"{folder}: could not be written: {error.strerror or error}") from error
    return not_drawn


def _pictures(
    folder: Path,
    paper: Paper,
    results: Results,
    covered: Sequence[FigureEntry],
    progress: Progress,
    not_drawn: dict[str, str],
) -> dict[str, list[report.Picture]]:
    """Draws these figures into `folder`/figures and gives them back; one whose points are not there is `not_drawn`."""
    pictures: dict[str, list[report.Picture]] = {}
    for done, figure in enumerate(covered):
        progress(done / len(covered))
        draw = paper.drawings.get(figure.id)
        if draw is None:
            continue
        try:
            made = draw(results)
        except Missing as missing:
            not_drawn[figure.id] = str(missing)
            continue
        for drawing in [made] if isinstance(made, Drawing) else made:
            if drawing.empty:
                continue
            name = "-".join(filter(None, (figure.id, drawing.part)))
            png, _ = figures.save(drawing.draw(), folder / "figures", name)
            caption = f"{name}: {figure.title}"
            pictures.setdefault(figure.id, []).append(
                report.Picture(caption, png, drawing.interactive())
            )
    return pictures


def _sections(
    paper: Paper,
    covered: Sequence[FigureEntry],
    judged: Sequence[Judged],
    pictures: dict[str, list[report.Picture]],
    *,
    interrupted: bool,
) -> list[report.Section]:
    """The report: what it comes to, then figure by figure what was measured."""
    rows = [one.as_dict() | {"reason": one.reason or one.claim.group.source} for one in judged]
    first: list[report.Part] = [
        report.Prose(paper.head.summary),
        report.Prose(report.Claims(rows).tally),
    ]
    if interrupted:
        text = (
            "The measurement was interrupted: some points are missing, and no figures were drawn."
        )
        first.append(report.Prose(text, warning=True))
    held_against = paper.head.held_against
    differing = [row for row in rows if str(row["verdict"]).startswith("differs")]
    if differing:
        first.append(report.Claims(differing, held_against, counted=False))
    sections = [report.Section("In short", first)]
    grouped: dict[str, list[FigureEntry]] = {}
    for figure in covered:
        grouped.setdefault(_heading(figure), []).append(figure)
    for heading, entries in grouped.items():
        ids = {figure.id for figure in entries}
        parts: list[report.Part] = []
        for figure in entries:
            parts += pictures.get(figure.id, [])
            if figure.note:
                parts.append(report.Prose(figure.note))
        claims = [row for row in rows if row["figure"] in ids]
        if claims:
            parts.append(report.Claims(claims, held_against))
        sections.append(report.Section(heading, parts))
    if paper.unclaimed:
        sections.append(_unclaimed(paper))
    facts = [
        ("version of Etalon", _core.__version__),
        ("engine", paper.engine),
        ("command", f"`{paper.command}`"),
    ]
    return [*sections, report.Section("Provenance", [report.Table(("", ""), facts)])]


def _unclaimed(paper: Paper) -> report.Section:
    """What of the paper no claim holds, and why."""
    rows = [(one.where, one.values, one.quantity, one.why) for one in paper.unclaimed]
    parts: list[report.Part] = [
        report.Prose(f"{table.not_claimed(paper.unclaimed)}."),
        report.Table(("where", "values", "what", "why not"), rows),
    ]
    return report.Section("What is not claimed", parts)


def _heading(figure: FigureEntry) -> str:
    """Figures 8a, 8b and 8c stand under one heading."""
    number = figure.id.rstrip("abcdefgh")
    return f"Figure {number}" if number.isdigit() else figure.title
