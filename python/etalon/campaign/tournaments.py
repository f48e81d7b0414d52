# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tournaments: each pair of congestion controls runs side by side in one network, and the result is each one's share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from etalon import amounts, figures, markup
from etalon.arguments import checked
from etalon.campaign.sweeps import Point, seeds_of
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.results import Run
from etalon.units import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASSES = ("home", "away")
"""Classes of the flows of the two sides, so that a control against itself has two sides too."""


@dataclass(frozen=True, repr=False)
class Tournament:
    """The matches of a tournament: each point has the values `cc` and `against`."""

    plan: Plan
    points: list[Point]
    runs: list[Run]

    @cached_property
    def table(self) -> pl.DataFrame:
        """Two rows a match, one a side: cc, against, side (flows of "home" start first), seed, goodput (bit/s) and
        retransmissions of its flows, its share of both sides' goodput (0..1), and the match's circuit utilisation."""
        rows = [
            row
            for point, run in zip(self.points, self.runs, strict=True)
            for row in _sides(point, run)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @cached_property
    def standings(self) -> pl.DataFrame:
        """One row a congestion control, the best first: its mean, least and greatest share of the goodput against the others
        (0..1), and the circuit utilisation of its matches with itself."""
        others = self.table.filter(pl.col("cc") != pl.col("against"))
        alone = self.table.filter(pl.col("cc") == pl.col("against"))
        alone = alone.group_by("cc").agg(pl.col("circuit_utilization").mean().alias("alone"))
        return (
            others.group_by("cc", maintain_order=True)
            .agg(
                pl.col("share").mean().alias("mean_share"),
                pl.col("share").min().alias("least_share"),
                pl.col("share").max().alias("most_share"),
            )
            .join(alone, on="cc", how="left", maintain_order="left")
            .sort("mean_share", descending=True, maintain_order=True)
        )

    def shares(self) -> dict[str, dict[str, float]]:
        """The share of each control (first key) against each (second), 0..1, mean over seeds."""
        means = self.table.group_by("cc", "against", maintain_order=True).agg(
            pl.col("share").mean()
        )
        found: dict[str, dict[str, float]] = {}
        for cc, against, share in means.iter_rows():
            found.setdefault(cc, {})[against] = share
        return found

    @cached_property
    def plot(self) -> TournamentPlots:
        """Figures of this tournament: `tournament.plot.shares()`."""
        return TournamentPlots(self)

    def __repr__(self) -> str:
        best = self.standings.row(0, named=True)
        share = amounts.humane(best["mean_share"], "0..1")
        return (
            f"<Tournament {self.plan.name}: {len(self.standings)} congestion controls, {len(self.runs)} runs; "
            f"{best['cc']} gets the most, {share} of the goodput on average>"
        )

    def _repr_html_(self) -> str:
        """For a notebook: who won, the figure, and the standings."""
        from etalon.figures import style

        figure = self.plot.shares()
        names = ("mean share", "least", "most", "circuit, alone")
        columns = [
            amounts.column(self.standings[name].to_list(), "0..1")[0]
            for name in self.standings.columns[1:]
        ]
        rows = list(zip(self.standings["cc"], *columns, strict=True))
        return "\n".join(
            [
                f"<p>{markup.inline(repr(self)[1:-1])}</p>",
                markup.image(style.png(figure), "shares", style.on_screen(figure)),
                markup.table(("cc", *(f"{name} (%)" for name in names)), rows, right=range(1, 5)),
            ]
        )


class TournamentPlots:
    """The figures of a tournament as methods: `tournament.plot.shares()`."""

    def __init__(self, tournament: Tournament) -> None:
        self.of = tournament

    @checked
    def shares(self, ax: Axes | None = None) -> Figure:
        """Draws who gets how much of the goodput (row) beside whom (column).

        Args:
            ax: axes to draw on; by default a new figure's.
        """
        return figures.draw("shares", self.of.shares(), ax)


def _sides(point: Point, run: Run) -> list[dict[str, Any]]:
    """What the two sides of a match got."""
    sums = {
        name: run.flows.filter(pl.col("class") == name)
        .select(pl.col("bytes_delivered").sum(), pl.col("retransmits").sum())
        .row(0)
        for name in CLASSES
    }
    delivered = sum(one[0] for one in sums.values())
    names = (point.values["cc"], point.values["against"])
    rows = []
    for side, cc, against in zip(CLASSES, names, names[::-1], strict=True):
        mine, retransmits = sums[side]
        rows.append(
            {
                "cc": cc,
                "against": against,
                "side": side,
                "seed": run.plan.seed,
                "goodput": mine * 8e9 / run.measured_ns if run.measured_ns else None,
                "share": mine / delivered if delivered else None,
                "retransmits": retransmits,
                "circuit_utilization": run.circuit_utilization,
            }
        )
    return rows


def matches(
    plan: Plan, controls: Sequence[str], seeds: int | Sequence[int] | None = None
) -> list[Point]:
    """The plans of a tournament: every two controls twice, each first once, and each with itself; half of the bulk flows for
    each side."""
    if not plan.bulk:
        raise PlanError("a tournament shares bulk flows between two sides, but the plan has none")
    for at, name in enumerate(controls):
        if name in controls[:at]:
            raise PlanError(f"{shown(name)} is given twice", key="controls", value=name)
    if len(controls) < 2:
        raise PlanError("a tournament needs two congestion controls or more", key="controls")
    points = []
    for home in controls:
        for away in controls:
            sides = {"bulk": _halves(plan, home, away)}
            for seed in seeds_of(plan, seeds):
                values = {"cc": home, "against": away}
                points.append(Point(values, plan.replace({**sides, "seed": seed})))
    return points


def _halves(plan: Plan, home: str, away: str) -> list[dict[str, Any]]:
    """The plan's bulk flows as those of two sides."""
    tables = []
    given = plan.to_dict(defaults=False)["bulk"]
    for bulk, table in zip(plan.bulk, given, strict=True):
        number = int(bulk.expected(plan.setting()))
        if number < 2:
            raise PlanError("one flow cannot be shared between two sides", key="bulk.flows")
        own = {key: value for key, value in table.items() if key != "params"}
        for name, cc, flows in zip(CLASSES, (home, away), ((number + 1) // 2, number // 2), strict=True):  # fmt: skip
            tables.append({**own, "cc": cc, "flows": flows, "class": name})
    return tables
