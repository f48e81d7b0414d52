# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper's model comes to: its thirty costs, and the closed form of a run with circuits for every step."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import etalon as et
from etalon.plan import Plan
from etalon.reproduce import Results
from etalon.results import Run

HEADERS = 9014 / 8948
"""Bytes of the wire over bytes of payload, at an MTU of 9000 with time stamps."""


def collective(algorithm: str) -> str:
    """What an algorithm is for."""
    return "all-to-all" if algorithm == "direct" else "all-reduce"


@cache
def costs() -> list[tuple[dict[str, Any], et.CollectiveCost]]:
    """The paper's costs, and ours."""
    rows = tomllib.loads((Path(__file__).parent / "costs.toml").read_text())["costs"]
    return [(row, cost_of(row)) for row in rows]


def cost_of(row: dict[str, Any]) -> et.CollectiveCost:
    """Our cost of a row."""
    name = row["algorithm"]
    return et.collective_cost(
        collective(name),
        name,
        ranks=64,
        size=row["size"],
        rate="800Gbps",
        alpha=f"{row['alpha']}ns",
        delta=f"{row['delta']}ns",
        reconfiguration=f"{row['reconfiguration']}ns",
    )


def costs_with_the_same_changes(results: Results) -> float:
    """How many of the thirty have as many reconfigurations as published."""
    return float(sum(row["changes"] == mine.reconfigurations for row, mine in costs()))


def largest_difference_of_a_cost(results: Results) -> float:
    """Of the thirty, in percent."""
    return max(abs(mine.ns / float(row["ns"]) - 1) * 100 for row, mine in costs())


def closed_form(plan: Plan, changes: int) -> float:
    """What the second iteration of a plan takes by the model, in ns: each step on its own circuits, with headers and a packet
    that a NIC stores and forwards; and the changes."""
    resolved = plan.resolve()
    work = resolved["jobs"][0]["do"][0]["collective"]
    (circuit,) = resolved["network"]["rdcn"]["circuits"]
    rate = circuit["rate_bps"]
    alone = et.collective_cost(
        work["kind"],
        work["algorithm"],
        ranks=resolved["hosts"]["racks"],
        size=f"{work['bytes']}B",
        rate=f"{round(rate / HEADERS)}bps",
        alpha=f"{resolved['hosts']['delay_ns']}ns",
        delta=f"{circuit['delay_ns']}ns",
        reconfiguration="0ns",
        degree=1,
    )
    # Without a cost of changes, every step has its own circuits.
    forwarded = len(alone.steps) * 9014 * 8e9 / rate
    change = float(resolved["schedule"]["asked"]["reconfiguration_ns"])
    return float(alone.every_ns + forwarded + changes * change)


def over_closed_form(run: Run) -> float:
    """How long the second iteration took, in percent of the closed form."""
    last = run.iterations.row(-1, named=True)
    took = float(last["end_ns"] - last["start_ns"])
    return 100 * took / closed_form(run.plan, last["changes"])


def _over(series: str, x: int) -> Callable[[Results], float]:
    return lambda results: over_closed_form(results.run(series, x))


def _changes(series: str, x: int) -> Callable[[Results], float]:
    """Changes of circuits in the first iteration, which finds the ring up."""
    return lambda results: int(results.run(series, x).iterations["changes"][0])


def took(run: Run) -> float:
    """The second iteration, in ns."""
    last = run.iterations.row(-1, named=True)
    return float(last["end_ns"] - last["start_ns"])


def overlapped(name: str, size: int, ranks: int = 64) -> float:
    """How long an all-reduce or all-to-all takes on a static ring if links send while packets are under way, in ns.

    In a step each message goes `far` circuits, and each circuit carries `load` of them: the last packet arrives when its
    circuit has carried all, or when it has passed all of its circuits behind its message, whichever is later.
    """
    return sum(overlapped_step(*step) for step in steps_of(name, size, ranks))


def overlapped_step(far: int, load: float, message: float) -> float:
    """The same of one step."""
    rate, alpha, delta = 800e9, 500, 500
    packet = 9014 * 8e9 / rate
    own = message * HEADERS * 8e9 / rate
    passed, carried = far * (delta + packet) + own, delta + load * own
    # The NIC stores a packet, and so does what is behind the last circuit.
    return alpha + max(passed, carried) + 2 * packet


def steps_of(name: str, size: int, ranks: int) -> list[tuple[int, float, float]]:
    """Circuits that a message goes, messages that a circuit carries, and bytes of a message, step by step."""
    if name == "all-to-all":
        return [(far, far, size / ranks) for far in range(1, ranks)]
    doublings = ranks.bit_length() - 1
    steps: list[tuple[int, float, float]] = []
    for step in range(doublings):
        far = 2**step if name == "cyclic" else abs(1 - (-2) ** (step + 1)) // 3
        # Swing's ring leads both ways, and only every other rank sends each way.
        load = far if name == "cyclic" else (far + 1) / 2
        steps.append((far, load, size / 2 ** (step + 1)))
    return steps + steps[::-1]


def _static(name: str, x: int) -> Callable[[Results], float]:
    """A static ring over the form in which hops overlap, in percent."""
    return lambda results: (
        100 * took(results.run(f"static-{name}-64", x)) / overlapped(name, x * 1024)
    )


def _ratio(name: str, change: str, x: int) -> Callable[[Results], float]:
    """How many times as long a static ring takes as the schedule of Harvest's program."""

    def measure(results: Results) -> float:
        static = took(results.run(f"static-{name}-64", x))
        return static / took(results.run(f"harvest-{name}-64-{change}", x))

    return measure


SIZES = (4096, 16384, 65536)
SMALL = (64, 256, 1024)
POINTS = [
    *(
        (f"{name}-{n}", x)
        for name in ("cyclic", "swing", "all-to-all")
        for n in (16, 64)
        for x in SIZES
    ),
    *((f"{name}-64-small", x) for name in ("cyclic", "swing", "all-to-all") for x in SMALL),
    *((f"ring-{n}", x) for n in (16, 64) for x in SIZES),
]
for _name, _x in POINTS:
    globals()[f"time_{_name}_{_x}".replace("-", "_")] = _over(_name, _x)
    globals()[f"changes_{_name}_{_x}".replace("-", "_")] = _changes(_name, _x)
for _name in ("cyclic", "swing", "all-to-all"):
    for _x in (1024, 4096, 16384):
        globals()[f"static_{_name}_{_x}".replace("-", "_")] = _static(_name, _x)
    for _change in ("1us", "10us", "100us"):
        for _x in (1024, 4096, 16384):
            _measure = f"ratio_{_name}_{_change}_{_x}".replace("-", "_")
            globals()[_measure] = _ratio(_name, _change, _x)
