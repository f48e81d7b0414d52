# SPDX-License-Identifier: MIT OR Apache-2.0
"""Routing by a function of the user's, which returns a time-flow table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from etalon.custom import source as sources
from etalon.custom.capture import captured
from etalon.plan.base import Reference
from etalon.plan.routing.base import Way
from etalon.plan.written import FromSource, with_source


class Written(FromSource, Way):
    """A time-flow table that a function of the user's returns."""

    which: ClassVar = "that a function of yours returns"
    about: ClassVar = (
        "a time-flow table that your Python function returns: etalon run --code, docs/write.md"
    )
    kind: Reference
    """A function and its file, such as `"my.py:earliest"`, which runs only with `--code`."""

    def resolve(self) -> Any:
        """What names the function: its table takes this place when an engine runs the plan."""
        return {"function": self.kind}


def with_text(way: Any, folder: Path, key: str) -> Any:
    """A way, with the text of the file in which its function stands if it is one; paths start at `folder`."""
    table = {"kind": way} if isinstance(way, str) or callable(way) else way
    if not isinstance(table, Mapping):
        return way
    kind = captured(table.get("kind"))
    if not sources.is_reference(kind):
        return way
    return with_source({**table, "kind": kind}, folder, key)
