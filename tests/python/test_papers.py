# SPDX-License-Identifier: MIT OR Apache-2.0
"""What holds for the folder of every paper: its parts fit together."""

from __future__ import annotations

import pytest

from etalon import reproduce
from etalon.reproduce.claims import Tolerance
from etalon.reproduce.paper import Paper


@pytest.fixture(params=sorted(reproduce.papers()))
def paper(request: pytest.FixtureRequest) -> Paper:
    return Paper.load(request.param)


def test_every_series_is_of_a_figure(paper: Paper) -> None:
    points = paper.points(paper.choose(None))
    assert len({point.series for point in points}) == len(paper.series)


def test_every_claim_has_a_tolerance_and_a_function(paper: Paper) -> None:
    for claim in paper.claims:
        Tolerance.parse(claim.group.tolerance, claim.group.unit)
        if claim.group.measure is not None:
            assert callable(getattr(paper.measures, claim.group.measure)), claim.id


def test_every_drawing_is_of_a_figure_and_every_figure_has_a_drawing_or_claims(
    paper: Paper,
) -> None:
    paper = Paper.load(paper.name, "linux")  # which figures that compare engines are of
    figures = {figure.id for figure in paper.head.figure}
    assert set(paper.drawings) <= figures
    assert figures == set(paper.drawings) | {claim.group.figure for claim in paper.claims}
