"""`etalon otcp`: the controller that tells hosts how to use TCP, what it says, and a demonstration."""

from __future__ import annotations

from dataclasses import asdict

import typer

from etalon.cli import common

app = typer.Typer(
    help="A controller that tells hosts how to use TCP (OTCP, CNSM 2016).",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Adds the commands."""
    parent.add_typer(app, name="otcp")


@app.command(epilog="Two of the paper's values contradict its own equations; both are shown.")
def table1(json: common.Json = False) -> None:
    """Compute the paper's Table I from its RTTs."""
    from etalon.otcp.table1 import cells

    found = cells()
    if json:
        common.print_json([asdict(cell) for cell in found])
        return
    table = common.plain_table("layer", "value", ">computed", ">printed", "")
    for cell in found:
        note = cell.why if cell.computed != cell.printed else ""
        table.add_row(cell.layer, cell.column, f"{cell.computed:g}", f"{cell.printed:g}", note)
    common.print_table(table)
