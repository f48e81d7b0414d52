# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reproduces a paper: runs what is missing, judges the claims, writes figures and report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from etalon import engine as engines
from etalon import files
from etalon.campaign.runs import prepare, run_missing
from etalon.campaign.store import Store
from etalon.engine import Engine, Progress
from etalon.errors import EtalonError
from etalon.plan import Plan
from etalon.reproduce import output, points, table
from etalon.reproduce.claims import Judged, judge
from etalon.reproduce.paper import FigureEntry, Paper, Point, X
from etalon.reproduce.results import Results
from etalon.results import Run

RUNS = Path("runs")

_Runs = dict[tuple[str, X], list[Run]]
_Lacking = dict[tuple[str, X], str]


@dataclass(frozen=True)
class Reproduction:
    """The claims of the figures that were asked for, judged, and where the rest lies."""

    paper: Paper
    judged: list[Judged]
    folder: Path
    measured: int
    """Runs that were made now; the others were there."""
    runs: int
    seconds: float
    interrupted: bool
    """Ctrl-C: the points that were finished are kept; claims on the others say 'not measured'."""
    not_run: tuple[FigureEntry, ...] = ()
    """Figures that were left out because they take long, and whose points are not there."""
    not_drawn: Mapping[str, str] = field(default_factory=dict)
    """Figures that were asked for and have no drawing, with the reason."""

    def claims(self) -> list[dict[str, Any]]:
        """The claims as rows: id, figure, quantity, published, measured, unit, tolerance, verdict."""
        return [judged.as_dict() for judged in self.judged]

    @property
    def markdown(self) -> str:
        """The table of claims in Markdown, what it comes to, and what of the paper no claim holds."""
        return table.markdown(self.paper, self.judged, self._left_out())

    def _left_out(self) -> list[str]:
        """A line for each figure that was not run: its claims, how long they take, the command."""
        return [table.left_out(self.paper, figure) for figure in self.not_run]

    def print(self) -> None:
        """Prints the table of claims to standard output, what it comes to, and where everything lies."""
        from rich.console import Console

        table.show(self.judged, self.paper.head.held_against)
        console = Console(highlight=False, soft_wrap=True)
        console.print()
        console.print(f"[bold]{table.total(self.judged)}[/]")
        readme = self.paper.folder.resolve() / "README.md"
        if any(one.verdict.startswith("differs") for one in self.judged) and readme.exists():
            console.print(f"what differs, and why: {readme}")
        for line in self._left_out():
            console.print(line, style="yellow")
        for figure, reason in self.not_drawn.items():
            console.print(f"figure {figure} is not drawn: {reason}", style="yellow")
        whole = self.interrupted or self.measured == self.runs
        kept = "" if whole else ", the others were there"
        console.print(f"{self.measured} of {self.runs} runs made in {self.seconds:.0f} s{kept}")
        if self.interrupted:
            console.print(
                "[yellow]interrupted:[/] the finished runs are kept; the same command resumes"
            )
        console.print(f"report: {self.folder / 'report.html'}")


def plans(
    name: str, figures: Sequence[str] | None, engine: str, *, full: bool = False
) -> list[Plan]:
    """The plans that figures of a paper need on an engine."""
    paper = Paper.load(name, engine)
    return _plans(paper.points(paper.choose(figures, full=full)))


