# SPDX-License-Identifier: MIT OR Apache-2.0
"""The cost of collectives over circuits that change between steps, by Harvest's model (arXiv 2602.09188), and the best plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from etalon import _core
from etalon.errors import PlanError
from etalon.units import shown

Links: TypeAlias = tuple[tuple[int, int, int], ...]
"""Circuits of a step: source rank, destination rank, number of parallel circuits."""

MOST_RANKS = 1024


@dataclass(frozen=True)
class StepCost:
    """A step of a collective in a plan."""

    step: int
    """From 0 on."""
    topology: Links
    """Its circuits."""
    stretch: float
    """1/theta: the messages' time relative to circuits of their own."""
    ns: float
    """Duration of the step."""
    changed: bool
    """Whether circuits change before it."""


@dataclass(frozen=True)
class CollectiveCost:
    """The cheapest plan of circuits for a collective."""

    ns: float
    """Total time, reconfigurations included."""
    reconfigurations: int
    """Number of reconfigurations; the first circuits cost none."""
    steps: tuple[StepCost, ...]
    """Each step with its circuits."""
    static_ns: float
    """Time with the ring alone; infinite if it does not reach all ranks."""
    every_ns: float
    """Time with new circuits for each step whose messages have other destinations than before."""


def collective_cost(
    collective: str,
    algorithm: str,
    *,
    ranks: int,
    size: int,
    rate: int,
    alpha: float,
    delta: float,
    reconfiguration: float,
    degree: Literal[1, 2] | None = None,
) -> CollectiveCost:
    """The cheapest plan, in which circuits stay for one or more steps and change in between (Harvest, sections 3 and 4).

    A step takes alpha + (delta + 8 bytes / rate) / theta, where theta is the largest share of all its messages that circuits
    carry at once, over shortest paths. A dynamic program over steps and topologies minimises the sum. Topologies are the rings
    u -> u + s (of degree 2: both ways), and each step's own.

    Args:
        collective: such as "all-reduce".
        algorithm: such as "swing" (`etalon list collectives`).
        ranks: number of ranks.
        size: length of the vector, or of all blocks of a rank, in bytes.
        rate: rate of a circuit, in bit/s.
        alpha: fixed time of a message, in ns.
        delta: propagation delay of a circuit, in ns.
        reconfiguration: time of a change of circuits, in ns.
        degree: circuits of a rank each way; by default 2 for swing, else 1.

    Raises:
        PlanError: for an unknown collective or algorithm, or a value out of bounds.
    """
    links = degree or (2 if algorithm == "swing" else 1)
    if not 2 <= ranks <= MOST_RANKS:
        raise PlanError(f"{shown(ranks)} must be 2 to {MOST_RANKS}", key="ranks", value=ranks)
    for key, value in (("size", size), ("rate", rate)):
        if value <= 0:
            raise PlanError(f"{shown(value)} must be above 0", key=key, value=value)
    model = _Model(_steps(collective, algorithm, ranks, size), ranks, links, rate, alpha, delta)
    times, own_at = model.times, model.own_at
    planned = model.planned(reconfiguration)
    changes = sum(step.changed for step in planned)
    own_changes = sum(a != b for a, b in pairwise(own_at))
    return CollectiveCost(
        ns=float(sum(step.ns for step in planned) + changes * reconfiguration),
        reconfigurations=changes,
        steps=tuple(planned),
        static_ns=float(times[:, 0].sum()),
        every_ns=float(times[range(len(own_at)), own_at].sum() + own_changes * reconfiguration),
    )


def cheapest(
    steps: Sequence[Sequence[tuple[int, int, int]]],
    *,
    racks: int,
    degree: int,
    rate: int,
    alpha: float,
    delta: float,
    reconfiguration: float,
) -> list[StepCost]:
    """The cheapest plan for given steps, each a list of messages: source, destination, bytes. Other arguments as in
    `collective_cost`. Raises `PlanError` for a step in which a rack sends, or receives, two messages."""
    demands = [_demand(messages, f"step {number + 1}") for number, messages in enumerate(steps)]
    if not demands:
        return []
    return _Model(demands, racks, degree, rate, alpha, delta).planned(reconfiguration)


