# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon sweep`: runs a plan over a grid of values and seeds."""

from __future__ import annotations

import hashlib
import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etalon.cli import common, given, report
from etalon.errors import Interrupted, PlanError
from etalon.progress import bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from etalon.campaign import sweeps
    from etalon.plan import Plan


Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=V1,V2,...", help="A key and its values.", show_default=False
    ),
]
Zipped = Annotated[
    list[str] | None,
    typer.Option(
        "--zip",
        metavar="KEY=V1,V2,...",
        help="A key and its values; all keys given this way take their first values together, then their second, ...",
        show_default=False,
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", min=1, help="Seeds per point, counted from the plan's.", show_default="1"
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example:  etalon sweep strobe.toml --set network.voq=4,8,16 --set bulk.cc=cubic,dctcp --seeds 3"
    )(sweep)


def sweep(
    plan_file: common.PlanFile,
    settings: Settings = None,
    zipped: Zipped = None,
    seeds: Seeds = None,
    jobs: common.Jobs = None,
    out: common.Out = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run every point again, even if its results exist.")
    ] = False,
    engine: common.Engine = "sim",
    executor: Annotated[
        str, typer.Option("--executor", help="Where the runs execute: local, ray, dask or slurm.")
    ] = "local",
    patience: common.Patience = "60s",
    code: common.Code = False,
    json: common.Json = False,
    figures: common.Figures = True,
    x: report.X = None,
    hue: report.Hue = None,
    facet: report.Facet = None,
    metrics: report.Metrics = None,
    pdf: common.Pdf = False,
) -> int:
    """Run an experiment over a grid of values. An interrupted sweep continues."""
    from etalon.campaign import executors, sweeps

    executors.named(executor)
    plan = given.plan_in(plan_file)
    grid, points = _points(plan_file, plan, settings or (), zipped or (), seeds)
    report.check_axes(points[0].values, x, hue, facet, metrics)
    _check_metrics([point.plan for point in points], metrics or ())
    folder = out or _default_folder(plan, grid, seeds or 1, engine)
    files = [plan_file] * len(points)
    chosen = common.prepare(engine, [point.plan for point in points], patience, files)
    try:
        with bar(f"{plan.name}, sweep") as progress:
            result = sweeps.sweep(
                plan, grid, seeds=seeds, jobs=jobs, folder=folder, engine=chosen, executor=executor,
                fresh=force, progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt as stop:  # also while the table is written
        whole = len(stop.runs) if isinstance(stop, Interrupted) else _complete(folder, points)
        common.note(f"interrupted: {folder} keeps {whole} complete runs; the same command resumes")
        return common.INTERRUPTED
    if json:
        rows = result.table.to_dicts()
        common.print_json({"name": plan.name, "folder": str(folder), "rows": rows})
    else:
        _show(result, folder)
    axes = report.Axes(x, hue, facet, tuple(metrics or ()))
    return _draw(result, folder, axes, pdf) if figures else common.OK


def _points(
    plan_file: Path,
    plan: Plan,
    settings: Sequence[str],
    zipped: Sequence[str],
    seeds: int | None,
) -> tuple[dict[str, list[Any]], list[sweeps.Point]]:
    """The grid that the options say, and its points."""
    from etalon.campaign import sweeps

    grid = common.parse_grid(settings) | common.parse_zip(zipped)
    if not grid and seeds in (None, 1):
        raise PlanError("a sweep must vary something: give --set KEY=V1,V2,... or --seeds N")
    try:
        return grid, sweeps.points_of(plan, grid, seeds)
    except PlanError as error:
        error = error.in_file(f"{plan_file} with --set")
        if isinstance(error.value, list):
            sentence = f"{error.expected}; a sweep's values stand without brackets, like 4,8"
            error = PlanError(sentence, key=error.key, value=error.value, file=error.file)
        raise error from None


def _complete(folder: Path, points: Sequence[sweeps.Point]) -> int:
    """How many of the points have whole results in the folder."""
    from etalon.results import store

    return sum(store.complete(folder / point.folder) for point in points)


def _check_metrics(plans: Sequence[Plan], metrics: Sequence[str]) -> None:
    """Refuses, before anything runs, completion times where no flow ever completes."""
    from etalon.plan.workloads.bulk import Bulk

    endless = [
        bool(plan.bulk) and all(isinstance(one, Bulk) for one in plan.workloads) for plan in plans
    ]
    for name in metrics:
        if name.startswith(("fct_", "slowdown_")) and all(endless):
            raise PlanError(
                f'--metric "{name}": no run will have it: all flows are of [[bulk]], which have no end'
            )


def _draw(result: sweeps.Sweep, folder: Path, axes: report.Axes, pdf: bool) -> int:
    """Figures and report; the exit code."""
    try:
        report.write_sweep(result, folder, axes, pdf)
    except KeyboardInterrupt:
        common.note(
            f"interrupted: figures of {folder} are incomplete; `etalon report {folder}` draws them"
        )
        return common.INTERRUPTED
    return common.OK


def _default_folder(plan: Plan, grid: dict[str, list[Any]], seeds: int, engine: str) -> Path:
    what = jsonlib.dumps([plan.digest, grid, seeds], default=str).encode()
    mark = "" if engine == "sim" else f"-{engine}"
    return Path("runs") / f"{plan.name}{mark}-sweep-{hashlib.sha256(what).hexdigest()[:8]}"


def _show(result: sweeps.Sweep, folder: Path) -> None:
    from etalon.campaign import sweeps

    columns, rows = sweeps.overview(result)
    keys = [key for key in columns if key in ("seed", *result.keys)]
    table = common.plain_table(*keys, *(f">{name}" for name in columns[len(keys) :]), whole=keys)
    for row in rows:
        table.add_row(*row)
    common.print_table(table)
    typer.echo("circuit, packet and latency: the measured pair; the rest: all pairs")
    if said := sweeps.censored(result.table):
        typer.echo(said)
    runs = len(result.runs)
    typer.echo(f"{runs} run{'' if runs == 1 else 's'}; table and results in {folder}")
