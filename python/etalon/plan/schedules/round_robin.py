# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rounds of a tournament as a schedule."""

from __future__ import annotations

from typing import ClassVar, Literal

from etalon import circuits
from etalon.circuits import Circuits
from etalon.plan.network import Ocs
from etalon.plan.schedules.rotation import Rotation


class RoundRobin(Rotation):
    """Matchings in which each rack meets each other rack once; each switch goes through all of them."""

    about: ClassVar = (
        "all switches go through the rounds of a tournament, evenly spaced; nothing is random"
    )
    which: ClassVar = 'of kind "round-robin"'
    kind: Literal["round-robin"] = "round-robin"
    """Each switch goes through all matchings, in which no rack is alone; the number of racks must be even."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """Who meets whom."""
        return circuits.round_robin(network.racks, network.circuits.switches)
