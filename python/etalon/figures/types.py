# SPDX-License-Identifier: MIT OR Apache-2.0
# mypy: disable-error-code="import-untyped"
"""What figures need to know of a run. `etalon.results.Run` has all of it; so may anything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import polars as pl

from etalon.errors import EtalonError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    WebFigure: TypeAlias = Figure
    """A figure for a browser; plotly comes without types."""


class PlanLike(Protocol):
    """A plan, as figures see it."""

    def resolve(self) -> dict[str, Any]:
        """The plan as the simulator receives it: integers, with the unit in the key."""
        ...


class RunLike(Protocol):
    """A run, as figures see it."""

    @property
    def plan(self) -> PlanLike: ...
    @property
    def meta(self) -> Mapping[str, Any]: ...
    @property
    def flows(self) -> pl.DataFrame: ...
    @property
    def flow_table(self) -> pl.LazyFrame: ...
    def by_size(self, flow_class: str | None = None) -> pl.DataFrame: ...
    @property
    def pairs(self) -> pl.DataFrame: ...
    @property
    def latency_histogram(self) -> pl.DataFrame: ...
    @property
    def sequence(self) -> pl.DataFrame: ...
    @property
    def tcp(self) -> pl.DataFrame: ...
    @property
    def reordering(self) -> pl.DataFrame: ...
    @property
    def ports(self) -> pl.DataFrame: ...
    @property
    def links(self) -> pl.DataFrame: ...
    @property
    def writes(self) -> pl.DataFrame: ...
    @property
    def cross_connects(self) -> pl.DataFrame: ...
    @property
    def iterations(self) -> pl.DataFrame: ...
    @property
    def steps(self) -> pl.DataFrame: ...
    @property
    def planes(self) -> tuple[str, ...]:
        """Names of the network's planes."""
        ...

    @property
    def circuit_utilization(self) -> float | None:
        """Share of the measured pair's circuit capacity that carried payload, 0 to 1; None without circuits."""
        ...

    def latency(self, percentile: float, network: str | None = None) -> float:
        """A percentile of the latency through the switch in microseconds."""
        ...


Runs: TypeAlias = "RunLike | Mapping[str, RunLike]"
"""One run, or several by name: the names go into the legend."""

Value: TypeAlias = "RunLike | float | Sequence[RunLike]"
"""A measured point: a run, several that differ only by seed, or the number itself."""

Points: TypeAlias = "Mapping[Any, Value]"
"""Points by the value of the parameter that is swept."""


@dataclass(frozen=True)
class Tolerance:
    """How far a measured value may be from the published one."""

    value: float
    """In the unit of the quantity, or as a share of the published value."""
    relative: bool = False

    def around(self, published: float) -> float:
        """Half the width of the band around `published`."""
        return self.value * abs(published) if self.relative else self.value


class Estimate(float):
    """A number that was estimated from samples, with the ends of its confidence interval."""

    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Estimate:
        made = super().__new__(cls, value)
        made.low, made.high = low, high
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (float(self), self.low, self.high)


def by_name(runs: Runs) -> dict[str, RunLike]:
    """`runs` as a mapping; a single run has the empty name."""
    if isinstance(runs, Sequence):
        raise EtalonError('several runs need names for the legend, like {"CUBIC": a, "reTCP": b}')
    return dict(runs) if isinstance(runs, Mapping) else {"": runs}


def planes_of(runs: Iterable[RunLike]) -> list[str]:
    """The planes of all runs, each once."""
    return list(dict.fromkeys(plane for run in runs for plane in run.planes))


def series_by_name(points: Points | Mapping[str, Points]) -> dict[str, Points]:
    """One or several series of points as a mapping; a single series has the empty name."""
    nested: dict[str, Any] = {
        str(name): value for name, value in points.items() if isinstance(value, Mapping)
    }
    return nested or {"": points}
