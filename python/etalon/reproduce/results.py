# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a reproduction has measured: runs by series and x, some of which may not be there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from etalon.reproduce.paper import Paper, X
from etalon.results import Run
from etalon.results.metrics import METRICS


class Missing(Exception):
    """A point that a claim or figure needs was not measured. `yet`: this version cannot measure it."""

    def __init__(self, reason: str, *, yet: bool = False) -> None:
        super().__init__(reason)
        self.yet = yet


class Results:
    """Runs by series and x, one for each seed."""

    def __init__(
        self,
        paper: Paper,
        runs: Mapping[tuple[str, X], list[Run]],
        lacking: Mapping[tuple[str, X], str],
        beside: Results | None = None,
    ) -> None:
        self.paper = paper
        self.beside = beside
        """What the engine has that figures compare this one with."""
        self._runs = runs
        self._lacking = lacking
        """Points that this version cannot run, and why."""

    def runs(self, series: str, x: X) -> list[Run]:
        """The runs of one point. Raises `Missing` if they are not there."""
        if (series, x) in self._runs:
            return self._runs[series, x]
        if (series, x) in self._lacking:
            raise Missing(self._lacking[series, x], yet=True)
        raise Missing(f"{series} at {x} was not run")

    def known(self, series: str, x: X) -> bool:
        """Whether a point was run, or cannot be run by this version."""
        return (series, x) in self._runs or (series, x) in self._lacking

    def run(self, series: str, x: X) -> Run:
        """The run of the first seed. Raises `Missing` if it is not there."""
        return self.runs(series, x)[0]

    def seeds(self, series: str) -> dict[Any, list[Run]]:
        """All runs of the points of a series that are there, by x."""
        return {
            x: self._runs[series, x]
            for x in self.paper.series[series].x
            if (series, x) in self._runs
        }

    def series(self, name: str) -> dict[Any, Run]:
        """The runs of the first seed of the points of a series that are there, by x."""
        return {x: runs[0] for x, runs in self.seeds(name).items()}

    def whole(self, series: str) -> dict[Any, list[Run]]:
        """All runs of a series by x. Raises `Missing` if one is not there that could be."""
        return {
            x: self.runs(series, x)
            for x in self.paper.series[series].x
            if (series, x) not in self._lacking
        }

    def by_seed(self) -> list[Results]:
        """The same, a seed at a time; a point of one seed has that each time."""
        count = max(map(len, self._runs.values()), default=1)
        return [
            Results(
                self.paper,
                {at: [runs[min(n, len(runs) - 1)]] for at, runs in self._runs.items()},
                self._lacking,
                self.beside,
            )
            for n in range(count)
        ]

    def metric(self, series: str, x: X, name: str) -> float:
        """A metric of `etalon list metrics` at one point, the mean over seeds; shares in percent.

        Raises `Missing` if there is none.
        """
        metric = METRICS[name]
        values = [value for value in map(metric.of, self.runs(series, x)) if value is not None]
        if not values:
            raise Missing(f"{series} at {x}: no packet to measure {name} on")
        return fmean(values) * (100 if metric.unit == "0..1" else 1)


def of_days(at: tuple[str, X], quantity: str, unit: float) -> Callable[[Results], float]:
    """A claim about the mean of a `quantity` of the table `days` at one point (series and x), in multiples of `unit`."""

    def measured(results: Results) -> float:
        row = results.run(*at).days.filter(pl.col("quantity") == quantity)
        if row.is_empty():
            raise Missing(f"nothing was measured of {quantity}")
        return float(row["mean"][0]) / unit

    return measured


def ratio(metric: str, of: tuple[str, X], over: tuple[str, X]) -> Callable[[Results], float]:
    """A claim about a metric at one point (series and x) over that at another."""
    return lambda results: results.metric(*of, metric) / results.metric(*over, metric)
