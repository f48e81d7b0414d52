"""`etalon report`: figures and the HTML report of runs that are there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common
from etalon.errors import EtalonError

if TYPE_CHECKING:
    from etalon.campaign.sweeps import Sweep
    from etalon.results import Run


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon report runs/strobe-1a2b3c4d")(report)


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Folders of runs or sweeps.", show_default=False),
    ],
    json: common.Json = False,
) -> None:
    """Draw figures and reports of finished runs and sweeps again."""
    from etalon.campaign.sweeps import Sweep
    from etalon.results import Run, store

    for folder in folders:
        if (folder / store.SWEEP).is_file():
            write_sweep(Sweep.load(folder), folder)
        else:
            write(Run.load(folder), folder)
    pages = [str(folder / "report.html") for folder in folders]
    if json:
        common.print_json(pages)
    else:
        typer.echo("\n".join(pages))


def write(run: Run, folder: Path) -> None:
    """Draws what the run has data for, as PNG and PDF, and the interactive page."""
    from etalon import report as reports

    with _told(folder):
        reports.write_run(run, folder)


def write_sweep(sweep: Sweep, folder: Path) -> None:
    """Draws the figures that suit the sweep, and the interactive page."""
    from etalon.report import sweeps

    with _told(folder):
        sweeps.write(sweep, folder)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Says what to do about figures that could not be written."""
    try:
        yield
    except OSError as error:
        raise EtalonError(
            f"{folder}: its figures could not be written: {error.strerror or error}; `etalon report` draws them again"
        ) from error
