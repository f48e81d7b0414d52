# SPDX-License-Identifier: MIT OR Apache-2.0
"""How figures look, in print and on screen.

Sizes are for a column of a two-column paper: a figure is 3.3 inches wide and its text is 7 to 8 points there. Colours
are those of Okabe and Ito ("Color Universal Design", 2008), told apart with every common colour vision deficiency;
lines also differ by marker or dash, so that a grey print can be read.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from etalon import files
from etalon.errors import EtalonError

COLUMN: Final = 3.3
"""Width of a figure in inches: one column."""
PAGE: Final = 6.9
"""Width of a figure in inches: both columns."""
DPI: Final = 200
"""Resolution of PNG files in dots per inch."""
SCREEN_DPI: Final = 130
"""Dots per inch of figures on a screen that is as sharp as most: a column is 429 wide there."""

PALETTE: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
"""Colours of series, in order of use. The yellow of the original is too pale for lines on white."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
LEFT: Final = 0.5
"""Inches between a figure's left edge and its axes, about."""
MOST_INSIDE: Final = 5
"""Entries of a legend within the axes: of more, some would cover data."""
DAY: Final = "#56B4E9"
"""Shade of circuit days, drawn at `DAY_ALPHA`."""
DAY_ALPHA: Final = 0.22
BASELINE: Final = "#595959"
"""Lines and markers that are not measured: baselines, published values."""

RC: Final[Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same bytes on every machine
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.borderaxespad": 0.3,
    "legend.labelspacing": 0.3,
    "legend.columnspacing": 1.2,
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "patch.linewidth": 0.6,
    "figure.dpi": 100,
    "savefig.dpi": DPI,
    "pdf.fonttype": 42,  # TrueType: text in a PDF can be searched and edited
    "path.simplify": True,
}


@contextmanager
def context() -> Iterator[None]:
    """Draws with this style, whatever the user's own settings are, and leaves those as they were."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def axes(ax: Axes | None = None, *, width: float = COLUMN, height: float = 2.1) -> Axes:
    """Returns `ax`, or the axes of a new figure of `width` x `height` inches."""
    if ax is not None:
        return ax
    return new(width, height).add_subplot()


class Drawing(Figure):
    """A figure that a notebook shows by itself, in our style and as sharp as its screen."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return png(self), {"width": on_screen(self)}


def on_screen(figure: Figure) -> int:
    """How many pixels wide a figure is shown."""
    return round(SCREEN_DPI * float(figure.get_size_inches()[0]))


def new(width: float = COLUMN, height: float = 2.1) -> Drawing:
    """An empty figure of `width` x `height` inches.

    It is no part of pyplot's state: it needs no display and is freed with its last reference.
    """
    return Drawing(figsize=(width, height), layout="constrained")


def figure_of(ax: Axes) -> Figure:
    """The figure that `ax` belongs to."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes belong to no figure")
    return figure


def note_empty(figure: Figure) -> None:
    """Says so in axes in which nothing was drawn."""
    for ax in figure.axes:
        drawn = [line for line in ax.lines if np.size(line.get_xdata(orig=False))]
        if ax.axison and not (drawn or ax.patches or ax.collections or ax.images):
            middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
            ax.text(0.5, 0.5, "nothing was measured", color="0.5", **middle)


def legend(ax: Axes, *, columns: int = 1, outside: bool = False, **kwargs: Any) -> None:
    """Adds a legend if there is something to tell apart: inside where the data leave room, or above the axes, where long ones
    always stand."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    placement: dict[str, Any] = {"loc": "best"}
    if len(handles) > MOST_INSIDE and not outside:
        outside, columns = True, max(columns, 3)
        kwargs.pop("loc", None)
    if outside:
        placement = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    placed = ax.legend(handles, labels, ncols=columns, **(placement | kwargs))
    figure = figure_of(ax)
    room = figure.bbox.width - LEFT * figure.dpi
    while outside and columns > 1 and placed.get_window_extent().width > room:
        columns -= 1  # or it would be cut off at the figure's edge
        placed = ax.legend(handles, labels, ncols=columns, **(placement | kwargs))


def name_bars(ax: Axes, names: Sequence[str]) -> None:
    """Names the bars, or groups of bars, at 0, 1, 2, ...; what would not fit side by side is turned."""
    ax.set_xticks(range(len(names)), list(names))
    if len(names) > 6 or sum(map(len, names)) > 36:
        ax.tick_params(axis="x", rotation=45)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    ax.tick_params(axis="x", length=0)


def colour(index: int) -> str:
    """Colour of series number `index`."""
    return PALETTE[index % len(PALETTE)]


DASHES: Final = ("-", "--", ":", "-.")
"""Lines of series, in order of use: another once all colours have been used."""


def dash(index: int) -> str:
    """Dashes of series number `index`: with these, 28 lines can be told apart."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def marker(index: int) -> str:
    """Marker of series number `index`."""
    return MARKERS[index % len(MARKERS)]


_METADATA: Final[dict[str, dict[str, Any]]] = {
    "png": {"Software": None},
    "pdf": {"Creator": "etalon", "Producer": None, "CreationDate": None},
}
"""What files say of themselves by format: no date and no version, so that the same figure gives the same bytes."""


def _render(figure: Figure, suffix: str) -> bytes:
    buffer = io.BytesIO()
    canvas: Any = (FigureCanvasAgg if suffix == "png" else FigureCanvasPdf)(figure)
    # As savefig() does it, which draws twice: the first time for a layout that the drawing itself finds.
    before = figure.dpi
    with context():
        figure.dpi = DPI
        getattr(canvas, f"print_{suffix}")(buffer, metadata=_METADATA[suffix])
        figure.dpi = before
    return buffer.getvalue()


def png(figure: Figure) -> bytes:
    """The figure as the bytes of a PNG file. The same figure gives the same bytes."""
    return _render(figure, "png")


def save(
    figure: Figure, folder: str | os.PathLike[str], name: str, *, pdf: bool = True
) -> list[Path]:
    """Writes `name`.png, and with `pdf` `name`.pdf, into `folder`, which is created if need be, and returns their paths.

    Each file appears whole or not at all. The same figure gives the same bytes.

    Raises:
        EtalonError: if a file cannot be written.
    """
    folder = Path(folder)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("png", "pdf") if pdf else ("png",):
            path = folder / f"{name}.{suffix}"
            files.put(path, _render(figure, suffix))
            written.append(path)
    except OSError as error:
        raise EtalonError(
            f"{folder}: figures could not be written: {error.strerror or error}"
        ) from error
    return written
