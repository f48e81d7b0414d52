# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flows by the batch, in the order in which they start: of workloads that have too many to list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]

BATCH = 1 << 14
"""Flows of a batch, about."""


class Batch(NamedTuple):
    """Columns of flows, as `etalon._core.run_stream` takes them."""

    start: Column
    """In ns."""
    src: Column
    """The sender's number among all hosts, rack by rack."""
    dst: Column
    """The receiver's."""
    size: Column
    """In bytes; -1 without end."""
    stop: Column
    """When it is killed, in ns; -1 for never."""
    kind: Column
    """What else holds, as a number."""


def joined(batches: Sequence[Batch]) -> Batch:
    """One batch after the other."""
    return Batch(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def cut(batch: Batch, first: int, last: int) -> Batch:
    """Some of the flows of a batch."""
    return Batch(*(column[first:last] for column in batch))


def packed(flows: Iterator[dict[str, Any]], hosts: int, classes: Sequence[str]) -> Iterator[Batch]:
    """Flows as the core takes them one by one, in batches; kinds are their classes."""
    kinds = {name: kind for kind, name in enumerate(classes)}
    while some := list(islice(flows, BATCH)):
        rows = [
            (
                flow["start_ns"],
                flow["src_rack"] * hosts + flow["src_host"],
                flow["dst_rack"] * hosts + flow["dst_host"],
                -1 if flow["bytes"] is None else flow["bytes"],
                -1 if flow["stop_ns"] is None else flow["stop_ns"],
                kinds[flow.get("class", "")],
            )
            for flow in some
        ]
        yield Batch(*np.array(rows, dtype=np.int64).T.copy())


@dataclass
class _Source:
    """What was read of a source and waits to be merged."""

    batches: Iterator[Batch]
    pieces: list[Batch] = field(default_factory=list)
    flows: int = 0
    """Of all pieces."""
    usual: int = 0
    """Flows of the batch that was read last."""
    ended: bool = False

    def fill(self, horizon: int) -> None:
        """Reads on until something waits that starts after the horizon, and half a batch at least: a source that nearly ran
        out would let few flows of all others pass."""
        while not self.ended and (
            2 * self.flows <= self.usual or int(self.pieces[-1].start[-1]) <= horizon
        ):
            more = next(self.batches, None)
            if more is None:
                self.ended = True
            elif len(more.start):
                self.pieces.append(more)
                self.usual = len(more.start)
                self.flows += self.usual

    def take(self, horizon: int) -> list[Batch]:
        """What starts before the horizon; it waits no longer."""
        taken: list[Batch] = []
        while self.pieces and self.pieces[0].start[0] < horizon:
            first = self.pieces[0]
            ready = int(np.searchsorted(first.start, horizon, side="left"))
            taken.append(cut(first, 0, ready))
            self.flows -= ready
            if ready < len(first.start):
                self.pieces[0] = cut(first, ready, len(first.start))
                break
            del self.pieces[0]
        return taken


def merged(sources: Sequence[Iterator[Batch]]) -> Iterator[Batch]:
    """The flows of all sources, each of which is in order; of those that start together, those of an earlier source first."""
    if len(sources) == 1:
        yield from sources[0]
        return
    waiting = [_Source(source) for source in sources]
    horizon = -1
    while not all(source.ended for source in waiting):
        for source in waiting:
            source.fill(horizon)
        # What starts at the horizon may go on in the next batch.
        last = (int(source.pieces[-1].start[-1]) for source in waiting if not source.ended)
        horizon = min(last, default=np.iinfo(np.int64).max)
        if taken := [piece for source in waiting for piece in source.take(horizon)]:
            flows = joined(taken)
            order = np.argsort(flows.start, kind="stable")
            yield Batch(*(column[order] for column in flows))


def of_kinds(batches: Iterator[Batch], first: int) -> Iterator[Batch]:
    """Batches whose kinds are counted from another number on; those without flows are left out."""
    return (batch._replace(kind=batch.kind + first) for batch in batches if len(batch.start))
