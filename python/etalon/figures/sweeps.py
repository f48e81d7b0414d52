# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sweep drawn: which of its keys goes along the axis, which tells the lines apart, which the panels."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from etalon.errors import PlanError
from etalon.figures import registry
from etalon.figures.panel import Drawn, Panel
from etalon.figures.types import RunLike
from etalon.units import RATE, SIZE, TIME, Quantity, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.figures.types import WebFigure


class PointLike(Protocol):
    """A point of a sweep."""

    @property
    def values(self) -> Mapping[str, Any]:
        """Its values by key."""
        ...


class SweepLike(Protocol):
    """What these figures need to know of a sweep. `etalon.Sweep` has all of it."""

    @property
    def points(self) -> Sequence[PointLike]: ...
    @property
    def runs(self) -> Sequence[RunLike]: ...


_AXES: tuple[tuple[Quantity, float, str], ...] = (
    (TIME, 1e3, "µs"),
    (RATE, 1e9, "Gb/s"),
    (SIZE, 1e3, "kB"),
)
"""Quantities that an axis shows as numbers: in which unit, and how much of the plan's that is."""

BY_NAME = "congestion_controls"
"""The figure whose axis has names, not numbers."""
MOST_PANELS = 24
MOST_LINES = 14
"""Lines of a panel, told apart by colour and dashes."""

Number = Callable[[RunLike], float | None]
"""What is drawn of a run; None: the run itself, of which the figure reads what it shows."""


@dataclass(frozen=True)
class Layout:
    """Where the keys of a sweep go."""

    x: str | None
    """The key along the axis; None in figures that have another."""
    hue: str | None
    """The key that tells the lines apart."""
    facet: tuple[str, ...]
    """The keys that tell the panels apart."""


def draw(
    sweep: SweepLike,
    name: str,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
    *,
    number: Number | None = None,
    **more: Any,
) -> Figure:
    """Draws the figure `name` of a sweep, in as many panels as it needs.

    Args:
        sweep: the runs, and the values that set them apart.
        name: a figure over a parameter, or one that shows several runs.
        x: the key along the axis. Without it, the one with the most numbers.
        hue: the key that tells the lines apart. Without it, the next one with few values.
        facet: the key that tells the panels apart. Without it, all that is left.
        number: the metric to draw of each run, for figures of numbers.
        more: further arguments of the figure.
    """
    from etalon.figures import panels

    entry = check(name)
    chosen = layout(sweep, entry, x, hue, facet)
    drawn = laid_out(sweep, entry, chosen, number)
    if "xlabel" in inspect.signature(entry.draw).parameters:
        more = {"xlabel": drawn.label} | more
    return panels.draw(entry, drawn, more)


def interactive(
    sweep: SweepLike,
    name: str,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
    *,
    number: Number | None = None,
    **more: Any,
) -> WebFigure | None:
    """The same for a browser; None if it takes several panels, or an axis with names."""
    entry = check(name)
    drawn = laid_out(sweep, entry, layout(sweep, entry, x, hue, facet), number)
    if len(drawn.panels) > 1 or drawn.names:
        return None
    if "xlabel" in inspect.signature(entry.interactive).parameters:
        more = {"xlabel": drawn.label} | more
    return entry.interactive(drawn.panels[0].points, **more)


def check(name: str) -> registry.Entry:
    """The figure of this name, if a sweep can be drawn as one."""
    there = [entry for entry in registry.FIGURES if entry.shows in ("sweep", "runs")]
    entry = next((entry for entry in there if entry.name == name), None)
    if entry is None:
        registry.get(name)
        names = ", ".join(entry.name for entry in there)
        raise PlanError(f"a sweep has no figure {name}; it has {names}")
    return entry


def varied(sweep: SweepLike) -> list[str]:
    """The keys that take more than one value, but for the seed."""
    keys = dict.fromkeys(key for point in sweep.points for key in point.values if key != "seed")
    return [key for key in keys if len(values_of(sweep, key)) > 1]


def independent(sweep: SweepLike) -> list[str]:
    """The keys of `varied`, but of those that vary together only the first."""
    kept: list[str] = []
    for key in varied(sweep):
        if not any(_follows(sweep, key, other) for other in kept):
            kept.append(key)
    return kept


def _follows(sweep: SweepLike, key: str, other: str) -> bool:
    """Whether each of two keys has one value for each value of the other."""
    pairs = {(repr(point.values.get(key)), repr(point.values.get(other))) for point in sweep.points}
    return len(pairs) == len(values_of(sweep, key)) == len(values_of(sweep, other))


def values_of(sweep: SweepLike, key: str) -> list[Any]:
    """The values that a key takes, in the order of the sweep."""
    values: list[Any] = []
    for point in sweep.points:
        if point.values.get(key) not in values:
            values.append(point.values.get(key))
    return values


