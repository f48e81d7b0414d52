# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rotor switches, that change together (RotorNet) or one after the other (Opera)."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal

from etalon import circuits
from etalon.circuits import Circuits
from etalon.plan.network import Ocs
from etalon.plan.schedules.rotation import Rotation


class Rotor(Rotation):
    """Random matchings dealt to the circuit switches, which change together: each rack meets each other once in a cycle
    (RotorNet, SIGCOMM 2017)."""

    about: ClassVar = (
        "circuit switches share the matchings of all racks and change together: RotorNet's"
    )
    which: ClassVar = 'of kind "rotor"'
    kind: Literal["rotor"] = "rotor"
    """Switches step through matchings, all at the same time."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """Who meets whom."""
        return circuits.rotor(network.racks, network.circuits.switches, seed)


class Opera(Rotation):
    """The same, but one circuit switch after the other changes, so that the others are there all the time (Opera, NSDI 2020).
    Drawn until racks reach each other in every slice."""

    about: ClassVar = "the same, but switches change one after the other: Opera's"
    which: ClassVar = 'of kind "opera"'
    kind: Literal["opera"] = "opera"
    """Switches step through matchings, one after the other."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """Who meets whom."""
        return _opera(network.racks, network.circuits.switches, seed)


@lru_cache(maxsize=4)
def _opera(racks: int, switches: int, seed: int) -> Circuits:
    """A sweep's plans have the same, which takes long to draw. Nobody changes it."""
    made = circuits.opera(racks, switches, seed)
    made.peers.setflags(write=False)
    return made
