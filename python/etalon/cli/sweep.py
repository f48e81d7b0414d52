"""`etalon sweep`: runs a plan over a grid of values and seeds."""

from __future__ import annotations

import hashlib
import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etalon.cli import common, report
from etalon.errors import Interrupted, PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from etalon.campaign import sweeps
    from etalon.plan import Plan

SHOWN = {
    "circuit_utilization": ("circuit", 100, "{:.1f} %"),
    "packet_utilization": ("packet", 100, "{:.1f} %"),
    "latency_p50": ("p50", 1, "{:.0f} us"),
    "latency_p99": ("p99", 1, "{:.0f} us"),
    "goodput": ("goodput", 1e-9, "{:.2f} Gb/s"),
    "retransmits": ("retransmissions", 1, "{:.0f}"),
    "drops": ("drops", 1, "{:.0f}"),
    "fct_p50": ("completion p50", 1, "{:.0f} us"),
    "fct_p99": ("completion p99", 1, "{:.0f} us"),
}
"""What the table on the screen shows of each run: heading, factor, format."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example:  etalon sweep strobe.toml --set network.voq=4,8,16 --set bulk.cc=cubic,dctcp --seeds 3"
    )(sweep)


def sweep(
    plan_file: common.PlanFile,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", metavar="KEY=V1,V2,...", help="A key and its values.", show_default=False
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="Seeds a point, from the plan's on.", show_default="1"),
    ] = None,
    jobs: common.Jobs = None,
    out: common.Out = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run every point again, also those that are there.")
    ] = False,
    engine: common.Engine = "sim",
    executor: Annotated[
        str, typer.Option("--executor", help="Where the runs are done: local, ray, dask or slurm.")
    ] = "local",
    patience: common.Patience = "60s",
    json: common.Json = False,
    figures: common.Figures = True,
) -> int:
    """Run an experiment over a grid of values. A sweep that was interrupted goes on."""
    from etalon.campaign import executors, sweeps
    from etalon.plan import Plan

    executors.named(executor)
    plan = Plan.load(plan_file)
    grid, points = _points(plan_file, plan, settings or (), seeds)
    folder = out or _default_folder(plan, grid, seeds or 1, engine)
    files = [plan_file] * len(points)
    chosen = common.prepare(engine, [point.plan for point in points], patience, files)
    try:
        with common.progress_bar(f"{plan.name}, sweep") as progress:
            result = sweeps.sweep(
                plan, grid, seeds=seeds, jobs=jobs, folder=folder, engine=chosen, executor=executor,
                fresh=force, progress=progress,
            )  # fmt: skip
    except Interrupted as stop:
        common.note(
            f"interrupted: {folder} keeps {len(stop.runs)} complete runs; the same command goes on from there"
        )
        return common.INTERRUPTED
    if json:
        common.print_json(
            {"name": plan.name, "folder": str(folder), "rows": result.table.to_dicts()}
        )
    else:
        _show(result.table, list(grid), (seeds or 1) > 1)
        typer.echo("circuit, packet, p50 and p99: the measured pair; the rest: all pairs")
        typer.echo(f"{len(result.runs)} runs; table and results in {folder}")
    return _draw(result, folder) if figures else common.OK


def _points(
    plan_file: Path, plan: Plan, settings: Sequence[str], seeds: int | None
) -> tuple[dict[str, list[Any]], list[sweeps.Point]]:
    """The grid that the options say, and its points."""
    from etalon.campaign import sweeps

    grid = common.parse_grid(settings)
    if not grid and seeds in (None, 1):
        raise PlanError("a sweep varies something: give --set KEY=V1,V2,... or --seeds N")
    try:
        return grid, sweeps.points_of(plan, grid, seeds)
    except PlanError as error:
        raise error.in_file(f"{plan_file} with --set") from None


def _draw(result: sweeps.Sweep, folder: Path) -> int:
    """Figures and report; the exit code."""
    try:
        report.write_sweep(result, folder)
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


def _show(rows: pl.DataFrame, keys: list[str], with_seed: bool) -> None:
    keys = [*keys, "seed"] if with_seed and "seed" not in keys else keys
    columns = [name for name in SHOWN if rows[name].null_count() < len(rows)]
    table = common.plain_table(*keys, *(f">{SHOWN[name][0]}" for name in columns))
    for row in rows.to_dicts():
        table.add_row(
            *(str(row[key]) for key in keys), *(_cell(row[name], name) for name in columns)
        )
    common.print_table(table)


def _cell(value: float | None, name: str) -> str:
    _, factor, form = SHOWN[name]
    return "-" if value is None else form.format(value * factor)
