"""Weeks that a scheduler computes from demand, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.base import Choice
from etalon.plan.network import Network
from etalon.plan.schedules.base import Windowed
from etalon.plan.schedules.rules import RULES
from etalon.units import Time, shown

SCHEDULERS = {name: about for name, about in _core.schedulers() if name not in RULES}
"""What computes weeks, by name: all that the core has registered and that is no rule."""


class Computed(Windowed):
    """The controller beside the switch: it looks at demand, computes a week, and begins again."""

    which: ClassVar = "that is computed from demand"
    computed: ClassVar = True
    kind: Annotated[str, Choice(tuple(SCHEDULERS))]
    """The scheduler that computes weeks: see `etalon list schedulers`."""
    estimator: Literal["voq", "adu", "oracle"] = "voq"
    """Demand is what stands in the VOQs, what hosts announce less what left the VOQs (Etalon'18, section 5.2), or what
    truly has not been delivered. Hosts announce what sockets have taken of what programs write: of a flow no more than its send
    buffer holds, which grows with the congestion window (`tcp.max_send_buffer`)."""
    compute: Time = 0
    """The time that a computation takes. It looks at demand when it starts."""
    interval: Time = 0
    """Between the starts of two computations at least; they follow each other without a break if zero."""
    report: Time = 0
    """Estimator "adu": the time that announcements of hosts take."""

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
