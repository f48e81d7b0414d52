# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon validate`: the simulator against real Linux TCP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common
from etalon.errors import Interrupted, PlanError
from etalon.progress import bar

if TYPE_CHECKING:
    from etalon.validation.judged import Judged


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Examples:  etalon validate --only cubic;  etalon validate --random 30 --seed 7"
    )(validate)


def validate(
    only: Annotated[
        str | None,
        typer.Option(help="Only experiments whose name contains this.", show_default=False),
    ] = None,
    random: Annotated[
        int | None,
        typer.Option(
            "--random",
            metavar="N",
            min=1,
            help="Compare N random plans instead of the fixed set.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            help="The seed of the runs; with --random, of the plans (default 1).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="A page for table and figures, such as docs/validation.md; with --random a folder for plans and numbers.",
            show_default=False,
        ),
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(
            "--publish", help="With --random: write the shares into this page.", show_default=False
        ),
    ] = None,
    itself: Annotated[
        bool,
        typer.Option(
            "--itself",
            help="With --random: compare Linux with Linux, on hosts with 1 ns more jitter: how far a perfect model would get.",
        ),
    ] = False,
    jobs: common.Jobs = None,
    json: common.Json = False,
) -> int:
    """Compare simulator and Linux on a fixed set of experiments, or on plans drawn at random."""
    if random is not None:
        if only is not None:
            raise PlanError("--only selects from the fixed set; leave out --only or --random")
        return _drawn(random, 1 if seed is None else seed, out, publish, itself, jobs, json)
    given = {"--publish": publish is not None, "--itself": itself}
    for option, is_given in given.items():
        if is_given:
            raise PlanError(f"{option} needs --random N")
    return _fixed(only, seed, out, jobs, json)


def _fixed(
    only: str | None, seed: int | None, out: Path | None, jobs: int | None, json: bool
) -> int:
    """The fixed set."""
    from etalon import files, pages, validation
    from etalon.validation import page

    every = list(validation.all_experiments())
    chosen = [experiment for experiment in every if only is None or only in experiment.name]
    if not chosen:
        names = "; ".join(experiment.name for experiment in every)
        raise PlanError(
            f'--only "{only}": no experiment has a name that contains this; there are {names}'
        )
    if out is not None:
        if only is not None:
            raise PlanError("--out needs the whole set; leave --only out")
        if seed is not None:
            raise PlanError("--out needs the set's own seeds; leave --seed out")
        pages.check(out)
        files.check_writable(out)
    if seed is not None:
        chosen = [
            replace(experiment, plan=experiment.plan.replace(seed=seed)) for experiment in chosen
        ]
    with bar("validate") as progress:
        rows = validation.compare(chosen, jobs=jobs, progress=progress)
    if json:
        common.print_json([row.as_dict() for row in rows])
    else:
        for section, part in page.by_section(rows):
            columns = (f">{column}" for column in page.column_names(section))
            table = common.plain_table("experiment", *columns)
            for row in part:
                table.add_row(row.experiment.name, *page.cells(row))
            typer.echo(f"{section.title} (bounds: {page.bounds(section)})")
            common.print_table(table)
        for sentence in page.summary(rows):
            typer.echo(sentence)
    if out is not None:
        for path in validation.write(rows, out):
            common.note(f"wrote {path}")
    return common.OK


def _drawn(
    count: int,
    seed: int,
    out: Path | None,
    publish: Path | None,
    itself: bool,
    jobs: int | None,
    json: bool,
) -> int:
    """Plans that nobody chose."""
    from etalon import files, pages
    from etalon.engine.linux import Linux
    from etalon.engine.sim import Simulator
    from etalon.validation import drawn, drawn_page, many
    from etalon.validation.nudged import Nudged

    first, part = (Nudged(), drawn_page.ITSELF) if itself else (Simulator(), drawn_page.PART)
    folder = out or Path("runs") / f"random-{seed}"
    if publish is not None:
        pages.check(publish, part)
        files.check_writable(publish)
    plans = list(drawn.draw(count, seed))
    try:
        with bar("validate") as progress:
            names = (first, Linux.NAME)
            rows = many.judge(plans, folder, names=names, jobs=jobs, progress=progress)
    except Interrupted:
        common.note(f"interrupted: {folder} keeps the complete runs; the same command resumes")
        return common.INTERRUPTED
    if json:
        common.print_json([drawn_page.as_dict(row, first.NAME) for row in rows])
    else:
        _show(rows, seed, folder, first.NAME)
    if publish is not None:
        drawn_page.write(rows, seed, publish, part)
        common.note(f"wrote {publish}")
    return common.OK


def _show(rows: list[Judged], seed: int, folder: Path, first: str) -> None:
    """The plans, the shares, and what differs."""
    from etalon.validation import drawn_page

    columns = drawn_page.plan_columns(first)
    right = ("packets", f"{first} (s)", "linux (s)")
    table = common.plain_table(*(f">{name}" if name in right else name for name in columns))
    for cells in drawn_page.plan_rows(rows):
        table.add_row(*cells)
    common.print_table(table)
    typer.echo(drawn_page.headline(rows, seed))
    table = common.plain_table(*drawn_page.SHARE_COLUMNS)
    for cells in drawn_page.share_rows(rows):
        table.add_row(*cells)
    common.print_table(table)
    for line in drawn_page.cluster_lines(rows):
        typer.echo(line)
    typer.echo(f"plans and numbers: {folder}")
