# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tournament schedule: all pairs in turn, both ways at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.network import Network
from etalon.plan.schedules.base import Rule
from etalon.plan.schedules.configuration import wrong_day


class Tournament(Rule):
    """Every rack meets every other rack for one day a week, both ways at once (the circle method)."""

    about: ClassVar = (
        "every rack meets every other rack once a week, both ways at once (the circle method)"
    )
    which: ClassVar = 'of kind "tournament"'
    kind: Literal["tournament"] = "tournament"
    """Every rack meets every other rack once a week, both ways at once."""

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations of the week."""
        return _core.tournament(network.racks, self.day, self.night)

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        yield from wrong_day("schedule", self.day, self.night)
        week = (network.racks - 1 + network.racks % 2) * (self.day + self.night)
        yield from self.wrong_weeks(network, week)
