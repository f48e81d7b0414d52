# SPDX-License-Identifier: MIT OR Apache-2.0
"""Table I of the paper, computed from its RTTs, and the two values of it that contradict its equations."""

from __future__ import annotations

from dataclasses import dataclass

from etalon.plan.otcp import equations
from etalon.plan.otcp.equations import PathInputs

RATE_BPS = 1_000_000_000
QUEUE_BYTES = 60 * 1500
"""60 packets of 1500 B at each egress (section IV.B)."""
LAYERS = {"ToR": (629_000, 2), "Agg": (1_485_000, 6), "Core": (5_571_000, 10)}
"""Measured RTT in ns, and the switches' egress queues there and back."""
PRINTED = {
    "ToR": (1.0, 2.069, 4.0, 49.0, 1.0),
    "Agg": (2.0, 5.805, 12.0, 127.0, 2.0),
    "Core": (6.0, 12.771, 25.0, 476.0, 5.0),
}
COLUMNS = ("RTOmin (ms)", "RTOmax (ms)", "RTOinit (ms)", "CWNDmax (MSS)", "IW (MSS)")
WHY = {
    (
        "ToR",
        "CWNDmax (MSS)",
    ): "629 us x 1 Gb/s / 1460 B = 53.85 (equations 3, 4); no rounding or header size gives 49",
    (
        "Core",
        "RTOinit (ms)",
    ): "2 x 12.771 = 25.54; the Agg's 2 x 5.805 = 11.61 became 12: no one rounding gives 4, 12 and 25",
}
"""Why a printed value is not what the paper's equations give."""


@dataclass(frozen=True)
class Cell:
    """A value of the table: computed, printed in the paper, and why they differ if they do."""

    layer: str
    column: str
    computed: float
    printed: float
    why: str


def cells() -> list[Cell]:
    """The 15 computed values."""
    found = []
    for layer, (rtt_ns, queues) in LAYERS.items():
        drain_ns = QUEUE_BYTES * 8 * 1_000_000_000 // RATE_BPS
        inputs = PathInputs(rtt_ns, queues * drain_ns, RATE_BPS, RATE_BPS)
        result = equations.compute(inputs)
        values = (
            result.rto_min_ns / 1e6,
            result.rto_max_ns / 1e6,
            float(round(result.rto_init_ns / 1e6)),  # the table has whole milliseconds
            float(result.max_cwnd),
            float(result.initial_cwnd),
        )
        for column, value, printed in zip(COLUMNS, values, PRINTED[layer], strict=True):
            found.append(Cell(layer, column, value, printed, WHY.get((layer, column), "")))
    return found
