# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kinds of schedule that are not computed from demand. A new one is a class in a file of its own and a line here."""

from __future__ import annotations

from etalon.plan.schedules.asked import Asked
from etalon.plan.schedules.base import Schedule
from etalon.plan.schedules.fixed import Fixed
from etalon.plan.schedules.none import NoCircuits
from etalon.plan.schedules.rotor import Opera, Rotor
from etalon.plan.schedules.round_robin import RoundRobin
from etalon.plan.schedules.shale import Shale
from etalon.plan.schedules.slices import Listed
from etalon.plan.schedules.static import Static
from etalon.plan.schedules.strobe import Strobe
from etalon.plan.schedules.tournament import Tournament

RULES: dict[str, type[Schedule]] = {
    "strobe": Strobe,
    "tournament": Tournament,
    "fixed": Fixed,
    "none": NoCircuits,
    "asked": Asked,
    "rotor": Rotor,
    "opera": Opera,
    "shale": Shale,
    "round-robin": RoundRobin,
    "static": Static,
    "file": Listed,
}
"""By the name that plans call them."""
