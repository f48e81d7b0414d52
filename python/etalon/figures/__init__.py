# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures, one file each: `draw` for print (matplotlib) and `interactive` for a browser (plotly).

    figure = etalon.figures.draw("sequence", {"CUBIC": run})
    etalon.figures.save(figure, "figures", "sequence")

Drawing libraries are imported when the first figure is drawn.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etalon.figures.plots import Plots
from etalon.figures.registry import FIGURES, Entry, get
from etalon.figures.types import Estimate, Tolerance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.figures.types import WebFigure

__all__ = [
    "FIGURES",
    "Entry",
    "Estimate",
    "Plots",
    "Tolerance",
    "draw",
    "get",
    "interactive",
    "save",
]


def draw(name: str, *args: Any, **kwargs: Any) -> Figure:
    """Draws a figure for print (matplotlib).

    >>> draw("sequence", {"CUBIC": run, "reTCP": other})
    >>> draw("lines", {"CUBIC": {4: 21.0, 16: 50.2}}, xlabel="VOQ (packets)", ylabel="circuit (%)")

    Args:
        name: the figure, one of `etalon list figures`.
        args: its data, which its entry in the list names: a run; runs by the name for the legend; runs, or numbers, by value
            of a parameter.
        kwargs: its own options; `help(etalon.figures.get(name).draw)` names them. Every figure takes `ax`, axes to draw on.

    Raises:
        EtalonError: if there is no such figure; the message lists those that exist.
    """
    return get(name).draw(*args, **kwargs)


def interactive(name: str, *args: Any, **kwargs: Any) -> WebFigure:
    """Draws a figure for a browser (plotly): the arguments of `draw`, without `ax`."""
    return get(name).interactive(*args, **kwargs)


def save(
    figure: Figure, folder: str | os.PathLike[str], name: str, *, pdf: bool = True
) -> list[Path]:
    """Writes `name`.png, and with `pdf` `name`.pdf, into `folder`, each whole or not at all, and returns their paths."""
    from etalon.figures import style

    return style.save(figure, folder, name, pdf=pdf)
