"""`etalon report`: figures and the HTML report of runs that are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common
from etalon.errors import EtalonError

if TYPE_CHECKING:
    from etalon.results import Run


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon report runs/strobe-1a2b3c4d")(report)


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folders of runs.", show_default=False)
    ],
    json: common.Json = False,
) -> None:
    """Draw the figures of finished runs again and write their reports."""
    from etalon.results import Run

    for folder in folders:
        write(Run.load(folder), folder)
    pages = [str(folder / "report.html") for folder in folders]
    if json:
        common.print_json(pages)
    else:
        typer.echo("\n".join(pages))


def write(run: Run, folder: Path) -> None:
    """Draws what the run has data for, as PNG and PDF, and the interactive page."""
    from etalon import report as reports

    try:
        reports.write_run(run, folder)
    except OSError as error:
        raise EtalonError(
            f"{folder}: its figures could not be written: {error.strerror or error}; `etalon report` draws them again"
        ) from error
