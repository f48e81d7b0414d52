# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schedulers take a demand matrix and compute a week of circuits.

    week = etalon.schedulers.compute("solstice", demand, window="2ms")
    week.configurations, week.served.sum() / demand.sum(), week.idle

Demand is a square matrix of bytes, with a row for each source rack; NumPy must be able to make an array of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from etalon import _core
from etalon.custom import source
from etalon.custom.capture import capture
from etalon.custom.scheduler import Function, Scheduler, Scheduling
from etalon.errors import PlanError
from etalon.units import RATE, SIZE, TIME

Matrix = NDArray[np.uint64]

MOST_RACKS = 1024


@dataclass(frozen=True, eq=False)
class Week:
    """A week that a scheduler computed for a demand."""

    scheduler: str
    demand: Matrix
    """Bytes, by source and then by destination rack."""
    configurations: tuple[Mapping[str, Any], ...]
    """In order: `sources` (per destination its source rack, -1 for none), `day_ns`, `night_ns`."""
    served: Matrix
    """Bytes that circuits carry in this week, if all demand is there when it starts. What is left goes by packets."""
    circuit_bps: int
    """The rate of a circuit."""
    idle_ns: int
    """Time in which racks' circuit transmitters have nothing to send or no circuit, summed over all racks."""
    took_ns: int
    """What the computation took, on the clock of this machine."""

    @property
    def length_ns(self) -> int:
        """Length of the week: all days and nights."""
        return sum(c["day_ns"] + c["night_ns"] for c in self.configurations)

    @property
    def idle(self) -> float:
        """The share of idle time, 0 to 1."""
        return self.idle_ns / (self.length_ns * len(self.demand))


def names() -> dict[str, str]:
    """The names of all schedulers, with a line about each."""
    return dict(_core.schedulers())


def compute(
    scheduler: str | Scheduler | Function,
    demand: ArrayLike,
    *,
    window: str = "2ms",
    day: str = "180us",
    night: str = "20us",
    circuit: str = "80Gbps",
    packet: str = "10Gbps",
    threshold: str = "1MB",
    only_big: bool = False,
    seed: int = 1,
) -> Week:
    """The week that `scheduler` computes for `demand`: one of `names`, or a function of yours (`etalon.scheduler`).

    The week lasts `window`; its days last `day` or longer, each followed by a `night`. `circuit` and `packet` are the
    rates of a rack's links. Solstice leaves demand below `threshold` to the packet network if there is demand above, or
    always if `only_big`. Rows and columns may have any sum. A function keeps its own times, up to `window`.

    Raises:
        PlanError: if there is no such scheduler, the demand is no square matrix of whole bytes with an empty diagonal,
            or the window has no room for a day and its night.
    """
    matrix = checked(demand)
    if not isinstance(scheduler, str) or source.is_reference(scheduler):
        facts = {
            "window_ns": TIME.read(window),
            "day_ns": TIME.read(day),
            "night_ns": TIME.read(night),
            "circuit_bps": RATE.read(circuit),
            "packet_bps": RATE.read(packet),
        }
        return _by_function(scheduler, matrix, seed, facts)
    if scheduler not in names() or scheduler == "fixed":
        there = ", ".join(name for name in names() if name != "fixed")
        raise PlanError(f'no scheduler "{scheduler}" computes weeks; there are {there}')
    try:
        answer = _core.compute_week(
            scheduler,
            matrix,
            window_ns=TIME.read(window),
            min_day_ns=TIME.read(day),
            night_ns=TIME.read(night),
            circuit_bps=RATE.read(circuit),
            packet_bps=RATE.read(packet),
            threshold_bytes=SIZE.read(threshold),
            only_big=only_big,
            seed=seed,
        )
    except ValueError as error:
        raise PlanError(str(error)) from None
    return Week(
        scheduler=scheduler,
        demand=matrix,
        configurations=tuple(answer["configurations"]),
        served=np.array(answer["served_bytes"], dtype=np.uint64).reshape(matrix.shape),
        circuit_bps=RATE.read(circuit),
        idle_ns=answer["idle_ns"],
        took_ns=answer["took_ns"],
    )


def _by_function(
    function: str | Scheduler | Function, matrix: Matrix, seed: int, facts: Mapping[str, int]
) -> Week:
    """The week that the user's function computes."""
    given = function if isinstance(function, str) else capture(function)
    reference, texts = source.read(given, Path(), "scheduler")
    source.allow(texts.values())  # whoever calls it names it
    computing = Scheduling(reference, texts, seed, facts)
    begin = time.perf_counter_ns()
    days = computing(0, matrix)
    took = time.perf_counter_ns() - begin
    answer = _core.serve_week(matrix, days, facts["circuit_bps"])
    return Week(
        scheduler=computing.name,
        demand=matrix,
        configurations=tuple(
            {"sources": sources, "day_ns": day, "night_ns": night} for sources, day, night in days
        ),
        served=np.array(answer["served_bytes"], dtype=np.uint64).reshape(matrix.shape),
        circuit_bps=facts["circuit_bps"],
        idle_ns=answer["idle_ns"],
        took_ns=took,
    )


def maximum_matching(matrix: ArrayLike, threshold: int = 1) -> NDArray[np.int32]:
    """A matching of as many entries as possible that are `threshold` or more: the column of each row, -1 for none.

    Hopcroft and Karp (SIAM J. Comput. 2(4), 1973).
    """
    return np.array(_core.maximum_matching(_whole(matrix), threshold), dtype=np.int32)


def heaviest_matching(matrix: ArrayLike) -> NDArray[np.int32]:
    """The assignment of largest sum: the column of each row. Kuhn (1955), Munkres (1957)."""
    return np.array(_core.heaviest_matching(_whole(matrix)), dtype=np.int32)


def checked(demand: ArrayLike) -> Matrix:
    """A demand matrix as the core takes it; `PlanError` if it is not one."""
    matrix = _whole(demand)
    racks = len(matrix)
    if not 2 <= racks <= MOST_RACKS:
        raise PlanError(f"a demand matrix is for 2 to {MOST_RACKS} racks, this has {racks}")
    own = np.flatnonzero(np.diagonal(matrix))
    if len(own):
        raise PlanError(
            f"rack {own[0]} has demand for itself: the diagonal of a demand matrix is zero"
        )
    return matrix


def _whole(values: ArrayLike) -> Matrix:
    try:
        array = np.asarray(values)
    except ValueError:
        raise PlanError("the demand matrix is not square: its rows differ in length") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        shape = " x ".join(map(str, array.shape)) or "a single number"
        raise PlanError(f"the demand matrix is not square: it is {shape}")
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise PlanError("the demand matrix must hold numbers of bytes")
    for row, column in np.argwhere(array < 0)[:1]:
        raise PlanError(
            f"the demand from rack {row} to rack {column} is {array[row, column]}: demand is never negative"
        )
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        row, column = np.argwhere(array != np.floor(array))[0]
        raise PlanError(
            f"the demand from rack {row} to rack {column} is {array[row, column]}: it must be whole bytes"
        )
    for row, column in np.argwhere(array >= 2**63)[:1]:
        raise PlanError(
            f"the demand from rack {row} to rack {column} is {array[row, column]}: it must be below 2^63 bytes"
        )
    return np.ascontiguousarray(array, dtype=np.uint64)
