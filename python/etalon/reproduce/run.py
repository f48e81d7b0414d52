"""Reproduces a paper: runs what is missing, judges the claims, writes figures and report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from etalon import engine as engines
from etalon.errors import EtalonError, Interrupted
from etalon.plan import Plan
from etalon.reproduce import output, table
from etalon.reproduce.cache import Cache
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

    def claims(self) -> list[dict[str, Any]]:
        """The claims as rows: id, figure, quantity, published, measured, unit, tolerance, verdict."""
        return [judged.as_dict() for judged in self.judged]

    def print(self) -> None:
        """Prints the table of claims to standard output."""
        table.show(self.judged)
        table.say(self)


def plans(name: str, figures: Sequence[str] | None, engine: str) -> list[Plan]:
    """The plans that figures of a paper need on an engine."""
    paper = Paper.load(name, engine)
    return _plans(paper.points(paper.choose(figures)))


def reproduce(
    name: str,
    figures: Sequence[str] | None = None,
    *,
    engine: str = "sim",
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: engines.Progress | None = None,
) -> Reproduction:
    """Reproduces figures of a paper (all without `figures`) on an engine, `jobs` runs at a time.

    Points are kept in the folder `out` (by default runs/reproduce-NAME, with -linux behind it for that engine) and are
    not run again by the same version; `force` runs all of them again. Figures, report, claims.md and results.json there
    cover every figure whose points are there.
    """
    paper = Paper.load(name, engine)
    folder = Path(out) if out is not None else default_folder(paper, engine)
    chosen = paper.choose(figures)
    needed = _plans(paper.points(chosen))
    engines.prepare(needed, engine)
    output.claim(folder, paper)
    cache = Cache(folder, engines.named(engine))
    began = time.monotonic()
    try:
        everything = paper.points(list(paper.head.figure))
        cache.forget(_plans(everything), all_of_it=force)
        missing = [plan for plan in needed if not cache.has(plan)]
        work = _Work(len(missing), progress)
        interrupted = _run(missing, cache, engine, jobs, work.running)
    except OSError as error:
        raise EtalonError(f"{folder}: could not be written: {error.strerror or error}") from error

    runs, lacking = _collect(everything, cache)
    results = Results(paper, runs, lacking)
    complete = [figure for figure in paper.head.figure if _complete(paper, figure, runs, lacking)]
    ids = {figure.id for figure in (*chosen, *complete)}
    covered = [figure for figure in paper.head.figure if figure.id in ids]
    judged = judge(paper, results, [figure.id for figure in covered])
    output.write(
        folder, paper, results, covered, judged, interrupted=interrupted, progress=work.drawing
    )
    asked = {figure.id for figure in chosen}
    return Reproduction(
        paper,
        [one for one in judged if one.claim.group.figure in asked],
        folder,
        measured=sum(cache.has(plan) for plan in missing),
        runs=len(needed),
        seconds=time.monotonic() - began,
        interrupted=interrupted,
    )


@dataclass(frozen=True)
class _Work:
    """Progress over runs and then figures. Drawing all figures takes about as long as `DRAWING` runs."""

    runs: int
    progress: engines.Progress | None

    DRAWING: ClassVar = 12

    def running(self, share: float) -> None:
        self._tell(self.runs * share)

    def drawing(self, share: float) -> None:
        self._tell(self.runs + self.DRAWING * share)

    def _tell(self, done: float) -> None:
        if self.progress is not None:
            self.progress(done / (self.runs + self.DRAWING))


def default_folder(paper: Paper, engine: str) -> Path:
    """Where a reproduction goes if nothing else is said: each engine has its own."""
    return RUNS / f"reproduce-{paper.name}{'' if engine == 'sim' else f'-{engine}'}"


def _plans(points: Sequence[Point]) -> list[Plan]:
    """The plans of points, each once however many points share it."""
    return list({plan.digest: plan for point in points for plan in point.plans}.values())


def _run(
    plans: Sequence[Plan],
    cache: Cache,
    engine: str,
    jobs: int | None,
    progress: engines.Progress | None,
) -> bool:
    """Runs plans and keeps each run as soon as it is complete; says whether Ctrl-C came."""

    def keep(_: int, run: Run) -> None:
        cache.add(run)

    try:
        engines.execute(plans, engine=engine, jobs=jobs, progress=progress, done=keep)
    except Interrupted as stop:
        for run in stop.runs:
            if not run.partial and not cache.has(run.plan):
                cache.add(run)
        return True
    return False


def _collect(points: Sequence[Point], cache: Cache) -> tuple[_Runs, _Lacking]:
    """Runs by series and x where all seeds are there, and what this version cannot run."""
    runs: _Runs = {}
    loaded: dict[str, Run] = {}
    for point in points:
        for plan in point.plans:
            if plan.digest not in loaded and cache.has(plan):
                loaded[plan.digest] = cache.load(plan)
        if point.plans and all(plan.digest in loaded for plan in point.plans):
            runs[point.series, point.x] = [loaded[plan.digest] for plan in point.plans]
    return runs, {(point.series, point.x): point.missing for point in points if not point.plans}


def _complete(paper: Paper, figure: FigureEntry, runs: _Runs, lacking: _Lacking) -> bool:
    """Whether all that this figure needs has been measured."""
    return all(
        (name, x) in runs or (name, x) in lacking
        for name in figure.series
        for x in paper.series[name].x
        if figure.points is None or x in figure.points
    )
