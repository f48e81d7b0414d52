# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which claims of a paper another seed decides: how far each claim's value moves over five seeds, beside its tolerance.

    python papers/spread.py etalon18            # five times the paper: minutes of processor time
    python papers/spread.py etalon18 table-2    # some of its figures

A claim whose values spread over more than a third of its tolerance needs several seeds (`seeds` in the paper's
`series.toml`); of a bound it needs them if not all seeds give the same verdict. Points that have several seeds
already keep their number: the seeds of a round follow those of the round before.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import etalon as et
from etalon.progress import bar
from etalon.reproduce.claims import REPRODUCED, Judged, Tolerance, judge
from etalon.reproduce.paper import Claim, Paper, Point
from etalon.reproduce.results import Results

ROUNDS = 5
SHARE = 1 / 3
"""Of a tolerance: what one seed more may move."""


def judged(paper: Paper, figures: Sequence[str], number: int) -> list[Judged]:
    """The claims of these figures as a round of other seeds has them."""
    points = paper.points([figure for figure in paper.head.figure if figure.id in figures])
    shifted = [of_round(point, number) for point in points]
    plans = list({plan.digest: plan for point in shifted for plan in point.plans}.values())
    with bar(f"{paper.name}, round {number + 1} of {ROUNDS}") as progress:
        done = et.run_many(plans, progress=progress)
    runs = dict(zip((plan.digest for plan in plans), done, strict=True))
    measured = {
        (point.series, point.x): [runs[plan.digest] for plan in point.plans]
        for point in shifted
        if point.plans
    }
    lacking = {(point.series, point.x): point.missing for point in shifted if not point.plans}
    return judge(paper, Results(paper, measured, lacking), figures)


def of_round(point: Point, number: int) -> Point:
    """A point with the seeds of a round."""
    shift = number * len(point.plans)
    return replace(point, plans=tuple(plan.replace(seed=plan.seed + shift) for plan in point.plans))


def needs_seeds(claim: Claim, values: Sequence[float], verdicts: Sequence[str]) -> bool:
    """Whether a claim's values over the rounds say that one seed decides it."""
    tolerance = Tolerance.parse(claim.group.tolerance, claim.group.unit)
    if tolerance.text in ("exact", "at most", "at least"):
        return len({verdict == REPRODUCED for verdict in verdicts}) > 1
    return max(values) - min(values) > SHARE * tolerance.band(claim.published)


def main(name: str, figures: Sequence[str]) -> None:
    """Prints a row for each claim that a seed decides, and how many there are."""
    paper = Paper.load(name)
    chosen = [figure.id for figure in paper.choose(figures or None) if not figure.beside]
    rounds = [judged(paper, chosen, number) for number in range(ROUNDS)]
    found = 0
    for claim, *others in zip(*rounds, strict=True):
        row = [claim, *others]
        values = [one.measured for one in row if one.measured is not None]
        if len(values) == ROUNDS and needs_seeds(claim.claim, values, [one.verdict for one in row]):
            found += 1
            group = claim.claim.group
            print(
                f"{claim.claim.id}: {claim.claim.quantity}: published {claim.claim.published:g} {group.unit}, "
                f"tolerance {group.tolerance}, measured {', '.join(f'{value:.4g}' for value in values)}; "
                f"{sum(one.verdict == REPRODUCED for one in row)} of {ROUNDS} reproduced",
                flush=True,
            )
    print(f"{found} of {len(rounds[0])} claims need several seeds")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper")
    parser.add_argument("figure", nargs="*")
    asked = parser.parse_args()
    main(asked.paper, asked.figure)
