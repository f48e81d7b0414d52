# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of flows that are too long to be listed: read in pieces, once to check them and once while they are run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etalon.errors import PlanError
from etalon.plan.workloads.base import write_host
from etalon.plan.workloads.batches import Batch, Column
from etalon.plan.workloads.trace_lines import LONGEST_LINE, Line, host_of, read_line, words_of
from etalon.units import SIZE, TIME, shown

PIECE = 1 << 19
"""Bytes that are read at a time."""
NUMBERED = re.compile(rb"(?:[0-9]{1,18}[ \t]+[0-9]{1,18}[ \t]+[0-9]{1,18}[ \t]+[0-9]{1,18}\n)*")
NAMED = re.compile(
    rb"(?:r[0-9]{1,5}h[0-9]{1,5}[ \t]+r[0-9]{1,5}h[0-9]{1,5}[ \t]+[0-9]{1,18}[ \t]+[0-9]{1,18}\n)*"
)
"""Lines without a class, whose hosts all are numbers or all are names: they are read many at a time."""


@dataclass
class Reader:
    """Reads a trace from its begin to its end, in order of start."""

    path: Path
    racks: int
    hosts: int
    classes: dict[str, int] = field(default_factory=dict)
    """The number of each class that was met."""
    flows: int = 0
    start: int = 0
    """That of the last flow."""
    digest: str = ""
    """SHA-256 of the file, when it has been read."""

    def batches(self) -> Iterator[Batch]:
        """The flows. Raises `PlanError` that says which line is wrong, `OSError` and `UnicodeDecodeError`."""
        line = 1
        for piece in self._pieces():
            batch = self._at_once(piece) or self._one_by_one(piece, line)
            line += piece.count(b"\n")
            if len(batch.start):
                self.flows += len(batch.start)
                self.start = int(batch.start[-1])
                yield batch

    def _pieces(self) -> Iterator[bytes]:
        """The file in pieces of whole lines, the last of which ends, too."""
        digest = hashlib.sha256()
        rest, line = b"", 1
        with self.path.open("rb") as file:
            while read := file.read(PIECE):
                digest.update(read)
                whole, end, rest = (rest + read).rpartition(b"\n")
                line += whole.count(b"\n") + len(end)
                if len(rest) > 4 * LONGEST_LINE:
                    raise PlanError(
                        f"a line must have fewer than {LONGEST_LINE} characters",
                        file=f"{self.path}:{line}",
                    )
                if end:
                    yield whole + end
        if rest:
            yield rest + b"\n"
        self.digest = digest.hexdigest()

    def _at_once(self, piece: bytes) -> Batch | None:
        """The flows of a piece, if all is well and its lines are plain."""
        if NUMBERED.fullmatch(piece):
            src, dst, size, start = np.fromstring(piece, dtype=np.int64, sep=" ").reshape(-1, 4).T
        elif NAMED.fullmatch(piece):
            numbers = np.fromstring(piece.translate(SPACED), dtype=np.int64, sep=" ")
            from_rack, from_host, to_rack, to_host, size, start = numbers.reshape(-1, 6).T
            if max(from_host.max(), to_host.max()) >= self.hosts:
                return None
            src, dst = from_rack * self.hosts + from_host, to_rack * self.hosts + to_host
        else:
            return None
        well = (
            max(src.max(), dst.max()) < self.racks * self.hosts
            and (src != dst).all()
            and size.min() > 0
            and size.max() <= SIZE.parse(SIZE.largest)
            and start.max() <= TIME.parse(TIME.largest)
            and self.start <= start[0]
            and (start[1:] >= start[:-1]).all()
        )
        if not well:
            return None
        kind = self.classes.setdefault("", len(self.classes))
        return _batch(start, src, dst, size, np.full(len(start), kind))

    def _one_by_one(self, piece: bytes, first: int) -> Batch:
        """The same line by line, which finds the first that is wrong."""
        rows: list[tuple[int, int, int, int, int]] = []
        last = self.start
        for number, text in enumerate(piece.decode("utf-8").split("\n")[:-1], first):
            where = f"{self.path}:{number}"
            words = words_of(text, where)
            if not words:
                continue
            try:
                rows.append(self._row(read_line(number, words), last))
            except ValueError as error:
                raise PlanError(f"{shown(text.strip())}: {error}", file=where) from None
            last = rows[-1][0]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return _batch(*columns)

    def _row(self, line: Line, last: int) -> tuple[int, int, int, int, int]:
        src, dst = (host_of(name, self.racks, self.hosts) for name in (line.src, line.dst))
        if src == dst:
            raise ValueError(f"host {write_host(src)} would send to itself")
        if line.start < last:
            raise ValueError(
                f"start_ns must not be below {last} of the line before: a trace of so many flows must be in order of start "
                "(sort -s -n -k 4,4)"
            )
        kind = self.classes.setdefault(line.flow_class, len(self.classes))
        numbers = (rack * self.hosts + host for rack, host in (src, dst))
        return line.start, *numbers, line.size, kind  # type: ignore[return-value]


SPACED = bytes.maketrans(b"rh", b"  ")


def _batch(start: Column, src: Column, dst: Column, size: Column, kind: Column) -> Batch:
    columns = (np.ascontiguousarray(column) for column in (start, src, dst, size))
    start, src, dst, size = columns
    return Batch(start, src, dst, size, np.full(len(start), -1), np.ascontiguousarray(kind))


@dataclass(frozen=True)
class Contents:
    """What a trace holds, for a network of some size."""

    flows: int
    classes: dict[str, int]
    rack_pairs: tuple[tuple[int, int], ...]
    digest: str


@lru_cache(maxsize=8)
def contents(path: Path, stamp: tuple[int, int], racks: int, hosts: int) -> Contents:
    """Reads a whole trace, once for each state (`stamp`) that it is in. Raises what `Reader` raises."""
    reader = Reader(path, racks, hosts)
    pairs: NDArray[np.bool_] = np.zeros(racks * racks, dtype=bool)
    for batch in reader.batches():
        pairs[batch.src // hosts * racks + batch.dst // hosts] = True
    found = (divmod(int(pair), racks) for pair in np.flatnonzero(pairs))
    return Contents(reader.flows, reader.classes, tuple(found), reader.digest)
