# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the panels of small multiples show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Panel:
    """What one panel shows."""

    title: str
    points: dict[str, Any]
    """Runs by line, and within it by place on the axis."""


@dataclass(frozen=True)
class Drawn:
    """A sweep laid out for a figure."""

    panels: list[Panel]
    label: str
    """Of the axis."""
    names: list[str]
    """Of the places along the axis, if they are no numbers."""
