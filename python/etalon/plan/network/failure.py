# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts that fail for a time, of networks of circuits and of the hybrid switch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Rack, Table
from etalon.units import TIME, Time, shown


class PartFailure(Table):
    """Something that fails for a time: a link, one end of it, a rack's switch, or a circuit switch."""

    link: tuple[Rack, int] | None = None
    """A rack and its uplink, both ways."""
    sender: tuple[Rack, int] | None = None
    """The end of an uplink that sends."""
    receiver: tuple[Rack, int] | None = None
    """The end of an uplink that receives."""
    rack: Rack | None = None
    """A ToR switch, with all its uplinks."""
    switch: Annotated[int, Field(strict=True, ge=0)] | None = None
    """A circuit switch."""
    start: Time = Field(alias="from")
    """When the failure begins."""
    end: Time | None = Field(default=None, alias="to")
    """When it recovers; by default never."""
    locks_after: Time | None = None
    """Instead of failing, its circuits come up this much later each day."""

    @property
    def part(self) -> dict[str, Any]:
        """What fails, as the core takes it; one entry, if it is given once."""
        parts = ("link", "sender", "receiver", "rack", "switch")
        return {name: value for name in parts if (value := getattr(self, name)) is not None}

    @property
    def uplinks(self) -> dict[str, int]:
        """The number of the uplink that fails, by key."""
        uplinks = {name: part[1] for name, part in self.part.items() if isinstance(part, tuple)}
        return uplinks if self.switch is None else {**uplinks, "switch": self.switch}

    def problems(self, key: str, racks: int) -> Iterator[PlanError]:
        """What is wrong with the failure with this key, among so many racks."""
        if len(self.part) != 1:
            yield PlanError(
                "must name exactly one part that fails: link, sender, receiver, rack, or switch",
                key=key,
            )
        if self.end is not None and self.end <= self.start:
            yield PlanError(
                f"{shown(TIME.format(self.end))} must be later than its start at {TIME.format(self.start)}",
                key=f"{key}.to",
                value=self.end,
            )
        for name, part in self.part.items():
            rack = part[0] if isinstance(part, tuple) else part if name == "rack" else 0
            if rack >= racks:
                yield PlanError(
                    f"there is no rack {rack} (racks 0..{racks - 1})", key=f"{key}.{name}"
                )


def overlapping(failures: Sequence[PartFailure]) -> Iterator[PlanError]:
    """Failures of a part that has failed already."""
    for index, one in enumerate(failures):
        for first, other in enumerate(failures[:index]):
            begins_before = other.end is None or one.start < other.end
            if (
                one.part == other.part
                and begins_before
                and (one.end is None or other.start < one.end)
            ):
                yield PlanError(
                    f"has failed already then, by network.failure.{first}",
                    key=f"network.failure.{index}.{next(iter(one.part), '')}",
                )
                break


def absent_uplinks(failures: Sequence[PartFailure], uplinks: int) -> Iterator[PlanError]:
    """Uplinks and circuit switches that fail, of which a network of circuits has so many, and that do not exist."""
    for index, failure in enumerate(failures):
        for name, uplink in failure.uplinks.items():
            if uplink >= uplinks:
                what, plural = (
                    ("circuit switch", "switches") if name == "switch" else ("uplink", "uplinks")
                )
                yield PlanError(
                    f"there is no {what} {uplink} ({plural} 0..{uplinks - 1})",
                    key=f"network.failure.{index}.{name}",
                )


def resolve_failures(failures: Sequence[PartFailure]) -> list[dict[str, Any]]:
    """Failures as the core takes them."""
    return [
        {
            "part": {name: list(part) if isinstance(part, tuple) else part},
            "from_ns": one.start,
            "to_ns": one.end,
            "locks_after_ns": one.locks_after,
        }
        for one in failures
        for name, part in one.part.items()
    ]
