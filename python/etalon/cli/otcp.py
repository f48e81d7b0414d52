# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon otcp`: the commands of the distribution `etalon-otcp`, if it is installed; else how to install it."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from etalon.errors import EtalonError


def register(parent: typer.Typer) -> None:
    """Adds the commands."""
    if find_spec("etalon_otcp") is not None:
        from etalon_otcp import commands

        parent.add_typer(commands.app, name="otcp")
        return
    parent.command(
        name="otcp",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_absent)


def _absent() -> None:
    """A controller that tells hosts how to use TCP (OTCP, NOMS 2016): not installed."""
    from etalon.doctor import INSTALL_OTCP

    raise EtalonError(f"etalon-otcp is not installed: {INSTALL_OTCP}")
