# SPDX-License-Identifier: MIT OR Apache-2.0
"""The source of a function or class that stands in a script or a notebook, with all that it uses from around it."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import linecache
import symtable
import sys
import textwrap
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from etalon.custom.source import PIECES, Captured, allow
from etalon.errors import PlanError

HEADER = "from __future__ import annotations\n"
MOST_ENTRIES = 100_000
"""Of an array that is kept as text."""


def capture(thing: Any) -> Captured:
    """A reference to a function or class, such as `longest_first.py:longest_first`, with the text of that file: which stands
    alone, and is allowed to run. Raises `PlanError` for what cannot be kept."""
    function = unwrapped(thing)
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise PlanError(f"{name or function!r} has no name: define it with def or class")
    parts = _Parts(name)
    parts.add(name, function)
    text = parts.text()
    PIECES.keep(text, parts.pieces())
    allow([text])
    return Captured(f"{name}.py:{name}", text)


def captured(value: Any) -> Any:
    """A value of a plan or a grid, with references in place of functions and classes."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(captured, value))
    if isinstance(unwrapped(value), (types.FunctionType, type)):
        return capture(value)
    return value


def unwrapped(thing: Any) -> Any:
    """The function or class that a decorator of ours wraps."""
    return getattr(thing, "__wrapped__", thing)


def _lines_of(target: Any) -> tuple[list[str], int, str]:
    """The lines of a function or a class, the number of the first, and their file. Raises `OSError` or `TypeError`."""
    try:
        lines, first = inspect.getsourcelines(target)
        return lines, first, inspect.getsourcefile(target) or "<unknown>"
    except (OSError, TypeError):
        # A class of a notebook has no file, as its module has none; but its methods have.
        if not isinstance(target, type):
            raise
    for method in vars(target).values():
        code = getattr(unwrapped(method), "__code__", None)
        if code is None:
            continue
        text = "".join(linecache.getlines(code.co_filename))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.name == target.__name__:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                lines = text.splitlines(keepends=True)[first - 1 : node.end_lineno]
                return lines, first, code.co_filename
    raise OSError(f"no source of {target.__name__}")


@dataclass
class _Parts:
    """What the file of a function is made of."""

    root: str
    imports: dict[str, str] = field(default_factory=dict)
    """The line that imports each name."""
    defined: dict[str, Any] = field(default_factory=dict)
    """What else has a name, in order of definition."""
    definitions: list[tuple[str, str, int]] = field(default_factory=list)
    """Text, file and first line of each."""

    def add(self, name: str, value: Any) -> None:
        """Adds what `name` stands for in the user's code, and all that it uses."""
        if name in self.imports or name in self.defined:
            if self.defined.get(name, value) is not value:
                raise PlanError(f"{self.root} uses two different things called {name}: rename one")
            return
        if isinstance(value, types.ModuleType):
            self._import(name, value)
        elif _is_installed(value):
            self.imports[name] = (
                f"from {value.__module__} import {value.__qualname__.partition('.')[0]} as {name}"
            )
        elif isinstance(unwrapped(value), (types.FunctionType, type)):
            self._define(name, value)
        else:
            self._constant(name, value)

    def _import(self, name: str, module: types.ModuleType) -> None:
        if not _is_installed_module(module.__name__):
            raise PlanError(
                f"{self.root} uses the module {module.__name__}, which is not installed: import its parts by name "
                f"(from {module.__name__} import ...), so that its source is kept"
            )
        self.imports[name] = f"import {module.__name__} as {name}"

    def _define(self, name: str, value: Any) -> None:
        target = unwrapped(value)
        try:
            lines, first, file = _lines_of(target)
        except (OSError, TypeError):
            raise PlanError(
                f"the source of {name} cannot be read: define it in a file or in a notebook"
            ) from None
        text = textwrap.dedent("".join(lines))
        self.defined[name] = value
        for used in _names(text, name):
            found, known = _look_up(target, used)
            if known and found is not target and found is not value:
                self.add(used, found)
        if target.__name__ != name:
            text += f"\n{name} = {target.__name__}\n"
        self.definitions.append((text, file, max(first, 1)))

    def _constant(self, name: str, value: Any) -> None:
        self.defined[name] = value
        if (
            isinstance(value, (np.ndarray, np.generic))
            and value.size <= MOST_ENTRIES
            and value.dtype.kind in "biuf"
        ):
            self.imports.setdefault("_numpy", "import numpy as _numpy")
            text = f"{name} = _numpy.array({value.tolist()!r}, dtype={value.dtype.str!r})"
            self.definitions.append((text + "\n", f"{self.root}.py", 1))
            return
        text = repr(value)
        try:
            same = ast.literal_eval(text) == value
        except (ValueError, SyntaxError, MemoryError):
            same = False
        if not same:
            raise PlanError(
                f"{self.root} uses {name}, a {type(value).__name__}, which cannot be kept with a run: from outside it "
                "may use only modules, functions, classes, numbers, strings, or lists of such"
            )
        self.definitions.append((f"{name} = {text}\n", f"{self.root}.py", 1))

    def text(self) -> str:
        """The file."""
        imports = "".join(f"{line}\n" for line in sorted(self.imports.values()))
        return "\n\n".join([HEADER + imports, *(text for text, _, _ in self.definitions)])

    def pieces(self) -> list[tuple[str, str, int]]:
        """The file in pieces, each with the place that it came from."""
        imports = "".join(f"{line}\n" for line in sorted(self.imports.values()))
        return [(imports, f"{self.root}.py", 1), *self.definitions]


