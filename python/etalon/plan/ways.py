"""Ways of packets through a network of circuits, as its routing tables have them."""

from __future__ import annotations

import json
from typing import NamedTuple

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.plan import Plan


class Hop(NamedTuple):
    """A circuit that a packet takes."""

    slice: int
    """In which slice, counted on beyond the end of a cycle."""
    rack: int
    """Where it leads."""
    uplink: int
    """Which uplink of the rack before."""


class Ways:
    """The routing tables of a plan's network of circuits.

        ways = etalon.ways(plan)
        ways.of(0, 5, slice=3)  # hop by hop

    Raises:
        PlanError: if it has none, or tables cannot be made.
    """

    def __init__(self, plan: Plan) -> None:
        net = plan.slices
        if net is None:
            raise PlanError('only a network of kind "ocs" has ways', key="network.kind")
        self._net = net
        self._classes = list(plan.routing.classes)
        try:
            self._core = _core.CircuitWays(json.dumps(plan.resolve()))
        except ValueError as error:
            raise PlanError(str(error)) from None

    @property
    def bytes(self) -> int:
        """Bytes of all tables."""
        return self._core.bytes()

    def of(
        self, source: int, destination: int, slice: int = 0, label: int = 0, priority: str = "low"
    ) -> list[Hop]:
        """The way of a packet that comes to its rack in a slice, if no queue holds it up; of several that of its
        label.

        Raises:
            PlanError: if it has none.
        """
        if priority not in self._classes:
            raise PlanError(f"there is no class {priority!r}, but {' and '.join(self._classes)}")
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
        raise PlanError(f"rack {source} has no way to rack {destination} from slice {slice} on")

    def _met(self, slot: int, here: int, rack: int) -> tuple[int, int]:
        """The first slice from `slot` on, and the uplink, in which a rack meets another."""
        for later in range(slot, slot + self._net.slices):
            for uplink, peer in enumerate(self._net.peers[later % self._net.slices, here]):
                if peer == rack:
                    return later, uplink
        raise PlanError(f"rack {here} never meets rack {rack}")
