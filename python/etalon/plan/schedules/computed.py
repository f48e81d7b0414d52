# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weeks that a scheduler computes from demand, one after the other: one of the registry, or a user's function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.base import Choice, Reference
from etalon.plan.network import Network
from etalon.plan.schedules.base import Windowed
from etalon.plan.schedules.rules import RULES
from etalon.plan.written import FromSource
from etalon.units import Time, shown

SCHEDULERS = {name: about for name, about in _core.schedulers() if name not in RULES}
"""What computes weeks, by name: all that the core has registered and that is no rule."""


class Computed(Windowed):
    """The controller beside the switch: it looks at demand, computes a week, and begins again."""

    which: ClassVar = "that is computed from demand"
    computed: ClassVar = True
    kind: Annotated[str, Choice(tuple(SCHEDULERS))]
    """The scheduler that computes each week: see `etalon list schedulers`."""
    estimator: Literal["voq", "adu", "oracle"] = "voq"
    """The source of demand: "voq", the bytes in the VOQs; "adu", hosts' announcements less the bytes that left the VOQs
    (Etalon'18, section 5.2); "oracle", the bytes not yet delivered. Hosts announce the bytes that sockets have
    accepted from programs: for each flow no more than its send buffer holds, which grows with the congestion window
    (`tcp.max_send_buffer`)."""
    compute: Time = 0
    """Duration of a computation, which reads demand at its start."""
    interval: Time = 0
    """Least time between the starts of two computations; with zero, they follow each other without a break."""
    report: Time = 0
    """Delay of hosts' announcements (estimator "adu")."""

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """A first week without circuits, and what computes the others."""
        idle = {
            "sources": [-1] * network.racks,
            "day_ns": self.window - self.night,
            "night_ns": self.night,
        }
        control = {
            "scheduler": self.kind,
            "estimator": {"adu": {"report_ns": self.report}}
            if self.estimator == "adu"
            else self.estimator,
            "window_ns": self.window,
            "min_day_ns": self.day,
            "night_ns": self.night,
            "threshold_bytes": self.threshold,
            "only_big": self.estimator != "voq",
            "compute_ns": self.compute,
            "interval_ns": self.interval,
        }
        return {"configurations": [idle], "control": control}

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        if self.report and self.estimator != "adu":
            yield PlanError(
                f'only the estimator "adu" waits for announcements, not {shown(self.estimator)}',
                key="schedule.report",
            )
        yield from super().problems(network)


class Written(FromSource, Computed):
    """As any scheduler that computes weeks, but for a function of the user's."""

    which: ClassVar = "that a function of yours computes"
    about: ClassVar = (
        "computed from demand by your Python function: etalon run --code, docs/write.md"
    )
    kind: Reference
    """A function and its file, such as `"my.py:longest_first"`, which runs only with `--code`."""
