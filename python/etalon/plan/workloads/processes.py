"""Poisson processes in batches: the numbers that `[[poisson]]` draws one by one, drawn by thousands."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from etalon.plan.workloads.batches import BATCH, Batch
from etalon.plan.workloads.flow_sizes import FlowSizes

DRAWS = 5
"""Random numbers of a flow: time, receiving rack, both hosts, size."""

Numbers = NDArray[np.float64]
State = tuple[str, NDArray[np.uint32], int, int, float]
"""Where a generator of random numbers stands, as NumPy has it."""


@dataclass(frozen=True)
class Process:
    """A Poisson process of flows for each rack."""

    start: float
    end: int
    flows_per_ns: float
    racks: int
    hosts: int
    sizes: FlowSizes
    small: int | None

    def flows(self, draw: random.Random) -> list[Iterator[Batch]]:
        """The flows of each rack in order. Its draws begin where those of the rack before it end, which is found first."""
        _, (*key, position), _ = draw.getstate()
        state: State = "MT19937", np.array(key, dtype=np.uint32), position, 0, 0.0
        sources = []
        for rack in range(self.racks):
            sources.append(self._batches(rack, state))
            for _, _, after in self._blocks(state):
                state = after
        return sources

    def _blocks(self, state: State) -> Iterator[tuple[Numbers, Numbers, State]]:
        """A rack's flows by the block: starts, random numbers, and where the generator stands after them."""
        number = min(max(4 * BATCH // self.racks, 64), BATCH)
        draws = np.random.RandomState()
        last = self.start
        while True:
            draws.set_state(state)
            drawn = draws.random_sample((number, DRAWS))
            # NumPy's logarithm differs from this one in the last bit here and there.
            gaps = [-math.log(one) / self.flows_per_ns for one in (1 - drawn[:, 0]).tolist()]
            starts = np.add.accumulate([last, *gaps])[1:]
            begun = int(np.searchsorted(starts, self.end, side="left"))
            if begun < number:  # the first that begins too late has drawn its time
                draws.set_state(state)
                draws.random_sample(begun * DRAWS + 1)
            state = cast(State, draws.get_state(legacy=True))
            yield starts[:begun], drawn[:begun], state
            if begun < number:
                return
            last = float(starts[-1])

    def _batches(self, rack: int, state: State) -> Iterator[Batch]:
        for starts, drawn, _ in self._blocks(state):
            _, other, src, dst, share = drawn.T
            to = (rack + 1 + (other * (self.racks - 1)).astype(np.int64)) % self.racks
            size = self._sizes(share)
            yield Batch(
                starts.astype(np.int64),
                rack * self.hosts + (src * self.hosts).astype(np.int64),
                to * self.hosts + (dst * self.hosts).astype(np.int64),
                size,
                np.full(len(size), -1),
                np.zeros_like(size) if self.small is None else (size > self.small).astype(np.int64),
            )

    def _sizes(self, share: Numbers) -> NDArray[np.int64]:
        """As `FlowSizes.at`, of many."""
        size, shares = (
            np.array(column, dtype=np.float64) for column in zip(*self.sizes.points, strict=True)
        )
        after = np.maximum(np.searchsorted(shares, share, side="left"), 1)
        low, high = size[after - 1], size[after]
        part = (share - shares[after - 1]) / (shares[after] - shares[after - 1])
        sizes: NDArray[np.int64] = np.maximum(np.rint(low + part * (high - low)), 1).astype(
            np.int64
        )
        return sizes
