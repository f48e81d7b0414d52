# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: `etalon run | sweep | trace | report | reproduce | validate | exec | shell | mpirun | ask | list |
examples | circuits | cite | bench | kernel | doctor | otcp | help`.

One file a command. What is slow to import is imported by the command that needs it.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TextIO

import typer

from etalon.cli import (
    ask,
    bench,
    circuits,
    cite,
    commands,
    common,
    doctor,
    examples,
    hosts,
    kernel,
    lists,
    otcp,
    report,
    reproduce,
    run,
    sweep,
    trace,
    validate,
)
from etalon.cli.common import BAD_INPUT, FAILURE, INTERRUPTED, OK
from etalon.errors import EngineFailed, EtalonError, Occupied, PlanError, PlanWarning

UNCOLLECTED = 100_000
"""Objects after which Python looks for cycles. Nearly all that a command makes is there until it ends, most of it imported; to
look at it again and again took a tenth of its time."""

LEAST_ADDRESS_SPACE = 1_500_000_000
"""Bytes. With less the libraries that hold tables and draw figures die in the middle, some without a word."""

app = typer.Typer(
    name="etalon",
    cls=commands.Commands,
    help="A laboratory for transport in reconfigurable data centre networks.",
    epilog="First steps:  etalon examples --copy .   then   etalon run strobe.toml",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    *(run, sweep, trace, report, reproduce, validate, hosts, ask),
    *(lists, examples, circuits, cite, bench, kernel, doctor, otcp, commands),
):
    command.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        from etalon import _core

        typer.echo(f"etalon {_core.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    _check_address_space()


def _check_address_space() -> None:
    with suppress(ImportError):  # not every system has limits
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if 0 <= limit < LEAST_ADDRESS_SPACE:
            raise EtalonError(
                f"the address space is limited to {limit / 1e9:.2g} GB (ulimit -v); "
                f"Etalon needs {LEAST_ADDRESS_SPACE / 1e9:.2g} GB or more"
            )


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0, 1 for a failure, 2 for bad input, 130 after Ctrl-C, 143 after SIGTERM."""
    gc.set_threshold(UNCOLLECTED)
    atexit.register(gc.freeze)  # no last look for cycles: the system takes all memory back at once
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", PlanWarning)
    try:
        code = int(app(arguments, standalone_mode=False) or OK)
        sys.stdout.flush()
        return code
    except typer.TyperException as error:
        said = commands.sentence(error)
        if said.startswith("Usage:"):  # a command without its arguments
            typer.echo(said)
            return BAD_INPUT
        return _complain(said, BAD_INPUT)
    except Occupied as error:
        return _complain(error.in_shell(), BAD_INPUT)
    except PlanError as error:
        return _complain(str(error), BAD_INPUT)
    except EngineFailed as error:
        return _complain(common.with_console(error), FAILURE)
    except EtalonError as error:
        return _complain(str(error), FAILURE)
    except (typer.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _discard(sys.stdout, sys.stderr)  # the reader of our output, such as `head`, has gone
        return FAILURE
    except OSError as error:
        _discard(sys.stdout)
        return _complain(_of_the_system(error), FAILURE)
    except MemoryError:
        return _complain("there is not enough memory", FAILURE)
    except BaseException as error:
        kind = type(error)
        if kind.__module__ == "polars.exceptions":  # of a table that is read when it is needed
            return _complain(f"a table cannot be read or written: {error}", FAILURE)
        if kind.__name__ != "PanicException":  # of a library in Rust, which has said where
            raise
        return _complain(str(error), FAILURE)


def _of_the_system(error: OSError) -> str:
    """An unexpected refusal of the system, such as a full disk or a missing folder."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the current folder is gone; change to another"
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT) and not error.filename:
        return f"output could not be written: {error.strerror}"
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def _discard(*streams: TextIO) -> None:
    """Discards output that is not written yet, so that Python does not try again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        with suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _complain(sentence: str, code: int) -> int:
    if sentence:
        _say("error: ", "red", sentence)
    return code


def _say(kind: str, colour: str, sentence: str) -> None:
    """A line to standard error, without what a terminal would take for a command; nobody is left to tell if it fails."""
    try:
        typer.secho(kind, fg=colour, bold=True, nl=False, err=True)
        typer.echo(common.printable(sentence), err=True)
    except OSError:
        _discard(sys.stderr)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _say("warning: ", "yellow", str(message))
