# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon ask`: a program on an emulated host asks for circuits. kernel/init/ask.c does the same, and starts at once."""

from __future__ import annotations

import os
from itertools import takewhile
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("ask", epilog="Example, on a host:  etalon ask 'r0>r1' 'r1>r0' -- iperf3 -c r1h0")(
        ask
    )


def ask(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="CIRCUIT... [-- COMMAND...]",
            help="Circuits such as r0>r1, or 0>1 between MPI ranks, and a command that keeps them.",
            show_default=False,
        ),
    ],
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait until the circuits are up.")
    ] = False,
) -> int:
    """Ask for circuits from within a program on an emulated host, and wait until they are up.

    They stay until another request needs their ports, or as long as COMMAND runs.
    """
    from etalon import asking

    circuits = list(takewhile(lambda word: ">" in word, words))
    command = words[len(circuits) :]
    claim = asking.ask(*circuits, wait=not no_wait)
    if command:
        claim.keep()
        os.execvp(command[0], command)
    return 0
