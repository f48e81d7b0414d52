# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon reproduce`: a paper's claims, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common
from etalon.errors import PlanError
from etalon.progress import bar

if TYPE_CHECKING:
    from etalon.reproduce import Reproduction


Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        help="Write the table of all claims into this page, between its two marks, as in papers/nsdi20/README.md.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon reproduce nsdi20 --figure 9a")(reproduce)


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="A paper of `etalon list papers`, or the path of its folder.",
            show_default=False,
        ),
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            help="Reproduce only this figure, such as 9a; 9 means 9a, 9b and 9c; may be repeated.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Include figures that take minutes or hours.")
    ] = False,
    engine: common.Engine = "sim",
    patience: common.Patience = "60s",
    jobs: common.Jobs = None,
    out: common.Out = None,
    force: Annotated[
        bool, typer.Option("--force", help="Repeat runs that are already done.")
    ] = False,
    page: Page = None,
    json: common.Json = False,
) -> int:
    """Measure a paper's claims again. Runs its experiments, draws its figures, writes a report.

    Skips points whose results from this version are already in the folder.
    """
    from etalon import reproduce as reproduction

    if page is not None:
        _check(page, figure)
    chosen = common.prepare(engine, reproduction.plans(paper, figure, engine, full=full), patience)
    try:
        with bar(f"reproduce {paper}") as progress:
            result = reproduction.reproduce(
                paper,
                figures=figure,
                full=full,
                engine=chosen,
                jobs=jobs,
                out=out,
                force=force,
                progress=progress,
            )
    except KeyboardInterrupt:  # runs that are interrupted end without it
        again = "the same command goes on from what is finished" + " (without --force)" * force
        common.note(f"interrupted before the report was written; {again}")
        return common.INTERRUPTED
    _show(result, json=json)
    if page is not None and not result.interrupted:
        _write(result, page)
    return common.INTERRUPTED if result.interrupted else common.OK


def _show(result: Reproduction, *, json: bool) -> None:
    if json:
        common.print_json(result.claims())
    else:
        result.print()


def _check(page: Path, figures: list[str] | None) -> None:
    """Refuses a page that could not be written in the end."""
    from etalon import files, pages

    if figures:
        raise PlanError("--page takes all figures; leave --figure out")
    pages.check(page)
    files.check_writable(page)


def _write(result: Reproduction, page: Path) -> None:
    from etalon import pages

    here = page.resolve()
    name = here.relative_to(pages.ROOT) if here.is_relative_to(pages.ROOT) else page
    others = pages.put(page, result.markdown, by=f"{result.paper.command} --page {name}")
    common.note(f"wrote {page}")
    if others:
        common.note(f"the rest of the page comes from: {'; '.join(others)}")
