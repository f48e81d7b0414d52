# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions and files that a reader can hold in the head (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

FUNCTION = 60
FILE = 600
"""Lines, beside the one that names the licence."""

FOLDERS = (
    "crates",
    "docs",
    "examples",
    "hdfs",
    "kernel",
    "otcp",
    "papers",
    "python",
    "tests",
    "tools",
)
GENERATED = {"kernel/driver/core.h"}
RUST = re.compile(
    r'( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?(?:extern "C" )?fn (\w+)'
)
C = re.compile(r"^[a-z][^;={}]*?(\w+)\([^;{}]*\)\n\{\n.*?^\}", re.MULTILINE | re.DOTALL)


def sources(*endings: str) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings and path.is_file() and "target" not in path.parts:
                yield path


def in_python(text: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or 0) - node.lineno + 1


def in_rust(text: str) -> Iterator[tuple[str, int]]:
    """rustfmt closes a function where it begins."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        found = RUST.match(line)
        if found is None:
            continue
        head = start
        while not lines[head].endswith(("{", ";", "}")):
            head += 1
        if lines[head].endswith("{"):
            yield found[2], lines.index(f"{found[1]}}}", head) - start + 1


def in_c(text: str) -> Iterator[tuple[str, int]]:
    for found in C.finditer(text):
        yield found[1], found[0].count("\n") + 1


LANGUAGES = {".py": in_python, ".rs": in_rust, ".c": in_c}


@pytest.mark.parametrize("ending", LANGUAGES)
def test_no_function_is_long(ending: str) -> None:
    functions = [
        (f"{path.relative_to(ROOT)}: {name}", lines)
        for path in sources(ending)
        for name, lines in LANGUAGES[ending](path.read_text(encoding="utf-8"))
    ]
    assert len(functions) > 100
    long = [f"{name} has {lines} lines" for name, lines in functions if lines > FUNCTION]
    assert not long, f"over {FUNCTION} lines: {'; '.join(long)}"


def test_functions_are_measured_from_their_name_to_their_end() -> None:
    rust = "impl A {\n    pub(super) fn a(\n        b: u8,\n    ) -> u8 {\n        b\n    }\n    fn d();\n}\n"
    assert list(in_rust(rust)) == [("a", 5)]
    assert list(in_python("def a(\n    b: int,\n) -> int:\n    return b\n")) == [("a", 4)]
    assert list(in_c("static int a(int b,\n\t     int c)\n{\n\treturn b;\n}\n")) == [("a", 5)]


def test_no_file_is_long() -> None:
    for path in sources(".py", ".rs", ".c", ".h", ".java"):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n") - text.count("SPDX-License-Identifier", 0, 100)
        assert lines <= FILE or name in GENERATED, f"{name} has {lines} lines, over {FILE}"
