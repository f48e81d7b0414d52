# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[flow]]` table: one flow of a given size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.workloads.base import Host, Setting, Workload, missing_host, write_host
from etalon.units import Size


class Flow(Workload):
    """One flow of a given size."""

    about: ClassVar = "one flow of a given size between two hosts, with its completion time"
    src: Host = Field(alias="from")
    """Sending host: rack and number."""
    dst: Host = Field(alias="to")
    """Receiving host. Traffic within a rack crosses only its ToR switch."""
    size: Size
    """Payload to send."""

    @property
    def racks(self) -> tuple[int, int]:
        """Source and destination rack."""
        return self.src[0], self.dst[0]

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flow as the core takes it."""
        yield self.one(self.src, self.dst, self.size)

    def expected(self, setting: Setting) -> float:
        """One."""
        return 1

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this flow in a network of this size."""
        yield from missing_host(self.src, f"{key}.from", setting.racks, setting.hosts)
        yield from missing_host(self.dst, f"{key}.to", setting.racks, setting.hosts)
        if self.src == self.dst:
            yield PlanError(f"host {write_host(self.src)} would send to itself", key=f"{key}.to")
        yield from super().problems(key, setting)
