# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shortest paths, hop by hop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from etalon.circuits import NO_WAY, Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way


class Shortest(Way):
    """Each rack sends a packet over the fewest circuits that are up, whichever uplink they are on; a flow's hash chooses among
    equal next racks (ECMP). Where there is no way, packets wait for a circuit to their destination."""

    which: ClassVar = 'of kind "shortest"'
    about: ClassVar = "the fewest circuits, hop by hop; parallel circuits share their packets"
    kind: Literal["shortest"] = "shortest"
    """The fewest circuits, hop by hop."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return "shortest"

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that neither reach nor meet each other."""
        whole = Circuits(net.name, net.peers, (None,) * net.slices)
        lost = whole.hops()[:, :racks, :racks] == NO_WAY
        lost &= net.meetings()[:racks, :racks] == 0
        if lost.any():
            slot, here, there = (int(place[0]) for place in np.nonzero(lost))
            yield PlanError(
                f"rack {here} does not reach rack {there} in slice {slot}, nor does it ever meet it",
                key=key,
            )
