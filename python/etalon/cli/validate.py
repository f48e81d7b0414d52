"""`etalon validate`: the simulator against real Linux TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from etalon.cli import common
from etalon.errors import PlanError
from etalon.progress import bar


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon validate --only cubic")(validate)


def validate(
    only: Annotated[
        str | None,
        typer.Option(help="Only experiments whose name contains this.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write table and figures into this page, like docs/validation.md.",
            show_default=False,
        ),
    ] = None,
    jobs: common.Jobs = None,
    json: common.Json = False,
) -> None:
    """Compare simulator and Linux on a fixed set of experiments."""
    from etalon import files, pages, validation
    from etalon.validation import page

    every = list(validation.all_experiments())
    chosen = [experiment for experiment in every if only is None or only in experiment.name]
    if not chosen:
        names = "; ".join(experiment.name for experiment in every)
        raise PlanError(f'--only "{only}": no experiment has this in its name; there are {names}')
    if out is not None:
        if only is not None:
            raise PlanError("--out takes the whole set; leave --only out")
        pages.check(out)
        files.check_writable(out)
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
