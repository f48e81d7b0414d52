# SPDX-License-Identifier: MIT OR Apache-2.0
"""Paths of packets through a network of circuits, from its routing tables."""

from __future__ import annotations

import json
from typing import NamedTuple

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.plan import Plan
from etalon.units import shown


class Hop(NamedTuple):
    """A circuit that a packet takes."""

    slice: int
    """The slice, which counts on beyond the end of a cycle."""
    rack: int
    """The rack that it leads to."""
    uplink: int
    """The uplink of the previous rack."""


class Ways:
    """The routing tables of a plan's network of circuits.

        ways = etalon.plan.ways.Ways(plan)
        ways.of(0, 5, slice=3)  # hop by hop

    Raises:
        PlanError: if the plan has another kind of network, or its tables cannot be computed.
    """

    def __init__(self, plan: Plan) -> None:
        net = plan.slices
        if net is None:
            raise PlanError('only a network of kind "ocs" has routing tables', key="network.kind")
        self._net = net
        self._classes = list(plan.routing.classes)
        try:
            self._core = _core.CircuitWays(json.dumps(plan.for_engines()))
        except ValueError as error:
            raise PlanError(str(error)) from None

    @property
    def bytes(self) -> int:
        """Memory of all tables, in bytes."""
        return self._core.bytes()

    def of(
        self, source: int, destination: int, slice: int = 0, label: int = 0, priority: str = "low"
    ) -> list[Hop]:
        """The path of a packet that no queue delays.

        Args:
            source: its first rack.
            destination: its last rack.
            slice: the slice in which it arrives at its first rack.
            label: chooses among several paths, as a flow's hash or a packet's spraying does.
            priority: its class, "low" or "bulk".

        Raises:
            PlanError: if there is no path, or no such class.
        """
        if priority not in self._classes:
            raise PlanError(
                f"there is no class {shown(priority)}, only {' and '.join(self._classes)}"
            )
        number = self._classes.index(priority)
        hops: list[Hop] = []
        slot, here = slice, source
        while len(hops) <= self._net.racks:
            racks = (source, here, destination)
            slices = (slice % self._net.slices, slot % self._net.slices)
            what, where = self._core.next(slices, racks, len(hops), number, label)
            if what == "deliver":
                return hops
            if what == "nowhere":
                break
            if what == "await":
                slot, where = self._met(slot, here, where)
            here = int(self._net.peers[slot % self._net.slices, here, where])
            hops.append(Hop(slot, here, where))
        raise PlanError(
            f"there is no path from rack {source} to rack {destination} from slice {slice} on"
        )

    def _met(self, slot: int, here: int, rack: int) -> tuple[int, int]:
        """The first slice from `slot` on, and the uplink, in which a rack meets another."""
        for later in range(slot, slot + self._net.slices):
            for uplink, peer in enumerate(self._net.peers[later % self._net.slices, here]):
                if peer == rack:
                    return later, uplink
        raise PlanError(f"rack {here} never meets rack {rack}")
