# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a paper's figure is drawn: which of `etalon.figures`, of what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etalon import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.figures.types import WebFigure


class Drawing:
    """A figure of `etalon.figures` with its arguments, drawn for print or for a browser.

        Drawing("utilization", runs, xlabel="tau (us)", published={0: 49})

    `part` sets it apart from other drawings of the same figure.
    """

    def __init__(self, name: str, *args: Any, part: str = "", **kwargs: Any) -> None:
        self.name = name
        self.part = part
        self._args = args
        self._kwargs = kwargs

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(self._args)

    def draw(self) -> Figure:
        """For print."""
        return figures.draw(self.name, *self._args, **self._kwargs)

    def interactive(self) -> WebFigure:
        """For a browser."""
        return figures.interactive(self.name, *self._args, **self._kwargs)
