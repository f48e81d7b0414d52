# SPDX-License-Identifier: MIT OR Apache-2.0
"""The user's code that workloads name: the text of its files takes its place in the plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etalon.custom import source


def with_code(values: Mapping[str, Any], folder: Path, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a plan, the tables of workloads with the text of the files that they name; paths start at `folder`."""
    found = dict(values)
    for kind in kinds:
        tables = values.get(kind)
        if isinstance(tables, (list, tuple)):
            found[kind] = [
                with_source(table, folder, kind) if isinstance(table, Mapping) else table
                for table in tables
            ]
    return found


def with_source(table: Mapping[str, Any], folder: Path, kind: str) -> dict[str, Any]:
    """A table with the text of the files that it names."""
    found, texts = dict(table), {}

    def read(key: str, value: Any) -> Any:
        if not source.is_reference(value):
            return value
        name, text = source.read(value, folder, f"{kind}.{key}", table.get("source"))
        texts.update(text)
        return name

    for key in ("cc", "function"):
        value = table.get(key)
        if isinstance(value, (list, tuple)):
            found[key] = [read(key, one) for one in value]
        elif key in table:
            found[key] = read(key, value)
    found.pop("source", None)
    return found | ({"source": texts} if texts else {})