class _Model:
    """How long each step takes on each topology."""

    def __init__(
        self, steps: list[_Demand], ranks: int, degree: int, rate: int, alpha: float, delta: float
    ) -> None:
        self._topologies, self.own_at = _topologies(steps, ranks, degree)
        """`own_at`: for each step, the place of its own topology."""
        self._stretches = _stretches(steps, self._topologies)
        # A message is cut into as many chunks as there are links; 8e9 bits a second are a byte a ns.
        longest = np.array([step.longest for step in steps], float)
        once = delta + longest / degree * 8e9 / rate
        self.times: NDArray[np.float64] = alpha + once[:, None] * self._stretches
        """By step and topology, in ns."""

    def planned(self, reconfiguration: float) -> list[StepCost]:
        """The cheapest plan."""
        chosen = _cheapest(self.times, reconfiguration)
        planned = []
        for step, at in enumerate(chosen):
            changed = step > 0 and chosen[step - 1] != at
            stretch, ns = float(self._stretches[step, at]), float(self.times[step, at])
            planned.append(StepCost(step, self._topologies[at].links, stretch, ns, changed))
        return planned


def _topologies(
    steps: list[_Demand], ranks: int, degree: int
) -> tuple[list[_Ring | _Own], list[int]]:
    """Rings, that of neighbours first, and each step's own; and where each step's own is."""
    known: dict[Links, int] = {}
    topologies: list[_Ring | _Own] = []
    own_at = []
    every: list[_Ring | _Own] = [_Ring(ranks, shift, degree) for shift in range(1, ranks)]
    every += [_Own(ranks, step, degree) for step in steps]
    for number, topology in enumerate(every):
        if topology.links not in known:
            known[topology.links] = len(topologies)
            topologies.append(topology)
        if number >= ranks - 1:
            own_at.append(known[topology.links])
    return topologies, own_at


def _stretches(steps: list[_Demand], topologies: list[_Ring | _Own]) -> NDArray[np.float64]:
    """1/theta of each step on each topology; steps that ask for the same are computed once."""
    found: dict[tuple[object, ...], list[float]] = {}
    rows = []
    for step in steps:
        key = (step.src.tobytes(), step.dst.tobytes(), step.share.tobytes())
        if key not in found:
            found[key] = [topology.stretch(step) for topology in topologies]
        rows.append(found[key])
    return np.array(rows)


def _steps(collective: str, algorithm: str, ranks: int, size: int) -> list[_Demand]:
    """What each step asks for, of those that have messages."""
    try:
        steps = _core.collective_steps(collective, algorithm, ranks, size)
    except ValueError as error:
        raise PlanError(str(error), key="algorithm", value=algorithm) from None
    demands = []
    for number, messages in enumerate(steps):
        if not messages:
            continue
        try:
            demands.append(_demand(messages, f"step {number + 1}"))
        except PlanError as error:
            raise PlanError(error.expected, key="algorithm", value=algorithm) from None
    return demands


def _demand(messages: Sequence[tuple[int, int, int]], name: str) -> _Demand:
    """What a step asks for."""
    src, dst, bytes = (np.array(column) for column in zip(*messages, strict=True))
    for ends in (src, dst):
        if len(np.unique(ends)) < len(ends):
            raise PlanError(
                f"{name} needs several circuits of one rank; the model has one message a rank and step"
            )
    return _Demand(src, dst, bytes / bytes.max(), int(bytes.max()))


@dataclass(frozen=True)
class _Demand:
    """Messages of one step."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    share: NDArray[np.float64]
    """Bytes of each over those of the longest."""
    longest: int

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Who sends to whom."""
        return tuple(sorted(zip(self.src.tolist(), self.dst.tolist(), strict=True)))


