# SPDX-License-Identifier: MIT OR Apache-2.0
"""The result of a check: sentences, and a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from etalon import markup
from etalon.errors import EtalonError


class CheckFailed(EtalonError, AssertionError):
    """A property that a user's code lacks, with the case that shows it."""


@dataclass(frozen=True)
class Checked:
    """The result of a passed check."""

    name: str
    properties: tuple[str, ...]
    """What holds, a sentence each."""
    draw: Callable[[], Any]

    def plot(self) -> Any:
        """A figure of the checked code beside built-in ones."""
        return self.draw()

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.name}: {len(self.properties)} properties hold",
                *(f"  {one}" for one in self.properties),
            ]
        )

    def _repr_html_(self) -> str:
        """For a notebook."""
        rows = "".join(f"<li>{markup.inline(one)}</li>" for one in self.properties)
        return f"<p><b>{markup.inline(self.name)}</b> passes:</p><ul>{rows}</ul>"
