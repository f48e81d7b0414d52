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
    """Draws the figure called `name` for print; arguments are those of its `draw`."""
    return get(name).draw(*args, **kwargs)


def interactive(name: str, *args: Any, **kwargs: Any) -> WebFigure:
    """Draws the figure called `name` for a browser; arguments are those of its `interactive`."""
    return get(name).interactive(*args, **kwargs)


def save(
    figure: Figure, folder: str | os.PathLike[str], name: str, *, pdf: bool = True
) -> list[Path]:
    """Writes `name`.png, and with `pdf` `name`.pdf, into `folder`, each whole or not at all, and returns their paths."""
    from etalon.figures import style

    return style.save(figure, folder, name, pdf=pdf)
