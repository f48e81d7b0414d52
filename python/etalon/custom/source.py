# SPDX-License-Identifier: MIT OR Apache-2.0
"""Source of users: where a function or class is defined, so that its text is kept with a plan, and whether it may run.

A plan names code as `my.py:longest_first` and carries the text of `my.py`. Text that came with a plan *file* runs only once
it is allowed (`--code`); text of objects that the caller handed over is allowed already. Each run executes the text anew, so
that no run sees what another left behind.
"""

from __future__ import annotations
import __future__

import ast
import hashlib
import linecache
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from etalon.errors import EtalonError, PlanError
from etalon.units import shown

Texts = Mapping[str, str]
"""Source by the name of its file."""

MARK = ".py:"
"""What a reference to code has, and no registered name."""
_PREFIX = "etalon_code_"
_allowed: set[str] = set()
"""Digests of the texts that may run in this process; `EVERYTHING` for all."""
EVERYTHING = "everything"


class Captured(str):
    """A reference to an object that the caller handed over, which knows its text."""

    text: str

    def __new__(cls, reference: str, text: str) -> Captured:
        """A reference with the text of its file."""
        made = super().__new__(cls, reference)
        made.text = text
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """What a copy is made of."""
        return str(self), self.text


def is_reference(name: Any) -> bool:
    """Whether a name in a plan is that of code, such as `my.py:longest_first`."""
    return isinstance(name, str) and MARK in name


def split(reference: str) -> tuple[str, str]:
    """The file of a reference, and the name in it."""
    file, _, name = reference.rpartition(":")
    return file, name


def digest(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def allow(texts: Iterable[str]) -> None:
    """Allows these texts to run in this process."""
    _allowed.update(map(digest, texts))


def is_allowed(text: str) -> bool:
    """Whether this text may run in this process."""
    return EVERYTHING in _allowed or digest(text) in _allowed


def allow_everything() -> None:
    """Allows whatever plans name to run in this process: what `--code` says."""
    _allowed.add(EVERYTHING)


def read(reference: str, folder: Path, key: str, known: Any = None) -> tuple[str, dict[str, str]]:
    """A reference without folders, and the text of its file: one of those that are `known`, or the file's, whose path
    starts at `folder`. Nothing is executed. Raises `PlanError`."""
    path, name = split(reference)
    file = Path(path).name
    if isinstance(reference, Captured):
        return str(reference), {file: reference.text}
    if isinstance(known, Mapping) and isinstance(known.get(file), str):
        text = known[file]
    else:
        text = _text_of(folder / path, key, reference)
    names = defined(text, file, key)
    if name not in names:
        there = ", ".join(sorted(names)) or "nothing"
        raise PlanError(f"{file} defines no {shown(name)}; it defines {there}", key=key)
    return f"{file}:{name}", {file: text}


def with_texts(value: Any, folder: Path) -> Any:
    """A value of a grid, references with the text of their files in a folder."""
    if isinstance(value, list):
        return [with_texts(one, folder) for one in value]
    if not is_reference(value):
        return value
    file, _ = split(value)
    return Captured(value, _text_of(folder / file, "grid", value))


def merged(every: Iterable[Texts]) -> dict[str, str]:
    """The texts of several plans. Raises `PlanError` if a name has two."""
    found: dict[str, str] = {}
    for texts in every:
        for file, text in texts.items():
            if found.setdefault(file, text) != text:
                raise PlanError(f"two different files are called {file}: rename one")
    return found


def _text_of(path: Path, key: str, reference: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"{shown(reference)}: there is no file {path}", key=key) from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise PlanError(f"{path} cannot be read: {why}", key=key) from None


def defined(text: str, file: str, key: str) -> set[str]:
    """The names that a text defines at its top; `PlanError` if it is no Python."""
    try:
        body = ast.parse(text, file).body
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise PlanError(f"{file}{line}: not valid Python: {what}", key=key) from None
    found: set[str] = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def mentions(texts: Texts, method: str) -> bool:
    """Whether any of these texts defines a function or method of this name. Nothing is executed."""
    trees = (ast.parse(text) for text in texts.values())
    nodes = (node for tree in trees for node in ast.walk(tree))
    return any(isinstance(node, ast.FunctionDef) and node.name == method for node in nodes)


def refuse(texts: Texts, file: str | None = None) -> None:
    """Refuses texts that came with a plan and were not allowed to run."""
    for name, text in texts.items():
        if not is_allowed(text):
            raise PlanError(
                f"the plan runs code of {name}; read it, then allow it with --code (in Python: code=True)",
                file=file,
            )


class Pieces:
    """The pieces of texts that were put together from what stands in notebooks and scripts: so errors name these places."""

    _of: dict[str, list[tuple[str, str, int]]]

    def __init__(self) -> None:
        self._of = {}

    def keep(self, text: str, pieces: list[tuple[str, str, int]]) -> None:
        """Keeps the pieces of a text: each with its file and first line."""
        self._of[digest(text)] = pieces

    def of(self, text: str, file: str) -> list[tuple[str, str, int]]:
        """The pieces of a text; one, if it is a whole file."""
        return self._of.get(digest(text), [(text, file, 1)])


PIECES = Pieces()


def load(reference: str, texts: Texts) -> Any:
    """The object of a reference, of text that is executed anew. Raises `PlanError` if it may not run or fails."""
    file, name = split(reference)
    text = texts[file]
    refuse({file: text})
    module = types.ModuleType(f"{_PREFIX}{digest(text)[:16]}")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    try:
        for piece, place, line in PIECES.of(text, file):
            if place not in linecache.cache and not Path(place).exists():
                lines = text.splitlines(keepends=True)
                linecache.cache[place] = (len(text), None, lines, place)
            code = compile(
                "\n" * (line - 1) + piece,
                place,
                "exec",
                flags=__future__.annotations.compiler_flag,
                dont_inherit=True,
            )
            exec(code, module.__dict__)
        return getattr(module, name)
    except EtalonError:
        raise
    except Exception as error:
        raise EtalonError(f"{where(error, file)}: {told(error)}") from error


def where(error: BaseException, otherwise: str) -> str:
    """File and line of the user's code in which an exception was raised, as deep as it is known."""
    place, trace = otherwise, error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(_PREFIX):
            place = place_at(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place


def place_of(function: Any, otherwise: str) -> str:
    """File and line of a function or a class."""
    code = getattr(function, "__code__", None)
    if code is None:
        return otherwise
    return place_at(code.co_filename, code.co_firstlineno)


def place_at(file: str, line: int) -> str:
    """File and line as people call them."""
    # A cell of a notebook has a name that tells nobody anything.
    if file.startswith("<ipython-input") or "ipykernel_" in file:
        return f"line {line} of the notebook's cell"
    return f"{Path(file).name}:{line}"


def told(error: BaseException) -> str:
    """What was raised, in words."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
