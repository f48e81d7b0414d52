"""Flows by the batch, in the order in which they start: of workloads that have too many to list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def merged(sources: Sequence[Iterator[Batch]]) -> Iterator[Batch]:
    """The flows of all sources, each of which is in order; of those that start together, those of an earlier source first."""
    if len(sources) == 1:
        yield from sources[0]
        return
    running = dict(enumerate(sources))
    waiting: dict[int, Batch] = {}
    horizon = -1
    while running or waiting:
        for index, source in list(running.items()):
            # What starts at the horizon may go on in the next batch.
            while index not in waiting or waiting[index].start[-1] <= horizon:
                more = next(source, None)
                if more is None:
                    del running[index]
                    break
                if len(more.start):
                    waiting[index] = joined([*filter(None, [waiting.get(index)]), more])
        horizon = min((int(waiting[i].start[-1]) for i in running), default=np.iinfo(np.int64).max)
        taken = []
        for index in sorted(waiting):
            batch = waiting.pop(index)
            ready = int(np.searchsorted(batch.start, horizon, side="left"))
            taken.append(cut(batch, 0, ready))
            if ready < len(batch.start):
                waiting[index] = cut(batch, ready, len(batch.start))
        flows = joined(taken)
        order = np.argsort(flows.start, kind="stable")
        if len(order):
            yield Batch(*(column[order] for column in flows))


def of_kinds(batches: Iterator[Batch], first: int) -> Iterator[Batch]:
    """Batches whose kinds are counted from another number on; those without flows are left out."""
    return (batch._replace(kind=batch.kind + first) for batch in batches if len(batch.start))
