# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[dfsio]]` table: a job that writes files to HDFS (Etalon'18, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Count
from etalon.plan.workloads.base import FlowClass, Setting, Workload
from etalon.units import KIB, MB, MIB, Duration, Size


class Dfsio(Workload):
    """Tasks that each write a file to HDFS, all at once: the write test of the DFSIO benchmark (simulator only).

    The first replica of a block stays on the writer's host, the second and third go to two hosts of another rack.
    """

    about: ClassVar = "tasks that write files to HDFS, placed by HDFS or by reHDFS (simulator only)"
    writers: Count = 64
    """Number of tasks. Task i runs in rack i modulo the number of racks, on the hosts of each rack in turn."""
    size: Size = 400 * MB
    """Length of each file."""
    block: Size = 128 * MIB
    """Length of a block, by default 128 MiB. Each block is placed anew, and uses its own connections."""
    packet: Size = 64 * KIB
    """Length of the packets that a pipeline's hosts pass on, by default 64 KiB."""
    window: Count = 80
    """Packets that a writer sends ahead of their acknowledgements (dfs.client.write.max-packets-in-flight)."""
    placement: Literal["hdfs", "rehdfs"] = "hdfs"
    """Rack of the second and third replica: with "hdfs" any other at random, with "rehdfs" rack i + 1 for writers of rack
    i."""
    rotate: Duration | None = None
    """With "rehdfs": each time this interval ends, the replicas move to the next rack, i + 2 and so on. By default never."""
    flow_class: FlowClass = Field(default="hdfs", alias="class")
    """Class of the connections."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """No flows: the job opens its own."""
        return iter(())

    def expected(self, setting: Setting) -> float:
        """How many connections the job will open."""
        return 2 * self.writers * -(-self.size // self.block)

    def job(self) -> dict[str, Any]:
        """The job as the core takes it."""
        return {
            "start_ns": self.start,
            "writers": self.writers,
            "file_bytes": self.size,
            "block_bytes": self.block,
            "packet_bytes": self.packet,
            "window_packets": self.window,
            "placement": {"rehdfs": {"rotate_ns": self.rotate}}
            if self.placement == "rehdfs"
            else self.placement,
            **self.carried(),
            "class": self.flow_class,
        }

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this job."""
        if self.connect is not None:
            yield PlanError(
                "a job opens new connections for each block; leave the key out",
                key=f"{key}.connect",
            )
        if self.rotate is not None and self.placement != "rehdfs":
            yield PlanError('only the placement "rehdfs" rotates', key=f"{key}.rotate")
        yield from super().problems(key, setting)
