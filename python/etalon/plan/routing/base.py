# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all kinds of routing share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from etalon.circuits import NO_WAY, Circuits
from etalon.errors import PlanError
from etalon.plan.base import Table

CYCLES = 3
"""Cycles of a schedule that tables of paths over several slices look through."""


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


def out_of_reach(
    key: str, net: Circuits, racks: int, most: int | None, per_slice: int
) -> Iterator[PlanError]:
    """Racks without a path over the circuits of several slices, or whose shortest has more hops than `most`, or than tables
    find."""
    apart = _apart(net, racks)
    far = int(apart.max())
    here, there = (int(place[0]) for place in np.nonzero(apart == far))
    away = f"rack {here} is {far} circuits away from rack {there}"
    if far == NO_WAY:
        yield PlanError(
            f"rack {here} never reaches rack {there}: use another schedule, or more uplinks",
            key=key,
        )
    elif most is not None and far > most:
        yield PlanError(
            f"{away}, and paths have {most} hops at most: raise it, or use another routing",
            key=f"{key}.hops",
        )
    elif far > CYCLES * net.slices * per_slice:
        yield PlanError(
            f"{away}, too far for {per_slice} hops in a slice: raise it, or use another routing",
            key=f"{key}.hops_per_slice",
        )


def _apart(net: Circuits, racks: int) -> NDArray[np.uint8]:
    """Circuits between racks, whatever the slices of the circuits; `NO_WAY` if there is no path."""
    met = net.meetings() > 0
    np.fill_diagonal(met, True)
    apart = np.where(met, 1, NO_WAY).astype(np.uint8)
    np.fill_diagonal(apart, 0)
    reached, links = met.astype(np.float32), met.astype(np.float32)
    for hops in range(2, NO_WAY):
        if not (apart[:racks, :racks] == NO_WAY).any():
            break
        after = (reached @ links > 0).astype(np.float32)
        if np.array_equal(after, reached):
            break
        apart[(after > 0) & (apart == NO_WAY)] = hops
        reached = after
    return apart[:racks, :racks]


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
