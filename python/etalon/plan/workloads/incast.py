"""The `[[incast]]` table: many send to one at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Count
from etalon.plan.workloads.base import Host, HostId, Setting, Workload, missing_host
from etalon.units import MS, Duration, Size


class Incast(Workload):
    """Several hosts of other racks send to one host at the same time, once or again and again."""

    about: ClassVar = "many hosts send to one at the same time"
    dst: Host = Field(alias="to")
    """The receiving host."""
    size: Size
    """Payload that each sends."""
    senders: Count | None = None
    """How many: host 0 of every other rack, then host 1, and so on. Without it, all hosts of other racks."""
    rounds: Count = 1
    """How often."""
    interval: Duration = 10 * MS
    """From the start of one round to that of the next."""

    @property
    def racks(self) -> tuple[int, int]:
        """From the first sender's rack to the receiver's."""
        return int(self.dst[0] == 0), self.dst[0]

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, round by round."""
        senders = self._senders(setting.racks, setting.hosts)
        for number in range(self.rounds):
            for src in senders:
                yield self.one(src, self.dst, self.size, self.start + number * self.interval)

    def expected(self, setting: Setting) -> float:
        """How many flows that is."""
        return self.rounds * len(self._senders(setting.racks, setting.hosts))

    def _senders(self, racks: int, hosts: int) -> list[HostId]:
        """Host 0 of every rack but the receiver's, then host 1, and so on."""
        others = [
            (rack, host) for host in range(hosts) for rack in range(racks) if rack != self.dst[0]
        ]
        return others if self.senders is None else others[: self.senders]

    def problems(self, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
        """What is wrong with this workload in a network of this size."""
        yield from missing_host(self.dst, f"{key}.to", racks, hosts)
        most = (racks - 1) * hosts
        if self.senders is not None and self.senders > most:
            yield PlanError(
                f"other racks have only {most} hosts", key=f"{key}.senders", value=self.senders
            )
        yield from super().problems(key, racks, hosts)
