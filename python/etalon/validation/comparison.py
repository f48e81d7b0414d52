# SPDX-License-Identifier: MIT OR Apache-2.0
"""The numbers of two runs of one plan side by side, and how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from etalon.campaign.runs import run_all
from etalon.engine import Progress
from etalon.results import Run
from etalon.validation.experiments import Experiment
from etalon.validation.quantities import Quantity, goodput

RATIO_POINTS = 4.0
"""TDTCP's goodput over CUBIC's is to be this close to what it is on Linux, in points."""


@dataclass(frozen=True)
class Compared:
    """One number of both engines."""

    quantity: Quantity
    sim: float
    linux: float

    @property
    def difference(self) -> float:
        """How far the simulator is off, in points, percent or its unit."""
        return self.quantity.difference(self.sim, self.linux)

    @property
    def holds(self) -> bool:
        """Whether that is within the bound that we set ourselves."""
        if self.quantity.bound is None:
            return True
        return not math.isnan(self.difference) and abs(self.difference) <= self.quantity.bound


@dataclass(frozen=True)
class Comparison:
    """One experiment on both engines."""

    experiment: Experiment
    sim: Run
    linux: Run

    @property
    def numbers(self) -> list[Compared]:
        """What is compared in experiments of its section."""
        return [
            Compared(quantity, quantity.of(self.sim), quantity.of(self.linux))
            for quantity in self.experiment.section.quantities
        ]

    @property
    def holds(self) -> bool:
        """Whether every number is within its bound."""
        return all(number.holds for number in self.numbers)

    def both(self, of: Callable[[Run], float]) -> tuple[float, float]:
        """A number of the simulator and of Linux."""
        return of(self.sim), of(self.linux)

    def as_dict(self) -> dict[str, Any]:
        """The row of the JSON list."""
        return {
            "experiment": self.experiment.name,
            **{
                number.quantity.key: {
                    "sim": number.sim,
                    "linux": number.linux,
                    "unit": number.quantity.unit,
                }
                for number in self.numbers
            },
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Gain:
    """How much faster one experiment is than another, on both engines."""

    name: str
    other: str
    """The slower one."""
    sim: float
    linux: float

    @property
    def points(self) -> float:
        """How far the simulator is off."""
        return 100 * (self.sim - self.linux)

    @property
    def holds(self) -> bool:
        """Whether that is within the bound."""
        return abs(self.points) <= RATIO_POINTS


def gains(rows: Sequence[Comparison]) -> Iterator[Gain]:
    """Goodput of each experiment over that of the one which it names (`Experiment.over`), where both were run."""
    by_name = {row.experiment.name: row for row in rows}
    for row in rows:
        other = by_name.get(row.experiment.over)
        if other is not None:
            fast, slow = row.both(goodput), other.both(goodput)
            names = row.experiment.name, other.experiment.name
            yield Gain(*names, fast[0] / slow[0], fast[1] / slow[1])


def compare(
    experiments: Sequence[Experiment],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Runs every experiment on both engines, `jobs` at a time."""
    plans = [experiment.plan for experiment in experiments]
    simulated = 0.1  # of the work, about

    def of_linux(share: float) -> None:
        if progress is not None:
            progress(simulated + (1 - simulated) * share)

    sim = run_all(plans, "sim", jobs=jobs)
    if progress is not None:
        progress(simulated)
    linux = run_all(plans, "linux", jobs=jobs, progress=of_linux)
    return [Comparison(*row) for row in zip(experiments, sim, linux, strict=True)]
