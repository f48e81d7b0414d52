# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all kinds of routing share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from etalon.circuits import NO_WAY, Circuits
from etalon.errors import PlanError
from etalon.plan.base import Table


class Way(Table):
    """How packets of a class find their way."""

    kind: str
    about: ClassVar[str] = ""
    """A line for `etalon list routings`."""
    needs_packet_network: ClassVar[bool] = False

    def resolve(self) -> Any:
        """As the core takes it."""
        raise NotImplementedError

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """What is wrong with it in this network, of which the first `racks` have hosts."""
        yield from ()


def never_met(key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
    """Pairs of racks that never have a circuit, under a routing that needs one for each pair."""
    met = net.meetings()[:racks, :racks] > 0
    np.fill_diagonal(met, True)
    if not met.all():
        here, there = (int(place[0]) for place in np.nonzero(~met))
        yield PlanError(
            f"racks {here} and {there} never have a circuit, but this routing needs one for each pair: use a "
            "schedule in which all racks meet, or another routing",
            key=key,
        )


def cut_off(key: str, net: Circuits, racks: int, staying: bool) -> Iterator[PlanError]:
    """Racks that do not reach each other within a slice; over circuits that stay to its end, if `staying`."""
    if staying and net.slices > 1 and None in net.ending:
        slot = net.ending.index(None)
        if not np.array_equal(net.peers[slot], net.peers[(slot + 1) % net.slices]):
            yield PlanError(
                f"several switches change at the end of slice {slot}, so that too little stays: "
                'take a schedule in which they change one after the other, or routing of kind "ksp"',
                key=key,
            )
            return
    whole = net if staying else Circuits(net.name, net.peers, (None,) * net.slices)
    hops = whole.hops()[:, :racks, :racks]
    if (hops == NO_WAY).any():
        slot, here, there = (int(place[0]) for place in np.nonzero(hops == NO_WAY))
        yield PlanError(
            f"rack {here} does not reach rack {there} within slice {slot}: use more uplinks, or another routing",
            key=key,
        )
