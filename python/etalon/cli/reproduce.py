"""`etalon reproduce`: a paper's claims, measured again."""

from __future__ import annotations

from typing import Annotated

import typer

from etalon.cli import common


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon reproduce nsdi20 --figure 9a")(reproduce)


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="A paper of `etalon list papers`.", show_default=False
        ),
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure", help="Only this figure, such as 9a; may be repeated.", show_default=False
        ),
    ] = None,
    jobs: common.Jobs = None,
    out: common.Out = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run every point again, also those that are there.")
    ] = False,
    json: common.Json = False,
) -> int:
    """Run a paper's experiments and compare with the published values."""
    from etalon import reproduce as reproduction

    with common.progress_bar(f"reproduce {paper}") as progress:
        result = reproduction.reproduce(
            paper, figures=figure or None, jobs=jobs, out=out, progress=progress
        )
    if json:
        common.print_json(result.claims())
    else:
        result.print()
    return common.INTERRUPTED if result.interrupted else 0
