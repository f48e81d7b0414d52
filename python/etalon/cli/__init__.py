"""The command line: `etalon run | sweep | trace | report | reproduce | validate | exec | shell | list | examples |
bench | kernel | doctor | otcp`.

One file a command. What is slow to import is imported by the command that needs it.
"""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, TextIO

import typer

from etalon.cli import (
    bench,
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

app = typer.Typer(
    name="etalon",
    help="A laboratory for the transport of reconfigurable data centre networks.",
    epilog="First steps:  etalon examples --copy .   then   etalon run strobe.toml",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    *(run, sweep, trace, report, reproduce, validate, hosts),
    *(lists, examples, bench, kernel, doctor, otcp),
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
    pass


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0, 1 for a failure, 2 for bad input, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", PlanWarning)
    try:
        return int(app(arguments, standalone_mode=False) or OK)
    except typer.TyperException as error:
        _complain(error.format_message())
        return BAD_INPUT
    except Occupied as error:
        _complain(error.in_shell())
        return BAD_INPUT
    except PlanError as error:
        _complain(str(error))
        return BAD_INPUT
    except EngineFailed as error:
        _complain(common.with_console(error))
        return FAILURE
    except EtalonError as error:
        _complain(str(error))
        return FAILURE
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output, such as `head`, has gone: nobody is left to tell
        return FAILURE


def _complain(sentence: str) -> None:
    if sentence:
        typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
        typer.echo(sentence, err=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
    typer.echo(str(message), err=True)
