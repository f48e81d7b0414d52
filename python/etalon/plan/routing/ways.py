# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kinds of routing. A new one is a class in a file of its own and a line here."""

from __future__ import annotations

from etalon.custom.source import MARK
from etalon.plan.base import Kinds
from etalon.plan.routing.direct import Direct
from etalon.plan.routing.expanded import Earliest, Ucmp
from etalon.plan.routing.given import Given
from etalon.plan.routing.packet import Packet
from etalon.plan.routing.paths import Expander, Ksp
from etalon.plan.routing.rotorlb import RotorLb
from etalon.plan.routing.shortest import Shortest
from etalon.plan.routing.vlb import Vlb
from etalon.plan.routing.written import Written
from etalon.plan.written import WRITTEN

WAYS = Kinds(
    "direct",
    {
        "direct": Direct,
        "vlb": Vlb,
        "expander": Expander,
        "ksp": Ksp,
        "shortest": Shortest,
        "earliest": Earliest,
        "ucmp": Ucmp,
        "packet": Packet,
        "table": Given,
        "rotorlb": RotorLb,
        WRITTEN: Written,
    },
    also={
        "valiant": "vlb",
        "opera": "expander",
        "hoho": "earliest",
        "ecmp": "ksp",
        "time-flow": "table",
    },
    marks={MARK: WRITTEN},
)