def axis(key: str, values: Sequence[Any]) -> tuple[str, list[float]] | None:
    """Label of an axis and the values as numbers; None if they are none."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return key, list(values)
    for quantity, unit, name in _AXES:
        try:
            return f"{key} ({name})", [quantity.parse(value) / unit for value in values]
        except (ValueError, TypeError):
            continue
    return None


def layout(
    sweep: SweepLike, entry: registry.Entry, x: str | None, hue: str | None, facet: str | None
) -> Layout:
    """Where the keys go: those that are asked for first, then along the axis what is a number, then few values by colour."""
    keys = varied(sweep)
    for option, key in (("x", x), ("hue", hue), ("facet", facet)):
        if key is not None and key not in keys:
            there = ", ".join(keys) or "the seed alone"
            raise PlanError(f"{option}: the sweep does not vary {shown(key)}; it varies {there}")
    given = [key for key in (x, hue, facet) if key is not None]
    if len(set(given)) < len(given):
        raise PlanError("x, hue and facet must be different keys")
    alone = [
        key for key in independent(sweep) if not any(_follows(sweep, key, one) for one in given)
    ]
    left = [key for key in alone if key not in given]
    if entry.shows == "runs":
        if x is not None:
            raise PlanError(f"{entry.name} has an axis of its own; choose hue and facet")
    elif x is None:
        x = _along(sweep, entry, left)
        left = [key for key in left if key != x]
    if hue is None:
        few = [key for key in left if len(values_of(sweep, key)) <= MOST_LINES]
        hue = min(few, key=lambda key: not key.endswith(".cc"), default=None)
    rest = tuple(key for key in left if key != hue)
    return Layout(x, hue, rest if facet is None else (facet, *rest))


def _along(sweep: SweepLike, entry: registry.Entry, keys: Sequence[str]) -> str:
    """The key for the axis."""
    if not keys:
        raise PlanError(f"{entry.name} needs a key that varies; the sweep varies the seed alone")
    if entry.name == BY_NAME:
        controls = [key for key in keys if key.endswith(".cc")]
        if not controls:
            raise PlanError(
                f"{BY_NAME} needs a key that varies over congestion controls; the sweep varies {', '.join(keys)}"
            )
        return controls[0]
    numeric = [key for key in keys if axis(key, values_of(sweep, key)) is not None]
    return max(numeric or keys, key=lambda key: len(values_of(sweep, key)))


def laid_out(
    sweep: SweepLike, entry: registry.Entry, chosen: Layout, number: Number | None
) -> Drawn:
    """The runs by panel, line and place."""
    x = chosen.x
    values = [] if x is None else values_of(sweep, x)
    numbered = None if x is None or entry.name == BY_NAME else axis(x, values)
    label, places = numbered or (x or "", values)
    names = [] if numbered or x is None or entry.name == BY_NAME else [_text(one) for one in values]
    if names:
        places = list(range(len(values)))
    panels: dict[str, dict[str, Any]] = {}
    for point, run in zip(sweep.points, sweep.runs, strict=True):
        title = ", ".join(_said(key, point.values[key]) for key in chosen.facet)
        line = "" if chosen.hue is None else _line(chosen.hue, point.values[chosen.hue])
        lines = panels.setdefault(title, {})
        if x is None:
            lines.setdefault(line, run)  # of several seeds the first
            continue
        value = run if number is None else number(run)
        place = places[values.index(point.values[x])]
        lines.setdefault(line, {}).setdefault(place, []).append(
            math.nan if value is None else value
        )
    if len(panels) > MOST_PANELS:
        raise PlanError(
            f"{entry.name} would have {len(panels)} panels, one for each of {' and '.join(chosen.facet)}; "
            f"at most {MOST_PANELS} are legible: choose x and hue, or a part of the sweep with select"
        )
    return Drawn([Panel(title, points) for title, points in panels.items()], label, names)


def _said(key: str, value: Any) -> str:
    """A value with the end of its key."""
    return f"{'.'.join(key.split('.')[-2:])} {_text(value)}"


def _line(key: str, value: Any) -> str:
    """The name of a line: names speak for themselves, numbers do not."""
    return value if isinstance(value, str) else _said(key, value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def suitable(sweep: SweepLike) -> dict[str, str]:
    """Name and caption of the figures that say the most of a sweep, the first first."""
    keys = varied(sweep)
    if not keys:
        return {}
    seeds = len(sweep.runs) > len({repr(point.values) for point in sweep.points})
    bars = " Bars reach from the lowest seed to the highest." if seeds else ""
    captions = {}
    if sweep.runs[0].plan.resolve()["schedule"] is not None:
        only_controls = len(keys) == 1 and keys[0].endswith(".cc")
        name = BY_NAME if only_controls else "utilization"
        captions[name] = f"Circuit utilisation of the measured pair.{bars}"
    captions["latency"] = f"Time in the switch of packets over 1000 B of the measured pair.{bars}"
    return captions
