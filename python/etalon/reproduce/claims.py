# SPDX-License-Identifier: MIT OR Apache-2.0
"""Claims, judged: the verdict follows from published value, measurement and tolerance alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from etalon.errors import EtalonError
from etalon.figures import Estimate
from etalon.reproduce.paper import Claim, Paper
from etalon.reproduce.results import Missing, Results
from etalon.results.metrics import METRICS

REPRODUCED, CALIBRATED = "reproduced", "calibrated"
NOT_YET, NOT_MEASURED = "not yet", "not measured"


@dataclass(frozen=True)
class Tolerance:
    """How a measurement is compared: "5 points", "8 %" of the published value, "exact", "at most", "at least"."""

    text: str
    amount: float = 0.0
    relative: bool = False

    @classmethod
    def parse(cls, text: str, unit: str) -> Tolerance:
        """Reads a tolerance of a quantity in `unit`."""
        if text in ("exact", "at most", "at least"):
            return cls(text)
        found = re.fullmatch(r"(\d+(?:\.\d+)?) (\S+)", text)
        if (
            found is None
            or found[2] not in ("%", "points", unit)
            or (found[2] == "points") != (unit in ("%", "points"))
        ):
            raise EtalonError(f'"{text}" is not a tolerance of a value in {unit}')
        return cls(text, float(found[1]), relative=found[2] == "%")

    def band(self, published: float) -> float:
        """How far from the published value a measurement may be."""
        return self.amount / 100 * abs(published) if self.relative else self.amount

    def verdict(self, published: float, measured: float, unit: str) -> str:
        """`reproduced`, or by how much it differs."""
        gap = measured - published
        slack = 1e-9 * max(abs(published), 1)  # of floating point, not of the claim
        if self.text == "at most":
            holds = gap <= slack
        elif self.text == "at least":
            holds = gap >= -slack
        else:
            holds = abs(gap) <= self.band(published) + slack
        if holds:
            return REPRODUCED
        if self.relative and published:
            return f"differs by {100 * gap / published:+.1f} %"
        return f"differs by {gap:+.3g} {'points' if unit == '%' else unit}"


@dataclass(frozen=True)
class Judged:
    """A claim with what was measured and the verdict."""

    claim: Claim
    measured: float | None
    """An `Estimate` has an interval: that of its confidence, or what seeds spread over."""
    verdict: str
    reason: str = ""
    """Why nothing was measured, or why the claim does not count."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the measured value's interval, if it has one."""
        measured = self.measured
        return (measured.low, measured.high) if isinstance(measured, Estimate) else None

    def as_dict(self) -> dict[str, Any]:
        """The row of the JSON list."""
        interval = self.interval
        return {
            "id": self.claim.id,
            "figure": self.claim.group.figure,
            "quantity": self.claim.quantity,
            "published": self.claim.published,
            "measured": None if self.measured is None else round(self.measured, 4),
            **({} if interval is None else {"interval": [round(end, 4) for end in interval]}),
            "unit": self.claim.group.unit,
            "tolerance": self.claim.group.tolerance,
            "verdict": self.verdict,
        }


def judge(paper: Paper, results: Results, figures: Sequence[str]) -> list[Judged]:
    """Judges the claims of these figures, in the paper's order of figures."""
    chosen = sorted(
        (claim for claim in paper.claims if claim.group.figure in figures),
        key=lambda claim: [figure.id for figure in paper.head.figure].index(claim.group.figure),
    )
    return [_judge(paper, claim, results) for claim in chosen]


def _judge(paper: Paper, claim: Claim, results: Results) -> Judged:
    group = claim.group
    tolerance = Tolerance.parse(group.tolerance, group.unit)
    try:
        measured = _measure_each(paper, claim, results)
    except Missing as missing:
        return Judged(claim, None, NOT_YET if missing.yet else NOT_MEASURED, str(missing))
    verdict = tolerance.verdict(claim.published, measured, group.unit)
    if verdict == REPRODUCED and group.calibrated:
        return Judged(claim, measured, CALIBRATED, group.calibrated)
    return Judged(claim, measured, verdict)


def _measure_each(paper: Paper, claim: Claim, results: Results) -> float:
    """As the claim wants it: one value, or the mean over seeds with the smallest and the largest."""
    if not claim.group.each_seed:
        return _measure(paper, claim, results)
    values = [_measure(paper, claim, seed) for seed in results.by_seed()]
    return Estimate(fmean(values), min(values), max(values))


def _measure(paper: Paper, claim: Claim, results: Results) -> float:
    group = claim.group
    if group.measure is not None:
        measure = getattr(paper.measures, group.measure, None)
        if measure is None:
            raise EtalonError(f"{paper.folder / 'claims.py'} has no function {group.measure}")
        measured = measure(results) if claim.x is None else measure(results, claim.x)
        return measured if isinstance(measured, Estimate) else float(measured)
    assert (
        group.series is not None and group.metric is not None and claim.x is not None
    )  # checked by ClaimGroup
    if group.metric not in METRICS:
        raise EtalonError(
            f"{paper.folder / 'published.toml'}: {claim.id}: there is no metric {group.metric}"
        )
    return results.metric(group.series, claim.x, group.metric)
