# SPDX-License-Identifier: MIT OR Apache-2.0
"""What schedules of circuit switches share: who meets whom, slice by slice, as a rotation for each switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.network import Network, Ocs
from etalon.plan.schedules.base import Schedule
from etalon.units import TIME, US, Duration, Time, shown

SHORTEST_SLICE = 50
"""In ns."""
MOST_SLICES = 1 << 16
"""Of a cycle."""


class Rotation(Schedule):
    """Circuit switches that go through their matchings. Only for networks of kind "ocs"."""

    for_circuit_switches: ClassVar = True
    aside: ClassVar = (
        ', which is for networks of kind "ocs"; on a network with one circuit switch it is "strobe"'
    )
    slice: Duration = 100 * US
    """Time from one change of a matching to the next, the night included."""
    night: Time = 10 * US
    """Reconfiguration time of a circuit switch, at the end of a slice."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """Who meets whom. Racks that are more than the network has are relays. Raises `PlanError`."""
        raise NotImplementedError

    def wrong(self, network: Ocs) -> Iterator[PlanError]:
        """What is wrong with the keys."""
        yield from ()

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """None: each circuit switch has a schedule of its own."""
        return None

    def problems(self, network: Network) -> Iterator[PlanError]:
        """That it is for another kind of network."""
        yield PlanError(
            f'{shown(self.kind)} is for networks of kind "ocs"; one of kind {shown(network.kind)} has one circuit switch: take '
            f'"strobe"',
            key="schedule.kind",
            value=self.kind,
        )

    def wrong_times(self, network: Ocs) -> Iterator[PlanError]:
        """What is wrong with slices and nights."""
        if self.slice < SHORTEST_SLICE:
            yield PlanError(
                f"{TIME.format(self.slice)} is too short: slices are {SHORTEST_SLICE}ns at least",
                key="schedule.slice",
            )
        if self.night >= self.slice:
            yield PlanError(
                f"{TIME.format(self.night)} leaves nothing of a slice of {TIME.format(self.slice)}",
                key="schedule.night",
            )
        elif 2 * network.guard >= self.slice - self.night:
            yield PlanError(
                f"guard bands of {TIME.format(network.guard)} leave nothing of a day of {TIME.format(self.slice - self.night)}",
                key="network.guard",
            )
        yield from self.wrong(network)

    def uplinks(self, network: Ocs, net: Circuits) -> list[dict[str, Any]]:
        """The circuit switches as the core takes them."""
        link = {"rate_bps": network.circuits.rate, "delay_ns": network.circuits.delay}
        return [
            {**link, **self._rotation(net.peers[:, :, switch])} for switch in range(net.switches)
        ]

    def _rotation(self, peers: NDArray[np.int32]) -> dict[str, Any]:
        """Of one switch: a configuration for as long as its matching stays; it begins with the first change."""
        slices = len(peers)
        changed = np.flatnonzero((peers != np.roll(peers, 1, axis=0)).any(axis=1)).tolist()
        night = self.night if changed else 0
        starts = changed or [0]
        ends = [*starts[1:], starts[0] + slices]
        return {
            "offset_ns": starts[0] * self.slice,
            "rotation": [
                {
                    "sources": _sources(peers[start]),
                    "day_ns": (end - start) * self.slice - night,
                    "night_ns": night,
                }
                for start, end in zip(starts, ends, strict=True)
            ],
        }


def _sources(row: NDArray[np.int32]) -> list[int]:
    """For each rack the one whose uplink leads to it; -1 for none, as where a matching leaves a rack alone."""
    racks = np.arange(len(row))
    there = (row >= 0) & (row != racks)
    sources = np.full(len(row), -1)
    sources[row[there]] = racks[there]
    return [int(source) for source in sources]
