# SPDX-License-Identifier: MIT OR Apache-2.0
"""What two planes of circuits gain over one, and, where a change takes long, rings that carry several steps."""

from pathlib import Path
from typing import Any

import etalon as et

BASE = et.Plan.load(Path(__file__).with_name("planes.toml"))
ONE = {"network.circuits.switches": 1}


def turns(*distances: int) -> list[dict[str, Any]]:
    """For each step its circuits, and those of the next step, to which the other plane changes meanwhile (SWOT)."""
    rings = [[[rank, (rank + far) % 8] for rank in range(8)] for far in distances]
    after = [*rings[1:], rings[0]]
    both = [one if one == other else one + other for one, other in zip(rings, after, strict=True)]
    return [{"step": step, "circuits": circuits} for step, circuits in enumerate(both)]


def all_to_all(**keys: Any) -> dict[str, Any]:
    """An all-to-all among nine."""
    return {"network.racks": 9, "job.do": [{"all_to_all": "9MiB", **keys}]}


def bruck(circuits: str) -> dict[str, Any]:
    """An all-to-all among sixteen, on one plane, where a change takes 200 us."""
    keys = {"network.racks": 16, "schedule.reconfiguration": "200us", "job.circuits": circuits}
    return ONE | keys | {"job.do": [{"all_to_all": "4MiB", "algorithm": "bruck"}]}


CHANGES: dict[str, dict[str, Any]] = {
    "all-reduce, 8 ranks: one plane": ONE,
    "two planes take turns (SWOT)": {"job.circuits": turns(1, 2, 4, 4, 2, 1)},
    "messages split over two planes (SWOT)": {},
    "all-to-all, 9 ranks: one plane, Bruck": ONE | all_to_all(algorithm="bruck", radix=3),
    "two planes, both ways at once (ReTri)": all_to_all(algorithm="ternary"),
    "all-to-all, 16 ranks: one ring": bruck("none"),
    "circuits of each step": bruck("each"),
    "rings that carry two steps (Bridge)": bruck("plan"),
}
for name, changes in CHANGES.items():
    row = et.run(BASE.replace(changes)).iterations.row(-1, named=True)
    took, dark = (row["end_ns"] - row["start_ns"]) / 1000, row["dark_ns"] / 1000
    print(f"{name:40} {took:7.1f} us an iteration, {dark:4.1f} us of changes")
