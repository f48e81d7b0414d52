# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon report`: figures and the HTML report of runs that are there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from etalon.cli import common
from etalon.errors import EtalonError, PlanError

if TYPE_CHECKING:
    from etalon.campaign.sweeps import Sweep
    from etalon.results import Run


X = Annotated[
    str | None,
    typer.Option("--x", metavar="KEY", help="Sweeps: key along the axis.", show_default=False),
]
Hue = Annotated[
    str | None,
    typer.Option("--hue", metavar="KEY", help="Sweeps: key of the lines.", show_default=False),
]
Facet = Annotated[
    str | None,
    typer.Option("--facet", metavar="KEY", help="Sweeps: key of the panels.", show_default=False),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Sweeps: draw this metric too (etalon list metrics); may be repeated.",
        show_default=False,
    ),
]


class Axes(NamedTuple):
    """The keys along the axes of a sweep's figures, and the metrics to draw beside the usual ones."""

    x: str | None = None
    hue: str | None = None
    facet: str | None = None
    metrics: tuple[str, ...] = ()


def check_axes(
    keys: Iterable[str],
    x: str | None,
    hue: str | None,
    facet: str | None,
    metrics: list[str] | None,
) -> None:
    """Refuses, before anything runs, keys that the sweep does not vary and metrics that do not exist."""
    from etalon.results.metrics import METRICS

    known = list(keys)
    for option, key in (("--x", x), ("--hue", hue), ("--facet", facet)):
        if key is not None and key not in known:
            there = ", ".join(known) or "the seed alone"
            raise PlanError(f'{option} "{key}": the sweep does not vary it; it varies {there}')
    for name in metrics or ():
        if name not in METRICS:
            near = difflib.get_close_matches(name, METRICS, n=1)
            near += [metric for metric in METRICS if metric.startswith(name)]
            hint = f'did you mean "{near[0]}"? ' if near else ""
            raise PlanError(
                f'--metric "{name}": there is no such metric; {hint}`etalon list metrics` prints them'
            )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon report runs/strobe-1a2b3c4d")(report)


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Folders of runs or sweeps.", show_default=False),
    ],
    json: common.Json = False,
    x: X = None,
    hue: Hue = None,
    facet: Facet = None,
    metrics: Metrics = None,
    pdf: common.Pdf = False,
) -> None:
    """Draw the figures and reports of finished runs and sweeps again."""
    from etalon.results import Run, store

    for folder in folders:
        if (folder / store.SWEEP).is_file():
            from etalon.campaign.sweeps import Sweep

            sweep = Sweep.load(folder)
            check_axes(sweep.keys, x, hue, facet, metrics)
            write_sweep(sweep, folder, Axes(x, hue, facet, tuple(metrics or ())), pdf)
        else:
            _check(folder)
            write(Run.load(folder), folder, pdf)
    pages = [str(folder / "report.html") for folder in folders]
    if json:
        common.print_json(pages)
    else:
        typer.echo("\n".join(pages))


def _check(folder: Path) -> None:
    """Refuses a plan and a folder with several runs, and names the remedy."""
    from etalon.results import store

    if folder.is_file() and folder.suffix == ".toml":
        raise PlanError(
            f"is a plan; `etalon run {folder}` runs it and draws its figures", file=str(folder)
        )
    below = sorted(one for name in (store.RUN, store.SWEEP) for one in folder.glob(f"*/{name}"))
    if below and not (folder / store.RUN).exists():
        raise PlanError(
            f"contains the results of several runs or sweeps; name one, such as {below[0].parent}",
            file=str(folder),
        )


def write(run: Run, folder: Path, pdf: bool = False) -> None:
    """Draws what the run has data for, and the interactive page."""
    from etalon import report as reports

    with _told(folder):
        reports.write_run(run, folder, pdf=pdf)


def write_sweep(sweep: Sweep, folder: Path, axes: Axes, pdf: bool = False) -> None:
    """Draws the figures that suit the sweep, and the interactive page."""
    from etalon.report import sweeps

    with _told(folder):
        sweeps.write(sweep, folder, **axes._asdict(), pdf=pdf)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Names the remedy if figures or the report could not be written."""
    try:
        yield
    except OSError as error:
        raise EtalonError(
            f"{folder}: its report and figures are incomplete: {error.strerror or error}; `etalon report {folder}` draws "
            "them again"
        ) from error
