# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether the engines agree on a plan, by the numbers of one or of several seeds; and what those that differ have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean, median, stdev

from etalon.validation.drawn import Drawn
from etalon.validation.quantities import ANY_PLAN, Quantity

Traits = tuple[tuple[str, str], ...]
LEAST_CLUSTER = 2
"""Plans that a cluster has at least."""
Z = 1.959964
"""Of a normal distribution, for intervals of 95 %."""
SEEDS = 5
"""Of a plan that its own seed puts out of bounds."""


def t95(freedom: int) -> float:
    """The quantile of Student's distribution for intervals of 95 %, by the expansion 26.7.5 of Abramowitz and Stegun: at
    most 0.3 % off from 4 degrees of freedom on."""
    z, n = Z, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


@dataclass(frozen=True)
class Numbers:
    """What is kept of a run."""

    plan: str
    """The plan's digest, in which its seed is."""
    name: str
    engine: str
    build: str
    seed: int
    seconds: float
    packets: int
    failed: str
    """Why it did not come to its end; empty if it did."""
    numbers: Mapping[str, float | None]


@dataclass(frozen=True)
class Beside:
    """One quantity of both engines, by all seeds."""

    quantity: Quantity
    sims: tuple[float | None, ...]
    linuxes: tuple[float | None, ...]

    @property
    def sim(self) -> float:
        """Mean over the seeds; not a number if some seed has none."""
        return _mean(self.sims)

    @property
    def linux(self) -> float:
        """The same."""
        return _mean(self.linuxes)

    @property
    def difference(self) -> float:
        """In percent of Linux, points or its unit."""
        return self.quantity.difference(self.sim, self.linux)

    @property
    def holds(self) -> bool:
        """Whether it is within its bound. What neither engine has is."""
        if self.quantity.bound is None or (math.isnan(self.sim) and math.isnan(self.linux)):
            return True
        if abs(self.sim - self.linux) <= self.quantity.least:
            return True
        return not math.isnan(self.difference) and abs(self.difference) <= self.quantity.bound

    @property
    def told_apart(self) -> bool:
        """Whether the engines differ by more than their seeds do: a paired t-test at 5 %.

        A seed draws the same flows on both engines, and what it draws often matters more than the engine. Engines of which
        only one has the quantity with some seed differ.
        """
        pairs = list(zip(self.sims, self.linuxes, strict=True))
        if any((sim is None) != (linux is None) for sim, linux in pairs):
            return True
        apart = [sim - linux for sim, linux in pairs if sim is not None and linux is not None]
        if len(apart) < 2:
            return True
        error = stdev(apart) / math.sqrt(len(apart))
        return abs(fmean(apart)) > t95(len(apart) - 1) * error


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else math.nan


@dataclass(frozen=True)
class Judged:
    """A plan on both engines."""

    drawn: Drawn
    sim: tuple[Numbers, ...]
    linux: tuple[Numbers, ...]

    @cached_property
    def beside(self) -> tuple[Beside, ...]:
        """All quantities."""
        return self._by(len(self.sim))

    def _by(self, seeds: int) -> tuple[Beside, ...]:
        return tuple(
            Beside(
                quantity,
                tuple(row.numbers.get(quantity.key) for row in self.sim[:seeds]),
                tuple(row.numbers.get(quantity.key) for row in self.linux[:seeds]),
            )
            for quantity in ANY_PLAN
        )

    @property
    def failed(self) -> str:
        """Why an engine did not come to its end; empty if both did."""
        return next((row.failed for row in (*self.sim, *self.linux) if row.failed), "")

    @property
    def outside(self) -> list[Beside]:
        """The quantities that are out of their bounds."""
        return [one for one in self.beside if not one.holds]

    @property
    def holds(self) -> bool:
        """Whether everything is within its bounds."""
        return not self.failed and not self.outside

    def held_by(self, seeds: int) -> bool:
        """The same by the first so many seeds alone."""
        return not self.failed and all(one.holds for one in self._by(seeds))

    @property
    def undecided(self) -> bool:
        """Whether it is out of bounds, but its seeds differ so much that the engines cannot be told apart."""
        return not self.holds and not self.failed and not any(x.told_apart for x in self.outside)

    @property
    def seconds(self) -> float:
        """Of all its runs."""
        return sum(row.seconds for row in (*self.sim, *self.linux))

    @property
    def worst(self) -> Beside | None:
        """The quantity that is furthest out of its bounds, measured in bounds; None if all are within."""

        def far(one: Beside) -> float:
            bound = one.quantity.bound or math.inf
            return math.inf if math.isnan(one.difference) else abs(one.difference) / bound

        return max(self.outside, key=far, default=None)