class _Unannotated(ast.NodeTransformer):
    """Takes annotations off."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant("")
        return self.generic_visit(node)


def _names(text: str, own: str) -> list[str]:
    """The names that a definition takes from around it, in order; those of annotations are for readers alone."""
    text = ast.unparse(_Unannotated().visit(ast.parse(text)))
    found: dict[str, None] = {}

    def walk(table: symtable.SymbolTable, top: bool) -> None:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global() or symbol.is_free()):
                found[symbol.get_name()] = None
        for child in table.get_children():
            walk(child, False)

    walk(symtable.symtable(text, own, "exec"), True)
    return sorted(name for name in found if name != own)


def _look_up(target: Any, name: str) -> tuple[Any, bool]:
    """What a name stands for where a function or class is defined, and whether that is known."""
    for one in _functions(target):
        code, cells = one.__code__, one.__closure__ or ()
        if name in code.co_freevars:
            try:
                return cells[code.co_freevars.index(name)].cell_contents, True
            except ValueError:
                return None, False
    space = _globals(target)
    if name in space:
        return space[name], True
    return None, False


def _functions(target: Any) -> list[types.FunctionType]:
    if isinstance(target, types.FunctionType):
        return [target]
    methods = (getattr(value, "__func__", value) for value in vars(target).values())
    return [method for method in methods if isinstance(method, types.FunctionType)]


def _globals(target: Any) -> dict[str, Any]:
    for function in _functions(target):
        return function.__globals__
    return vars(sys.modules.get(target.__module__, types.ModuleType("nothing")))


def _is_installed(value: Any) -> bool:
    """Whether it is imported by name from a module that is installed."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "." in name:
        return False
    return _is_installed_module(module) and getattr(sys.modules.get(module), name, None) is value


_OURS = "etalon"
_SITES = {"site-packages", "dist-packages"}
"""Folders of installed modules: the environment's own, the user's (`pip install --user`) and the system's are called so."""


def _is_installed_module(name: str) -> bool:
    top = name.partition(".")[0]
    if top in ("__main__", "__mp_main__"):
        return False
    if top == _OURS or top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return top in importlib.metadata.packages_distributions()
    return bool(_SITES & set(Path(file).resolve().parts))
