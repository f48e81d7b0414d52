# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon reproduce PAPER --figure NAME` runs what NAME's drawing and claims look at, for every figure of every paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from etalon.errors import EtalonError, PlanError
from etalon.reproduce import Missing, Paper, Results, papers
from etalon.reproduce.paper import X


class Anything:
    """Whatever is asked of a run: a number, a table, a row."""

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def _itself(self, *_: Any, **__: Any) -> Anything:
        return self

    __call__ = __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _itself
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __neg__ = __abs__ = __round__ = _itself
    __floordiv__ = __mod__ = __and__ = __or__ = __invert__ = _itself
    __lt__ = __le__ = __gt__ = __ge__ = _itself

    def __float__(self) -> float:
        return 1.0

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Anything]:
        yield self

    def __len__(self) -> int:
        return 1


class Asked(Results):
    """Results that have every point, and keep which were asked for."""

    def __init__(
        self, paper: Paper, there: set[tuple[str, X]], beside: Results | None = None
    ) -> None:
        runs: Any = {
            (name, x): [Anything()] for name, series in paper.series.items() for x in series.x
        }
        super().__init__(paper, runs, {}, beside)
        self.there = there
        self.asked: set[tuple[str, X]] = set()

    def runs(self, series: str, x: X) -> Any:
        self.asked.add((series, x))
        return super().runs(series, x)

    def seeds(self, series: str) -> dict[Any, Any]:
        """What is there of a series: one point of it is enough."""
        found = super().seeds(series)
        self.asked.add((series, min(found, key=lambda x: (series, x) not in self.there)))
        return found

    def metric(self, series: str, x: X, name: str) -> float:
        self.runs(series, x)
        return 1.0


def asked_by(
    paper: Paper, there: set[tuple[str, X]], look: Any, *further: Any
) -> set[tuple[str, X]]:
    """The points that a drawing or a measure asks for, as far as it gets with results that mean nothing."""
    results = Asked(paper, there, Asked(paper, there))
    with suppress(
        EtalonError, Missing, TypeError, ValueError, AttributeError, LookupError, ZeroDivisionError
    ):
        look(results, *further)
    return results.asked


@pytest.mark.parametrize("engine", ["sim", "linux"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "opera")) for name in papers()],
)
def test_what_a_figure_looks_at_is_run_for_it(name: str, engine: str) -> None:
    paper, lacking = Paper.load(name, engine), []
    for figure in paper.head.figure:
        there = {
            (series, x)
            for series in figure.series
            for x in paper.series[series].x
            if figure.points is None or x in figure.points
        }
        looks: list[tuple[Any, ...]] = [
            (getattr(paper.measures, claim.group.measure), *([claim.x] if claim.group.x else []))
            for claim in paper.claims
            if claim.group.figure == figure.id and claim.group.measure
        ]
        if draw := paper.drawings.get(figure.id):
            looks.append((draw,))
        for look in looks:
            for point in asked_by(paper, there, *look) - there:
                lacking.append((figure.id, look[0].__name__, *point))
    assert not lacking


@pytest.mark.parametrize("name", papers())
def test_a_figure_that_a_paper_does_not_have_is_refused_with_those_it_has(name: str) -> None:
    paper = Paper.load(name)
    ids = ", ".join(figure.id for figure in paper.head.figure)
    with pytest.raises(PlanError) as refused:
        paper.choose(["no-such"])
    assert str(refused.value) == f'{name} has no figure "no-such"; it has {ids}'


def test_drawings_are_of_figures_that_the_paper_has() -> None:
    for name in papers():
        both = [Paper.load(name, engine) for engine in ("sim", "linux")]
        there = {figure.id for paper in both for figure in paper.head.figure}
        assert set(both[0].drawings) <= there
