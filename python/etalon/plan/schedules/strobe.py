# SPDX-License-Identifier: MIT OR Apache-2.0
"""The strobe schedule: all pairs in turn, whatever the demand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.network import Network
from etalon.plan.schedules.base import Rule
from etalon.plan.schedules.configuration import wrong_day

MIMICKING = 3
"""Racks of the testbed whose schedule mimics more racks; the rule exists for this many."""


class Strobe(Rule):
    """Every rack meets every other rack for one day a week (NSDI'20 section 4.5)."""

    about: ClassVar = "every rack meets every other rack once a week (NSDI'20 section 4.5)"
    which: ClassVar = 'of kind "strobe"'
    kind: Literal["strobe"] = "strobe"
    """Every rack meets every other rack once a week."""
    mimic: int | None = Field(default=None, strict=True, ge=3, le=1024)
    """Three racks stand for this many, with the schedule of NSDI'20's testbed (section 4.5): rack r meets rack r + 1 on
    the last day of the week, and rack r - 1 on all others."""

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations of the week."""
        return _core.strobe(network.racks, self.day, self.night, self.mimic)

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        racks = network.racks
        if self.mimic is not None and racks != MIMICKING:
            yield PlanError(
                f"only {MIMICKING} racks can stand for {self.mimic}, as on NSDI'20's testbed "
                f"(section 4.5); this network has {racks}: leave mimic out to run them all",
                key="schedule.mimic",
                value=self.mimic,
            )
        yield from wrong_day("schedule", self.day, self.night)
        week = ((self.mimic or racks) - 1) * (self.day + self.night)
        yield from self.wrong_weeks(network, week)
