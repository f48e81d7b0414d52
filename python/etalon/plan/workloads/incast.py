# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[incast]]` table: many send to one at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Count
from etalon.plan.workloads.base import Host, HostId, Setting, Workload, missing_host
from etalon.units import MS, Duration, Size, Time


class Incast(Workload):
    """Several hosts send to one host at the same time, once or again and again."""

    about: ClassVar = "many hosts send to one at the same time"
    dst: Host = Field(alias="to")
    """The receiving host."""
    size: Size
    """Payload of each flow."""
    src: Literal["others", "own", "all", "pod", "core"] = Field(default="others", alias="from")
    """Which hosts send: "others", those of other racks; "own", those of the receiver's rack; "all", both; in a tree also
    "pod", those of other racks of its pod, and "core", those of other pods."""
    senders: Count | None = None
    """Number of senders: host 0 of each of these racks, then host 1, and so on. By default all of them."""
    flows: Count = 1
    """Number of flows per sender, each with its own connection."""
    spread: Time = 0
    """Each flow starts at a random time, uniform within this time of the round's start."""
    rounds: Count = 1
    """Number of rounds."""
    interval: Duration = 10 * MS
    """Time between the starts of two rounds."""

    @property
    def racks(self) -> tuple[int, int]:
        """From the first sender's rack to the receiver's."""
        rack = self.dst[0]
        return (rack if self.src == "own" else int(rack == 0)), rack

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, round by round."""
        senders = self._senders(setting)
        draw = setting.random().random
        for number in range(self.rounds):
            start = self.start + number * self.interval
            for _ in range(self.flows):
                for src in senders:
                    late = int(draw() * self.spread) if self.spread else 0
                    yield self.one(src, self.dst, self.size, start + late)

    def expected(self, setting: Setting) -> float:
        """How many flows that is."""
        return self.rounds * self.flows * len(self._senders(setting))

    def _senders(self, setting: Setting) -> list[HostId]:
        """Host 0 of every rack that sends, then host 1, and so on."""
        return self._possible(setting)[: self.senders]

    def _possible(self, setting: Setting) -> list[HostId]:
        """All hosts that may send, in order."""
        here = self.dst[0]
        racks, per_pod = range(setting.racks), setting.racks_per_pod
        pod = {rack for rack in racks if rack // per_pod == here // per_pod}
        chosen = {
            "others": set(racks) - {here},
            "own": {here},
            "all": set(racks),
            "pod": pod - {here},
            "core": set(racks) - pod,
        }[self.src]
        all_hosts = ((rack, host) for host in range(setting.hosts) for rack in racks)
        return [host for host in all_hosts if host[0] in chosen and host != self.dst]

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        yield from missing_host(self.dst, f"{key}.to", setting.racks, setting.hosts)
        most = len(self._possible(setting))
        if most < (self.senders or 1):
            yield PlanError(
                f'only {most} hosts can send to it (incast.from is "{self.src}")',
                key=f"{key}.senders",
                value=self.senders,
            )
        yield from super().problems(key, setting)
