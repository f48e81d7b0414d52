# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stub of the Rust core says what the binary has."""

from __future__ import annotations

import ast
import inspect

from conftest import ROOT
from etalon import _core

STUB = ast.parse((ROOT / "python" / "etalon" / "_core.pyi").read_text())


def test_the_stub_names_what_the_binary_has() -> None:
    described = {
        node.name for node in STUB.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    described |= {ast.unparse(node.target) for node in STUB.body if isinstance(node, ast.AnnAssign)}
    assert described == set(_core.__all__)


def test_the_stub_has_the_parameters_of_the_binary() -> None:
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            parameters = inspect.signature(getattr(_core, node.name)).parameters
            described = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
            assert described == list(parameters), node.name
            given = [p for p in parameters.values() if p.default is not inspect.Parameter.empty]
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            assert len(defaults) == len(given), node.name


def test_the_stub_has_the_members_of_control() -> None:
    classes = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
    control = classes["Control"]
    described = {node.name for node in control.body if isinstance(node, ast.FunctionDef)}
    assert described - {"__init__"} == {name for name in dir(_core.Control) if name[0] != "_"}
