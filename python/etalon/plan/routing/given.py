# SPDX-License-Identifier: MIT OR Apache-2.0
"""Routing by a table of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from etalon import timeflow
from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.base import said_of_file
from etalon.plan.routing.base import Way


class Given(Way):
    """A time-flow table: for packets to a rack that arrive in a slice, the next rack, the uplink to it, and the slice in
    which they leave."""

    which: ClassVar = 'of kind "table"'
    about: ClassVar = "a time-flow table of your own, from a file"
    kind: Literal["table"] = "table"
    """A routing table from a file."""
    file: str | None = None
    """A file with one entry per line: rack, slice of arrival, destination, next rack, uplink, slice of departure. The
    resolved plan contains the entries instead."""
    entries: tuple[tuple[int, int, int, int, int, int], ...] = ()
    """The entries, in the columns of `file`."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return time_flow(self.entries)

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """The first entry that names a circuit that does not exist, or whose path does not end at its destination."""
        if not self.entries or len(self.entries) > timeflow.MOST_ENTRIES:
            yield PlanError(
                f"needs 1 to {timeflow.MOST_ENTRIES} entries, or a file with them",
                key=f"{key}.entries",
            )
        if wrong := timeflow.absent(self.entries, net) or timeflow.misleading(self.entries, net):
            index, entry, why = wrong
            yield PlanError(f"{' '.join(map(str, entry))}: {why}", key=f"{key}.entries.{index}")


def time_flow(entries: Iterable[timeflow.Entry]) -> dict[str, Any]:
    """A table as the core takes it."""
    return {"table": [dict(zip(timeflow.COLUMNS, entry, strict=True)) for entry in entries]}


def with_file(way: Mapping[str, Any], folder: Path, key: str) -> dict[str, Any]:
    """The table with what its file holds in the file's place."""
    way = dict(way)
    name = way.pop("file")
    if "entries" in way:
        raise PlanError("the entries are given already", key=f"{key}.file", value=name)
    try:
        return way | {"entries": [list(entry) for entry in timeflow.load(folder / name)]}
    except PlanError as error:
        raise said_of_file(error, name, f"{key}.file") from None
