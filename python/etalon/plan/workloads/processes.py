# SPDX-License-Identifier: MIT OR Apache-2.0
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
        draws = np.random.RandomState()
        draws.set_state(("MT19937", np.array(key, dtype=np.uint32), position, 0, 0.0))
        sources = []
        for rack in range(self.racks):
            state = cast(State, draws.get_state(legacy=True))
            sources.append(self._batches(rack, state))
            begun = [len(starts) for starts, _ in self._blocks(draws)]
            draws.set_state(
                state
            )  # once for each rack, for it takes as long as drawing a thousand numbers
            for number in begun:
                draws.random_sample(number * DRAWS)
            draws.random_sample()  # the first that begins too late has drawn its time
        return sources

    def _blocks(self, draws: np.random.RandomState) -> Iterator[tuple[Numbers, Numbers]]:
        """A rack's flows by the block: starts and random numbers. More are drawn than they need."""
        number = min(max(4 * BATCH // self.racks, 256), BATCH)
        last = self.start
        while True:
            drawn = draws.random_sample((number, DRAWS))
            # NumPy's logarithm differs from this one in the last bit here and there.
            logs = np.fromiter(map(math.log, (1 - drawn[:, 0]).tolist()), np.float64, number)
            starts = np.add.accumulate(np.append(last, -logs / self.flows_per_ns))[1:]
            begun = int(np.searchsorted(starts, self.end, side="left"))
            yield starts[:begun], drawn[:begun]
            if begun < number:
                return
            last = float(starts[-1])

    def _batches(self, rack: int, state: State) -> Iterator[Batch]:
        draws = np.random.RandomState()
        draws.set_state(state)
        for starts, drawn in self._blocks(draws):
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
        if self.sizes.steps:
            return high.astype(np.int64)
        part = (share - shares[after - 1]) / (shares[after] - shares[after - 1])
        sizes: NDArray[np.int64] = np.maximum(np.rint(low + part * (high - low)), 1).astype(
            np.int64
        )
        return sizes
