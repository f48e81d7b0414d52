"""A sweep drawn: which of its keys goes along the axis, which tells the series apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from etalon.errors import EtalonError
from etalon.figures import registry
from etalon.figures.types import RunLike
from etalon.units import RATE, SIZE, TIME, Quantity

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

_BY_NAME = "congestion_controls"
"""The figure whose axis has names, not numbers."""


def draw(
    sweep: SweepLike, name: str, x: str | None = None, series: str | None = None, **more: Any
) -> Figure:
    """See `Sweep.plot`."""
    figure: Figure = _drawn(registry.get(name).draw, sweep, name, x, series, more)
    return figure


def interactive(sweep: SweepLike, name: str) -> WebFigure:
    """The same for a browser."""
    return _drawn(registry.get(name).interactive, sweep, name, None, None, {})


def suitable(sweep: SweepLike) -> dict[str, str]:
    """Name and caption of the figures that can be drawn without being told what goes where."""
    keys = varied(sweep)
    numeric = [key for key in keys if axis(key, _values(sweep, key)) is not None]
    controls = [key for key in keys if key.endswith(".cc")]
    if sweep.runs[0].plan.resolve()["schedule"] is None:
        captions = {}
    elif keys and keys == controls[:1]:
        return {_BY_NAME: "Circuit utilisation of the measured pair by congestion control."}
    else:
        captions = {"utilization": "Circuit utilisation of the measured pair."}
    captions["latency"] = "Time in the switch of packets over 1000 B of the measured pair."
    return captions if len(numeric) == 1 and len(keys) == 1 + len(controls) <= 2 else {}


def varied(sweep: SweepLike) -> list[str]:
    """The keys that take more than one value, but for the seed."""
    keys = dict.fromkeys(key for point in sweep.points for key in point.values if key != "seed")
    return [key for key in keys if len(_values(sweep, key)) > 1]


def _values(sweep: SweepLike, key: str) -> list[Any]:
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


def _drawn(
    function: Callable[..., Any],
    sweep: SweepLike,
    name: str,
    x: str | None,
    series: str | None,
    more: dict[str, Any],
) -> Any:
    """Calls the figure's function with the runs by series and by place on the axis."""
    _check(name)
    keys = varied(sweep)
    x = x or _default_x(sweep, name, keys)
    others = [key for key in keys if key not in (x, series)]
    if series is None and others:
        series = others.pop()
    unknown = {x, series} - {*keys, None}
    if unknown:
        raise EtalonError(
            f"the sweep does not vary {', '.join(map(str, unknown))}; it varies {', '.join(keys)}"
        )
    if others:
        raise EtalonError(
            f"the sweep varies {', '.join(keys)}: one of them for x and one for series can be drawn at a time"
        )
    values = _values(sweep, x)
    label, places = axis(x, values) or (x, values)
    if name != _BY_NAME and axis(x, values) is None:
        raise EtalonError(f"the values of {x} are not numbers, so they have no place on an axis")
    points: dict[Any, dict[Any, list[RunLike]]] = {}
    for point, run in zip(sweep.points, sweep.runs, strict=True):
        line = points.setdefault("" if series is None else point.values[series], {})
        line.setdefault(places[values.index(point.values[x])], []).append(run)
    if "xlabel" in inspect.signature(function).parameters:
        more = {"xlabel": label} | more
    return function(points, **more)


def _check(name: str) -> None:
    if registry.get(name).of_a_run:
        there = ", ".join(entry.name for entry in registry.FIGURES if not entry.of_a_run)
        raise EtalonError(f"the figure {name} shows one run; a sweep has {there}")


def _default_x(sweep: SweepLike, name: str, keys: Sequence[str]) -> str:
    def fits(key: str) -> bool:
        return (
            key.endswith(".cc") if name == _BY_NAME else axis(key, _values(sweep, key)) is not None
        )

    fitting = [key for key in keys if fits(key)]
    if len(fitting) == 1:
        return fitting[0]
    kind = "congestion controls" if name == _BY_NAME else "numbers"
    raise EtalonError(
        f"x must be one of the keys that vary: {', '.join(keys)}"
        if fitting
        else f"{name} needs a key that varies over {kind}; the sweep varies {', '.join(keys) or 'the seed alone'}"
    )