class _Ring:
    """Circuits from each rank to the one `shift` further on; of degree 2 those back, too."""

    def __init__(self, ranks: int, shift: int, degree: int) -> None:
        self._degree = degree
        self._cycles = math.gcd(ranks, shift)
        self._length = ranks // self._cycles
        self._place = np.empty(ranks, np.int64)
        """Of each rank on its cycle."""
        for place in range(self._length):
            at = (np.arange(self._cycles) + place * shift) % ranks
            self._place[at] = place
        ways = (shift, -shift) if degree == 2 else (shift,)
        count = Counter((src, (src + way) % ranks) for src in range(ranks) for way in ways)
        self.links: Links = tuple(sorted((*pair, many) for pair, many in count.items()))

    def stretch(self, demand: _Demand) -> float:
        """The largest load of a circuit if each message takes its shortest way, of two that are as short half of it each."""
        cycle = demand.src % self._cycles
        if (cycle != demand.dst % self._cycles).any():
            return math.inf
        chunks = demand.share * self._degree
        begin, end = self._place[demand.src], self._place[demand.dst]
        there = (end - begin) % self._length
        if self._degree == 1:
            return self._load(cycle, begin, there, chunks)
        back = self._length - there
        on = np.where(there < back, chunks, np.where(there == back, chunks / 2, 0.0))
        return max(self._load(cycle, begin, there, on), self._load(cycle, end, back, chunks - on))

    def _load(
        self,
        cycle: NDArray[np.int64],
        begin: NDArray[np.int64],
        hops: NDArray[np.int64],
        chunks: NDArray[np.float64],
    ) -> float:
        """The largest load of a circuit, of ways of so many hops from these places on."""
        width = 2 * self._length + 1
        changes = np.zeros(self._cycles * width)
        np.add.at(changes, cycle * width + begin, chunks)
        np.add.at(changes, cycle * width + begin + hops, -chunks)
        loads = changes.reshape(self._cycles, width).cumsum(axis=1)[:, :-1]
        return float((loads[:, : self._length] + loads[:, self._length :]).max())


class _Own:
    """Circuits of one step: all that a rank has lead to its one peer."""

    def __init__(self, ranks: int, demand: _Demand, degree: int) -> None:
        self._next = np.full(ranks, -1)
        self._next[demand.src] = demand.dst
        self._degree = degree
        self.links: Links = tuple((src, dst, degree) for src, dst in demand.pairs)

    def stretch(self, demand: _Demand) -> float:
        """The largest load of a circuit, of all the ways that there are."""
        load = np.zeros(len(self._next))
        at, goes_on = demand.src, np.ones(len(demand.src), bool)
        while goes_on.any():
            np.add.at(load, at[goes_on], demand.share[goes_on])
            at = np.where(goes_on, self._next[at], at)
            if (at < 0).any() or (at[goes_on] == demand.src[goes_on]).any():
                return math.inf
            goes_on = at != demand.dst
        return float(load.max())  # of as many chunks as a link has circuits


def _cheapest(times: NDArray[np.float64], change: float) -> list[int]:
    """For each step the topology of the cheapest plan; of equally cheap ones that with the fewest changes."""
    cost, changes = times[0].copy(), np.zeros(times.shape[1], np.int64)
    before = []
    for row in times[1:]:
        best = int(np.lexsort((changes, cost))[0])
        moved, moves = cost[best] + change, changes[best] + 1
        moving = (moved < cost) | ((moved == cost) & (moves < changes))
        before.append(np.where(moving, best, np.arange(len(cost))))
        cost = np.where(moving, moved, cost) + row
        changes = np.where(moving, moves, changes)
    at = int(np.lexsort((changes, cost))[0])
    if not math.isfinite(cost[at]):
        raise PlanError(
            "no plan of these circuits leads all messages to their ranks", key="algorithm"
        )
    chosen = [at]
    for row_before in reversed(before):
        at = int(row_before[at])
        chosen.append(at)
    return chosen[::-1]
