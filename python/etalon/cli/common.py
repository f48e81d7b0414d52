# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the commands share: options, settings of the form key=value, output."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etalon.errors import EngineFailed, PlanError
from etalon.progress import steps

if TYPE_CHECKING:
    from rich.table import Table

    from etalon import engine as engines
    from etalon.plan import Plan

PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="Plan file (TOML).", show_default=False)
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder for the results.", show_default=False)
]


def _allow(code: bool) -> bool:
    if code:
        from etalon.custom import source

        source.allow_everything()
    return code


Code = Annotated[
    bool,
    typer.Option(
        "--code", callback=_allow, help="Run the Python code that a plan names. Read it first."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the results in that folder.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        help="Runs at a time (default: one per processor).",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Set a key of the plan to this value; KEY=null takes the key, or a whole table, out of the plan.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Use this seed instead of the plan's.", show_default=False),
]
Engine = Annotated[
    str, typer.Option("--engine", help="The engine: sim, or linux for real Linux TCP.")
]
Patience = Annotated[
    str,
    typer.Option(
        "--patience",
        help="Linux: give up on a kernel that has made no progress for this long (wall clock).",
    ),
]
Figures = Annotated[
    bool, typer.Option("--figures/--no-figures", help="Draw figures and write report.html.")
]

Pdf = Annotated[
    bool, typer.Option("--pdf", help="Also write the figures as PDF, for papers (slower).")
]

Csv = Annotated[bool, typer.Option("--csv", help="Also write the tables as CSV.")]

OK, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes; 130 is what shells expect after Ctrl-C."""

LONGEST_LINE = 4000
"""Characters of a line that a terminal shows."""


def prepare(
    engine: str,
    plans: Sequence[Plan],
    patience: str | None = None,
    files: Sequence[Path] = (),
    *,
    idle: bool = False,
) -> engines.Engine:
    """The engine, ready for these plans: refuses what it cannot run; makes what it needs, with a bar or each step.

    `files` are those that the plans come from, if each has one. With `idle` a plan may send nothing.
    """
    from etalon import engine as engines

    options = engines.Options()
    if patience is not None:
        options = engines.Options(patience_s=span("--patience", patience) / 1e9)
    names = [str(file) for file in files]
    chosen = engines.check(plans, engines.named(engine, options), names, idle=idle)
    missing = chosen.missing(plans)
    if missing:
        note(missing)
        try:
            with steps(engine, note) as (progress, told):
                chosen.prepare(plans, progress, told)
        except KeyboardInterrupt:
            note(f"interrupted; the next run with --engine {engine} resumes here")
            raise typer.Exit(INTERRUPTED) from None
    return chosen


def span(option: str, text: str) -> int:
    """The time that an option gives, in ns."""
    from pydantic import TypeAdapter, ValidationError

    from etalon.units import Time

    try:
        return int(TypeAdapter(Time).validate_python(text))
    except ValidationError as error:
        raise PlanError(f"{option}: {error.errors()[0]['msg']}") from None


def with_console(failure: EngineFailed) -> str:
    """An engine's failure in a sentence, with the file that keeps its kernel's console."""
    if not failure.console:
        return str(failure)
    if failure.log is None:
        from etalon import cache, files

        name = hashlib.sha256(failure.console.encode()).hexdigest()[:8]
        folder = cache.folder("console")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            failure.log = folder / f"{name}.log"
            files.put(failure.log, failure.console)
        except OSError as error:
            return f"{failure}\nconsole log: could not be written to {folder}: {error.strerror}"
    return f"{failure}\nconsole log: {failure.log}"


def parse_setting(text: str) -> tuple[str, Any]:
    """`network.voq=16` as a key and a TOML value; what is no TOML value is text, and `null` is None: TOML has none."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key or not value.strip():
        raise PlanError(f'--set "{text}": a setting must be written like network.voq=16')
    return key, _value(value.strip())


def parse_zip(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Keys that vary together, as one of a grid, with the list of their values at each point."""
    columns = parse_grid(texts, option="--zip")
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{key} has {number}" for key, number in lengths.items())
        raise PlanError(f"--zip: all keys need the same number of values; {said}")
    if not columns:
        return {}
    if len(columns) == 1:
        return columns
    return {", ".join(columns): [list(row) for row in zip(*columns.values(), strict=True)]}


def parse_grid(texts: Sequence[str], option: str = "--set") -> dict[str, list[Any]]:
    """`network.voq=4,8,16` as a key and its values."""
    grid: dict[str, list[Any]] = {}
    for text in texts:
        key, _ = parse_setting(text)
        if key in grid:
            both = ",".join(
                other.partition("=")[2] for other in texts if parse_setting(other)[0] == key
            )
            raise PlanError(
                f"{option} {key}: is given twice; write all its values together: {option} {key}={both}"
            )
        values = text.partition("=")[2].strip()
        try:
            grid[key] = tomllib.loads(f"v = [{values}]")["v"]
        except tomllib.TOMLDecodeError:
            parts = [value.strip() for value in values.split(",")]
            if not all(parts):
                raise PlanError(f"{option} {key}: a value is missing in {values}") from None
            grid[key] = [_value(part) for part in parts]
        if values.endswith(","):
            raise PlanError(f"{option} {key}: a value is missing in {values}")
    return grid


def _value(text: str) -> Any:
    if text == "null":
        return None
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def print_json(document: Any) -> None:
    """Prints one JSON document to standard output; what is not a number becomes null."""
    sys.stdout.write(json.dumps(_finite(document), indent=2, default=str) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return value


def note(sentence: str) -> None:
    """Writes a line that is not a result to standard error."""
    typer.echo(printable(sentence), err=True)


def printable(text: str) -> str:
    """Text for a terminal: what is no character of text is written as Python does, long lines are cut."""
    lines = (
        "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in text.split("\n")
    )
    half = LONGEST_LINE // 2
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:half]} ... {line[-half:]}" for line in lines
    )


def print_table(table: Table) -> None:
    """Prints a table to standard output; its width is the terminal's, else COLUMNS', else whatever it needs."""
    from rich.console import Console

    if sys.stdout.isatty():
        terminal = Console(markup=False, highlight=False)
        _keep_words(table, terminal.width)
        terminal.print(table)
        return
    told = os.environ.get("COLUMNS", "")
    width = int(told) if re.fullmatch("[1-9][0-9]{0,3}", told) else 1000
    _keep_words(table, width)
    console = Console(  # with a height, so that it does not read COLUMNS by itself
        width=width, height=25, markup=False, highlight=False
    )
    with console.capture() as text:
        console.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in text.get().splitlines())


def _keep_words(table: Table, width: int) -> None:
    """Forbids breaks within words of a table of numbers, if that fits; between columns there may be one blank then."""
    if not any(column.justify == "right" for column in table.columns):
        return
    texts = [[str(text) for text in (column.header, *column.cells)] for column in table.columns]
    whole = [max(map(len, column)) for column in texts]
    if sum(whole) + 2 * (len(whole) - 1) <= width:
        return
    least = [max(len(word) for text in column for word in text.split()) for column in texts]
    for gap in (2, 1):
        spare = width - sum(least) - gap * (len(least) - 1)
        if spare < 0:
            continue
        table.padding = (0, gap, 0, 0)
        for at in sorted(range(len(least)), key=lambda at: whole[at] - least[at]):
            more = min(whole[at] - least[at], spare)
            table.columns[at].width = least[at] + more
            spare -= more
        return


def plain_table(*columns: str, title: str | None = None, whole: Sequence[str] = ()) -> Table:
    """A table without lines; columns whose name begins with '>' are flush right, those in `whole` are never cut."""
    from rich.table import Table

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        title=title,
        title_justify="left",
        header_style="bold",
    )
    for column in columns:
        table.add_column(
            column.lstrip(">"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=column in whole,
            overflow="fold",
            min_width=len(column) if column in whole else None,
        )
    return table