@dataclass(frozen=True)
class Share:
    """How many of some plans are within bounds."""

    within: int
    of: int

    @property
    def percent(self) -> float:
        """The share."""
        return 100 * self.within / self.of if self.of else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Of 95 %, in percent, by Wilson's formula (JASA 22, 1927), which few plans and shares near 100 % leave usable."""
        if not self.of:
            return 0.0, 100.0
        n, p = self.of, self.within / self.of
        middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return 100 * max(middle - half, 0), 100 * min(middle + half, 1)

    def __str__(self) -> str:
        if not self.of:
            return "-"
        low, high = self.interval
        return f"{self.within} of {self.of}, {self.percent:.0f} % ({low:.0f} to {high:.0f} %)"


def shares(
    rows: Sequence[Judged], holds: Callable[[Judged], bool] = lambda row: row.holds
) -> dict[str, Share]:
    """By transport, and of all."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault(row.drawn.transport, []).append(row)
    groups["all"] = list(rows)
    return {name: Share(sum(map(holds, part)), len(part)) for name, part in groups.items()}


@dataclass(frozen=True)
class Cluster:
    """Plans that are out of bounds, and what they have in common."""

    traits: Traits
    rows: tuple[Judged, ...]
    of: int
    """Plans with these traits."""

    @property
    def name(self) -> str:
        """Its traits."""
        return ", ".join(
            value if not value.isdigit() else f"{name} {value}" for name, value in self.traits
        )

    @property
    def differs(self) -> Iterator[str]:
        """The quantities that are out of bounds in half of its plans or more, with the median of their differences."""
        for quantity in ANY_PLAN:
            far = [
                one.difference
                for row in self.rows
                for one in row.outside
                if one.quantity == quantity and not math.isnan(one.difference)
            ]
            if 2 * len(far) >= len(self.rows) and far:
                yield f"{quantity.key} {median(far):+.0f} {quantity.difference_in}"


def clusters(rows: Sequence[Judged]) -> list[Cluster]:
    """Puts the plans that are out of bounds together by one trait or two, those first that the traits explain best.

    Greedily: the traits with the most plans out of bounds beyond the share of all plans, then the same of the rest.
    """
    rest = [row for row in rows if not row.holds]
    mean = len(rest) / max(len(rows), 1)
    found = []
    while rest:
        by: dict[Traits, list[Judged]] = {}
        for row in rest:
            for size in (1, 2):
                for traits in combinations(row.drawn.traits, size):
                    by.setdefault(traits, []).append(row)
        counts = {traits: _with(rows, traits) for traits in by}

        def excess(
            traits: Traits,
            by: Mapping[Traits, list[Judged]] = by,
            counts: Mapping[Traits, int] = counts,
        ) -> tuple[float, int]:
            return len(by[traits]) - mean * counts[traits], -len(traits)

        best = max(by, key=excess)
        if len(by[best]) < LEAST_CLUSTER or excess(best)[0] <= 0:
            break
        found.append(Cluster(best, tuple(by[best]), counts[best]))
        rest = [row for row in rest if row not in by[best]]
    if rest:
        found.append(Cluster((("", "others"),), tuple(rest), len(rest)))
    return found


def _with(rows: Sequence[Judged], traits: Traits) -> int:
    return sum(set(traits) <= set(row.drawn.traits) for row in rows)
