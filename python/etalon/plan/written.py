# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of a plan whose kind is a function of the user's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from etalon.custom import source as sources
from etalon.plan.base import Table

WRITTEN = "FILE.py:NAME"
"""What stands for a user's function among the kinds of a table."""


class FromSource(Table):
    """Carries the text of the file in which its function stands."""

    source: dict[str, str] = Field(default_factory=dict)
    """The text of that file, by its name. Reading the plan fills this in, so that the plan contains all code that it
    runs."""


def with_source(table: Mapping[str, Any], folder: Path, key: str) -> dict[str, Any]:
    """The table with that text; paths start at `folder`. Errors name `key`."""
    kind, texts = sources.read(table["kind"], folder, key, table.get("source"))
    return {**table, "kind": kind, "source": texts}
