# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon doctor`: what this machine lacks for the Linux engine."""

from __future__ import annotations

from dataclasses import asdict

import typer

from etalon.cli import common


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Exits with 0 unless something is missing that every plan needs.")(doctor)


def doctor(json: common.Json = False) -> None:
    """Report what this machine lacks for the Linux engine. Each line names the command that fixes it."""
    from etalon.doctor import State, examine

    checks = list(examine())
    missing = any(check.state is State.MISSING for check in checks)
    if json:
        common.print_json({"ok": not missing, "checks": [asdict(check) for check in checks]})
    else:
        table = common.plain_table("", "", "", "")
        table.show_header = False
        for check in checks:
            table.add_row(check.name, check.state.value, check.found, check.remedy)
        common.print_table(table)
    if missing:
        raise typer.Exit(common.FAILURE)
