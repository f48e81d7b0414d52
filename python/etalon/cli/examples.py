# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon examples`: plans and scripts to begin with."""

from __future__ import annotations

import ast
import shutil
from difflib import get_close_matches
from filecmp import cmp
from pathlib import Path
from typing import Annotated

import typer

from etalon.cli import common
from etalon.errors import EtalonError, PlanError

_PACKAGE = Path(__file__).resolve().parents[1]
PLACES = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")
"""Where the examples are: in the package when it was installed, or in the source tree."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon examples strobe, or etalon examples --copy .")(examples)


def examples(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Print this example.", show_default=False),
    ] = None,
    copy: Annotated[
        Path | None,
        typer.Option("--copy", metavar="DIR", help="Copy them to a folder.", show_default=False),
    ] = None,
    json: common.Json = False,
) -> None:
    """List the examples, print one of them, or copy all to a folder."""
    if name is not None:
        if copy is not None:
            raise PlanError("--copy copies all examples; leave the name out")
        _print(named(name), json=json)
        return
    if copy is not None:
        copied = [str(path) for path in copy_to(copy)]
        if json:
            common.print_json(copied)
        else:
            typer.echo("\n".join(copied))
        return
    listed = descriptions()
    if json:
        common.print_json([{"name": name, "description": text} for name, text in listed.items()])
        return
    table = common.plain_table("", "")
    table.show_header = False
    for name, text in listed.items():
        table.add_row(name, text)
    common.print_table(table)


def _print(path: Path, *, json: bool) -> None:
    text = path.read_text(encoding="utf-8")
    if json:
        common.print_json({"name": path.name, "text": text})
    else:
        typer.echo(text, nl=False)


def named(name: str) -> Path:
    """The example of a name, with or without its suffix; a plan before a script.

    Raises:
        PlanError: if there is none; it names similar ones.
    """
    from etalon.units import shown

    found = [path for path in files() if name in (path.name, path.stem)]
    if not found:
        near = sorted({*get_close_matches(name, [path.stem for path in files()], 3)})
        meant = f"did you mean {' or '.join(near)}?" if near else "`etalon examples` lists them"
        raise PlanError(f"there is no example {shown(name)}; {meant}")
    return found[0]


def descriptions() -> dict[str, str]:
    """Each example's file name and its first comment or docstring."""
    return {path.name: _first_sentence(path) for path in files()}


def files() -> list[Path]:
    """The example files: plans first, then scripts."""
    return _of("toml", "py")


def _of(*suffixes: str) -> list[Path]:
    for place in PLACES:
        found = [path for suffix in suffixes for path in sorted(place.glob(f"*.{suffix}"))]
        if found:
            return found
    raise EtalonError("the examples are missing from this installation")


def copy_to(folder: Path) -> list[Path]:
    """Copies the examples and what their plans need; never over a file that is there and differs."""
    if folder.exists() and not folder.is_dir():
        raise PlanError("is a file; examples need a folder", file=str(folder))
    sources = _of("toml", "py", "txt", "goal")
    targets = [folder / path.name for path in sources]
    for source, target in zip(sources, targets, strict=True):
        if target.exists() and not (target.is_file() and cmp(source, target, shallow=False)):
            raise PlanError("differs from the example; no file is overwritten", file=str(target))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in zip(sources, targets, strict=True):
            shutil.copyfile(source, target)
    except OSError as error:
        raise EtalonError(f"{folder}: could not be written: {error.strerror}") from error
    return targets


def _first_sentence(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    return text.split("\n", 1)[0].lstrip("# ").strip()
