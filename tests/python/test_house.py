# SPDX-License-Identifier: MIT OR Apache-2.0
"""The floor plan of `python/etalon`: what may import what (ARCHITECTURE.md, Rooms)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import spdx

PACKAGE = ROOT / "python" / "etalon"
CORE = "etalon._core"

FOUNDATION = (
    *("errors", "files", "cache", "units", "amounts", "markup", "arguments", "progress"),
    *("circuits", "timeflow"),
    "custom",
    *("controls", "schedulers", "asking", "collectives", "graphs"),
)
ROOMS = (
    "plan",
    "figures",
    "results",
    "kernel",
    "engine",
    "campaign",
    "report",
    "tracing",
    "jobs",
    "api",
    "testing",
    "pages",
    "reproduce",
    "validation",
    "bench",
    "doctor",
    "cli",
)
"""From the ground up: a room knows those before it alone. New rooms find their place here."""
OTCP = ROOT / "otcp" / "etalon_otcp"
"""A distribution of its own, which stands on these:"""
UNDER_OTCP = ("etalon", CORE, "etalon.errors", "etalon.files", "etalon.units")
UNDER_OTCP_ROOMS = ("plan", "engine")
KNOW_OTCP = ("etalon.cli.otcp", "etalon.doctor")
"""What looks whether it is installed."""


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {
    dotted(path): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not {"papers", "examples"} & set(path.relative_to(PACKAGE).parts)
}


def imported(path: Path) -> Iterator[tuple[str, str, int]]:
    """All that a file imports, at the top, in functions or for types alone: module, name in it ("" for all), line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: imports are absolute"
            yield from ((str(node.module), alias.name, node.lineno) for alias in node.names)


@cache
def graph() -> dict[str, set[str]]:
    """By module of this package: those that it imports."""
    edges: dict[str, set[str]] = {}
    for module, path in SOURCES.items():
        found = {
            f"{of}.{name}" if f"{of}.{name}" in {*SOURCES, CORE} else of
            for of, name, _ in imported(path)
        }
        edges[module] = (found & SOURCES.keys()) - {module}
    return edges


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """What imports each other, however far around: strongly connected components (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in edges:
        if node not in index:
            visit(node)
    return [one for one in found if len(one) > 1]


def test_a_circle_would_be_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert "etalon.plan.base" in graph()["etalon.plan.network"]


def test_no_modules_import_each_other_not_even_late() -> None:
    assert circles(graph()) == []


def room(module: str) -> str:
    return f"{module}.".split(".")[1]


def test_rooms_know_only_those_before_them() -> None:
    order: Sequence[str] = (*FOUNDATION, *ROOMS)
    for module, found in graph().items():
        if room(module) in ("", "__main__"):  # the package itself, which shows what is in it
            continue
        allowed = {*order[: order.index(room(module))], room(module)}
        for other in found:
            assert room(other) in allowed, f"{module} imports {other}"


def test_otcp_stands_on_little_and_gives_nothing_back() -> None:
    for path in sorted(OTCP.rglob("*.py")):
        for module, name, line in imported(path):
            if module.partition(".")[0] != "etalon":
                continue
            named = f"{module}.{name}"
            known = {module, named} & {*UNDER_OTCP} or room(module) in UNDER_OTCP_ROOMS
            commands = path.name == "commands.py" and named == "etalon.cli.common"
            assert known or commands, f"{path}:{line}: imports {named}"
    knowing = {
        module
        for module, path in SOURCES.items()
        if any(of.partition(".")[0] == "etalon_otcp" for of, _, _ in imported(path))
    }
    assert knowing == {*KNOW_OTCP}


def test_what_is_private_stays_at_home() -> None:
    files = [*SOURCES.values(), *(ROOT / "papers").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]
    for path in files:
        for module, name, line in imported(path):
            parts = [*module.split("."), name]
            private = [
                part
                for part in parts
                if part.startswith("_") and part not in ("__future__", "_core")
            ]
            assert not private or private == ["__version__"], f"{path}:{line}: {'.'.join(parts)}"


def test_only_the_linux_engine_knows_of_kernels() -> None:
    """So that another engine needs nothing of it."""
    knowing = {
        module for module, found in graph().items() if any(room(m) == "kernel" for m in found)
    }
    assert {m for m in knowing if room(m) not in ("kernel", "cli", "doctor")} == {
        "etalon.engine.linux"
    }


def test_every_source_file_names_its_licence() -> None:
    """`python tools/spdx.py --write` writes it."""
    names = list(spdx.sources())
    assert len(names) > 900
    assert [name for name in names if not spdx.has_line(name)] == []


def test_licences_are_those_of_the_folders() -> None:
    assert spdx.line("kernel/driver/log.c") == "// SPDX-License-Identifier: GPL-2.0"
    assert spdx.line("otcp/fuzz.py") == "# SPDX-License-Identifier: MIT OR Apache-2.0"
    assert spdx.place("#!/bin/sh\necho\n") == len("#!/bin/sh\n")


@pytest.mark.parametrize(
    "main", sorted(ROOT.glob("crates/*/tests/main.rs")), ids=lambda path: path.parts[-3]
)
def test_every_test_of_a_crate_is_in_its_one_program(main: Path) -> None:
    """Cargo does not look for files by itself where a crate has `autotests = false`."""
    found = re.findall(r"^mod (\w+);$", main.read_text(encoding="utf-8"), flags=re.M)
    files = {path.stem for path in main.parent.glob("*.rs")} - {"main"}
    folders = {
        path.parent.name for name in ("mod", "main") for path in main.parent.glob(f"*/{name}.rs")
    }
    assert sorted(found) == sorted(files | folders)
    assert "autotests = false" in (main.parents[1] / "Cargo.toml").read_text(encoding="utf-8")
