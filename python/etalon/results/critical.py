# SPDX-License-Identifier: MIT OR Apache-2.0
"""The critical path of an iteration: what, one after the other, its end waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from etalon.errors import EtalonError
from etalon.units import SIZE, rounded

COMPUTES, WAITS, SENDS = "computes", "waits for circuits", "sends"


@dataclass(frozen=True)
class Part:
    """A part of the path: what a rank did, and from when until when, in ns."""

    what: str
    rank: int
    begin: int
    end: int
    peer: int = -1
    """Of a message: the rank that receives it."""
    bytes: int = 0

    @property
    def ns(self) -> int:
        """How long it took."""
        return self.end - self.begin

    def __str__(self) -> str:
        took = rounded(self.ns)
        if self.what == SENDS:
            return f"rank {self.rank} sends {SIZE.format(self.bytes)} to rank {self.peer}: {took}"
        return f"rank {self.rank} {self.what}: {took}"


@dataclass(frozen=True)
class CriticalPath:
    """The critical path of an iteration; `str` tells it in words."""

    iteration: int
    parts: tuple[Part, ...]
    """In order of time. Each begins as the one before it ends."""

    def share(self, what: str) -> float:
        """The share of the path that is computing, waiting for circuits or sending."""
        whole = self.parts[-1].end - self.parts[0].begin
        return sum(part.ns for part in self.parts if part.what == what) / whole if whole else 0.0

    def __str__(self) -> str:
        took = rounded(self.parts[-1].end - self.parts[0].begin)
        shares = (f"{what} {100 * self.share(what):.0f} %" for what in (COMPUTES, WAITS, SENDS))
        head = f"iteration {self.iteration} takes {took}: {', '.join(shares)}"
        return "\n".join([head, *(f"  {part}" for part in self.parts)])


def path(steps: pl.DataFrame, iteration: int, job: int) -> CriticalPath:
    """The critical path of an iteration, from its last message or computation back to its start. Raises `EtalonError` if the
    table has no such iteration, or it did not end."""
    mine = steps.filter((pl.col("job") == job) & (pl.col("iteration") == iteration))
    if mine.is_empty() or int(mine["received_ns"].min()) < 0:  # type: ignore[arg-type]
        raise EtalonError(f"the table of steps has no whole iteration {iteration} of job {job}")
    rows = mine.rows(named=True)
    row: dict[str, int] | None = max(rows, key=_over)
    end = None if row is None else _over(row)
    found: list[Part] = []
    while row is not None:
        found = [*_parts(row, row["received_ns"] if end is None else end), *found]
        row, end = _before(rows, row)
    return CriticalPath(iteration, tuple(found))


def _over(row: dict[str, int]) -> int:
    """When the ranks of a row are done with it: an iteration ends with the last of them."""
    return max(row["received_ns"], row["sent_ns"])


def _parts(row: dict[str, int], end: int) -> Iterator[Part]:
    """What a row comes to, up to this time."""
    ready, rank = row["ready_ns"], row["rank"]
    if row["peer"] < 0:
        yield Part(COMPUTES, rank, ready, end)
        return
    begin = max(ready, row["granted_ns"])
    if begin > ready:
        yield Part(WAITS, rank, ready, begin)
    yield Part(SENDS, rank, begin, end, row["peer"], row["bytes"])


def _before(
    rows: list[dict[str, int]], row: dict[str, int]
) -> tuple[dict[str, int] | None, int | None]:
    """What made a row's rank ready, and when that was over; none at the start."""
    rank, ready = row["rank"], row["ready_ns"]
    earlier = [other for other in rows if other["step"] < row["step"]]
    for other in reversed(earlier):
        owner = other["rank"] if other["peer"] < 0 else other["peer"]
        if owner == rank and other["received_ns"] == ready:
            return other, ready
    for other in reversed(earlier):
        if other["rank"] == rank and other["sent_ns"] == ready:
            return other, ready
    return None, None
