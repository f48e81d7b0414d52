# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pages that are written from the program itself: the command line, the Python API, the examples, the papers, the decisions."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import etalon as et
from etalon.cli import app

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 96
"""Columns of a help text."""
COUNT = re.compile(r"^\d+ claims: .*$", re.MULTILINE)
"""How many claims of a paper hold, where its table ends."""


def command_line() -> str:
    """Every command with its help, as the terminal prints it."""
    parts = [
        "# The command line\n",
        "Written from the program: this is what `etalon COMMAND --help` prints.\n",
    ]
    for path, command in _commands(typer.main.get_command(app), "etalon"):
        context = command.context_class(
            command, info_name=path, max_content_width=WIDTH, terminal_width=WIDTH
        )
        parts.append(f"## {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(inner, f"{path} {name}")


def python() -> str:
    """What `import etalon as et` offers, for mkdocstrings to fill in."""
    described = [name for name in et.__all__ if not name.startswith("_")]
    functions = [name for name in described if inspect.isfunction(getattr(et, name))]
    errors = [name for name in described if _is_exception(getattr(et, name))]
    classes = [name for name in described if name not in {*functions, *errors}]
    modules = {
        module: _public(module)
        for module in ("etalon.figures", "etalon.schedulers", "etalon.tracing", "etalon.reproduce")
    }
    parts = ["# Python\n", "Written from the docstrings. All of it is typed (`py.typed`).\n"]
    parts += _overview(functions, classes)
    for title, names in (("Functions", functions), ("Classes", classes), ("Errors", errors)):
        parts.append(f"## {title}\n")
        parts += [f"::: {_home(name)}\n    options:\n      heading_level: 3\n" for name in names]
    for module, names in modules.items():
        parts.append(f"## {module}\n")
        parts += [f"::: {name}\n    options:\n      heading_level: 3\n" for name in names]
    return "\n".join(parts)


def _overview(functions: list[str], classes: list[str]) -> Iterator[str]:
    """The names that one needs first, each with the first sentence of its docstring."""
    yield (
        "Describe a network with `network` or `dumbbell`, a schedule with `strobe` or its like, flows with `bulk`, `flow` or "
        "`workload`; `run` them, and read a `Run`. `sweep` runs a plan over values, `load` reads what is on the disk.\n"
    )
    for title, names in (("function", functions), ("class", classes)):
        yield f"| {title} | what it does |\n|---|---|"
        for name in names:
            said = (inspect.getdoc(getattr(et, name)) or "").partition("\n\n")[0].replace("\n", " ")
            place = _home(name)
            yield f"| [`{name}`](#{place}) | {said.replace('|', ' ')} |"
        yield ""


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _home(name: str) -> str:
    """Where a public name is defined."""
    value = getattr(et, name)
    return f"{value.__module__}.{value.__qualname__}"


def _public(module: str) -> list[str]:
    """Where the functions and classes are defined that a module has for others."""
    found = importlib.import_module(module)
    named = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    values = [getattr(found, name) for name in named]
    return [
        f"{value.__module__}.{value.__qualname__}"
        for value in values
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__.startswith(module)
    ]


def examples() -> str:
    """Every example, whole."""
    from etalon.cli.examples import files

    parts = [
        "# Examples\n",
        "`etalon examples --copy plans` copies these to a folder. Plans run with `etalon run`, scripts with `python`.\n",
    ]
    for path in files():
        language = {"toml": "toml", "py": "python"}[path.suffix[1:]]
        text = path.read_text(encoding="utf-8").rstrip()
        parts.append(f"## {path.name}\n\n```{language}\n{text}\n```\n")
    return "\n".join(parts)


def papers() -> str:
    """The papers that are reproduced, with their pages."""
    parts = [
        "# Papers\n",
        "Each paper is a folder with its plans, the values that it published and the tolerances. `etalon reproduce NAME` runs "
        "it and reports, claim by claim, how far Etalon is from the paper. The pages below contain these tables.\n",
    ]
    for folder in sorted((ROOT / "papers").iterdir(), reverse=True):
        if not (folder / "paper.toml").is_file():
            continue
        paper = tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))
        summary = " ".join(paper["summary"].split())
        count = COUNT.search((folder / "README.md").read_text(encoding="utf-8"))
        pages = sorted(folder.glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
        links = "".join(f"- [{_title(path)}](papers/{folder.name}/{path.name})\n" for path in pages)
        parts.append(
            f"## {paper['title']}\n\n{paper['authors']}. {paper['venue']}. [The paper]({paper['link']}).\n\n"
            f"{summary}\n\n{f'**{count[0]}.**' if count else ''}\n\n{links}"
        )
    return "\n".join(parts)


def _title(path: Path) -> str:
    """What a page is called."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def decisions() -> str:
    """The list of decision records, the newest first."""
    parts = [
        "# Decisions\n",
        "Why Etalon is built as it is: one record a decision, with its date. A record says what was decided, and why. A later "
        "decision that replaces it gets a record of its own.\n",
    ]
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md"), reverse=True):
        lines = path.read_text(encoding="utf-8").splitlines()
        date = next(line for line in lines if line.startswith("*"))
        parts.append(f"- [{lines[0].removeprefix('# ')}]({path.name}) {date}")
    return "\n".join(parts) + "\n"


GENERATED = {
    "cli.md": command_line,
    "python.md": python,
    "examples.md": examples,
    "papers.md": papers,
    "decisions/index.md": decisions,
}
"""Pages by their place on the site."""