def reproduce(
    name: str,
    figures: Sequence[str] | None = None,
    *,
    full: bool = False,
    engine: str | Engine = "sim",
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduces figures of a paper on an engine, `jobs` runs at a time.

    Without `figures` these are all figures but those that take long, which `full` adds.
    Points are kept in the folder `out` (by default runs/reproduce-NAME, with -linux behind it for that engine) and are
    not run again by the same version; `force` runs all of them again. Figures, report, claims.md and results.json there
    cover every figure whose points are there.
    """
    paper = Paper.load(name, engines.named(engine).NAME)
    folder = Path(out) if out is not None else default_folder(paper)
    chosen = paper.choose(figures, full=full)
    sides = _sides(paper, chosen, engine, folder)
    output.claim(folder, paper)
    with files.alone_in(folder):
        return _reproduce(
            paper,
            chosen,
            sides,
            folder,
            by_name=bool(figures),
            jobs=jobs,
            force=force,
            progress=progress,
        )


def _reproduce(
    paper: Paper,
    chosen: Sequence[FigureEntry],
    sides: Sequence[_Side],
    folder: Path,
    *,
    by_name: bool,
    jobs: int | None,
    force: bool,
    progress: Progress | None,
) -> Reproduction:
    """The same in a folder that nobody else is at work in."""
    began = time.monotonic()
    work = _Work(sum(len(side.needed) for side in sides), progress)
    try:
        points.forget(folder, {build for side in sides for build in side.builds}, all_of_it=force)
        done = _run(sides, jobs, work)
    except OSError as error:
        raise EtalonError(f"{folder}: could not be written: {error.strerror or error}") from error

    results = _results(sides)
    complete = [figure for figure in paper.head.figure if _complete(results, figure)]
    ids = {figure.id for figure in (*chosen, *complete)}
    covered = [figure for figure in paper.head.figure if figure.id in ids]
    judged = judge(paper, results, [figure.id for figure in covered])
    not_drawn = output.write(
        folder, paper, results, covered, judged, interrupted=done.interrupted, progress=work.drawing
    )
    asked = {figure.id for figure in chosen}
    long: list[FigureEntry] = []
    if not by_name:
        # Long figures whose points are there are shown with the others.
        long = [figure for figure in paper.head.figure if figure.takes and figure.id not in asked]
        asked |= {figure.id for figure in long if figure in complete}
    return Reproduction(
        paper,
        [one for one in judged if one.claim.group.figure in asked],
        folder,
        measured=done.measured,
        runs=work.runs,
        seconds=time.monotonic() - began,
        interrupted=done.interrupted,
        not_run=tuple(figure for figure in long if figure.id not in asked),
        not_drawn={name: reason for name, reason in not_drawn.items() if name in asked},
    )


@dataclass(frozen=True)
class _Side:
    """What one engine has to do with a reproduction."""

    paper: Paper
    needed: list[Plan]
    everything: list[Point]
    """Of all figures, asked for or not."""
    store: Store

    @property
    def builds(self) -> set[str]:
        """Builds of the engine that would run these points."""
        return {self.store.engine.digest(plan) for plan in _plans(self.everything)}


def _sides(
    paper: Paper, chosen: Sequence[FigureEntry], engine: str | Engine, folder: Path
) -> list[_Side]:
    """The engine that was asked for, and one that some figures compare it with."""
    asked = [(paper, list(chosen), list(paper.head.figure), engine)]
    if paper.beside is not None:
        other, compared = paper.beside
        asked.append((other, [one for one in compared if one in chosen], compared, other.engine))
    sides = []
    for of, now, ever, by in asked:
        needed = _plans(of.points(now))
        running = engines.check(needed, by)
        prepare(needed, running)
        sides.append(_Side(of, needed, of.points(ever), points.store_in(folder, running)))
    return sides


@dataclass(frozen=True)
class _Done:
    """How far it got."""

    measured: int
    interrupted: bool


def _run(sides: Sequence[_Side], jobs: int | None, work: _Work) -> _Done:
    """Runs what is missing, on one engine after the other."""
    measured = before = 0
    for side in sides:
        done = run_missing(side.needed, side.store, jobs=jobs, progress=work.part(before, side))
        measured += sum(not run.partial for run in done.runs.values())
        before += len(side.needed)
        if done.interrupted:
            return _Done(measured, interrupted=True)
    return _Done(measured, interrupted=False)


def _results(sides: Sequence[_Side]) -> Results:
    """Of the first engine, with those of the other beside it."""
    beside = None
    for side in reversed(sides):
        beside = Results(side.paper, *_collect(side.everything, side.store), beside)
    assert beside is not None  # there is one side at least
    return beside


@dataclass(frozen=True)
class _Work:
    """Progress over runs and then figures. Drawing all figures takes about as long as `DRAWING` runs."""

    runs: int
    progress: Progress | None

    DRAWING: ClassVar = 12

    def part(self, before: int, side: _Side) -> Progress:
        """Progress of an engine's runs, after those of others."""
        return lambda share: self._tell(before + len(side.needed) * share)

    def drawing(self, share: float) -> None:
        self._tell(self.runs + self.DRAWING * share)

    def _tell(self, done: float) -> None:
        if self.progress is not None:
            self.progress(done / (self.runs + self.DRAWING))


def default_folder(paper: Paper) -> Path:
    """Where a reproduction goes if nothing else is said: each engine has its own."""
    return RUNS / f"reproduce-{paper.name}{'' if paper.engine == 'sim' else f'-{paper.engine}'}"


def _plans(wanted: Sequence[Point]) -> list[Plan]:
    """The plans of points, each once however many points share it."""
    return list({plan.digest: plan for point in wanted for plan in point.plans}.values())


def _collect(wanted: Sequence[Point], store: Store) -> tuple[_Runs, _Lacking]:
    """Runs by series and x where all seeds are there, and what this version cannot run."""
    runs: _Runs = {}
    loaded: dict[str, Run] = {}
    for point in wanted:
        for plan in point.plans:
            if plan.digest not in loaded and store.has(plan):
                loaded[plan.digest] = store.load(plan)
        if point.plans and all(plan.digest in loaded for plan in point.plans):
            runs[point.series, point.x] = [loaded[plan.digest] for plan in point.plans]
    return runs, {(point.series, point.x): point.missing for point in wanted if not point.plans}


def _complete(results: Results, figure: FigureEntry) -> bool:
    """Whether all that this figure needs has been measured."""
    both = (results, results.beside) if figure.beside and results.beside else (results,)
    return all(
        one.known(name, x)
        for one in both
        for name in figure.series
        for x in one.paper.series[name].x
        if figure.points is None or x in figure.points
    )
