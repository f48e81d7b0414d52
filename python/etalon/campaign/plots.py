# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of a sweep as methods: `sweep.plot.utilization(x="network.voq", hue="bulk.cc")`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from etalon import amounts
from etalon.arguments import hints_of
from etalon.errors import PlanError
from etalon.figures import FIGURES, sweeps
from etalon.figures.plots import Method, no_figure
from etalon.results.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.results import Run


class Runs(Protocol):
    """A sweep: its points, and the run of each."""

    @property
    def points(self) -> Sequence[sweeps.PointLike]: ...
    @property
    def runs(self) -> Sequence[Run]: ...


_METRIC = ("        metric: a number of `etalon list metrics`.",)
_KEYS = {
    "x": "        x: the key along the axis. Without it, the one with the most numbers.",
    "hue": "        hue: the key that tells the lines apart. Without it, one with few values.",
    "facet": "        facet: the key that tells the panels apart. Without it, all keys that are left.",
}


class _OfSweep(Method):
    """A figure of a sweep, whose keys go along its axis, into lines and into panels."""

    def signed(self, instance: Any) -> Callable[..., Figure]:
        entry = self.entry
        of_metric = entry.name == "lines"
        hidden = ("xlabel", "ylabel") if of_metric else ()
        own = [
            one
            for one in inspect.signature(entry.draw).parameters.values()
            if one.kind is inspect.Parameter.KEYWORD_ONLY and one.name not in hidden
        ]
        names = ["x", "hue", "facet"] if entry.shows == "sweep" else ["hue", "facet"]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        keys = [inspect.Parameter(n, kind, default=None, annotation="str | None") for n in names]
        if of_metric:
            keys.insert(0, inspect.Parameter("metric", kind, annotation="str"))
        signature = inspect.Signature([*keys, *own], return_annotation="Figure")

        def method(*args: Any, **kwargs: Any) -> Figure:
            given = signature.bind(*args, **kwargs).arguments
            sweep: Runs = instance.of
            metric = numbers_of(sweep, given.pop("metric")) if of_metric else {}
            return sweeps.draw(sweep, entry.name, **given, **metric)

        method.__signature__ = signature  # type: ignore[attr-defined]
        types = hints_of(entry.draw)
        method.__annotations__ = {one.name: one.annotation for one in keys}
        method.__annotations__ |= {one.name: types[one.name] for one in own}
        method.__doc__ = self._docstring(names, [one.name for one in own])
        return method

    def _docstring(self, names: list[str], own: list[str]) -> str:
        """What the figure shows, and its arguments: those of all figures of sweeps, then its own."""
        first = "" if "x" in names else " Of several seeds it shows the first."
        lines = [f"Draws the sweep: {self.entry.summary}.{first}", "", "    Args:"]
        lines += _METRIC if self.entry.name == "lines" else ()
        lines += [_KEYS[name] for name in names]
        if own:
            lines.append(f"        {', '.join(own)}: as in `etalon.figures.draw`.")
        return "\n".join(lines)


def numbers_of(sweep: Runs, metric: str) -> dict[str, Any]:
    """What the figure `lines` needs to draw a metric: the number of each run, in a unit for all, and a label."""
    if metric not in METRICS:
        raise PlanError(f'there is no metric "{metric}"; there are {", ".join(METRICS)}')
    values = {id(run): run.summary()[metric] for run in sweep.runs}
    if all(value is None for value in values.values()):
        raise PlanError(f"no run of this sweep has the metric {metric}")
    scale = amounts.scale(values.values(), METRICS[metric].unit)

    def number(run: Any) -> float | None:
        value = values[id(run)]
        return None if value is None else value / scale.size

    unit = f" ({scale.unit})" if scale.unit else ""
    return {"number": number, "ylabel": f"{metric.replace('_', ' ')}{unit}"}


class SweepPlots:
    """The figures of a sweep as methods: `sweep.plot.utilization(x="network.voq", hue="bulk.cc", facet="tdf")`.

    A key goes along the axis, one tells lines apart by colour, the rest panels; what is not said is chosen. Points are means
    over seeds, bars reach from the lowest to the highest. Any metric: `sweep.plot.lines("fct_p99")`.
    """

    def __init__(self, sweep: Runs) -> None:
        self.of = sweep

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        raise AttributeError(no_figure("a sweep", name, dir(self)))

    def __dir__(self) -> list[str]:
        return [entry.name for entry in FIGURES if entry.shows in ("sweep", "runs")]


for _entry in FIGURES:
    if _entry.shows in ("sweep", "runs"):
        setattr(SweepPlots, _entry.name, _OfSweep(_entry))
