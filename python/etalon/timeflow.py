"""Time-flow tables: what racks do with packets for others, by the slice in which these come. Users' own routing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from etalon import circuits, files
from etalon.errors import EtalonError, PlanError

COLUMNS = ("here", "arrival", "destination", "next", "uplink", "departure")
"""The numbers of an entry: the rack, the slice in which packets come, where they go, the rack that is next, the uplink that
leads there, the slice in which they leave."""

Entry = tuple[int, int, int, int, int, int]


def save(entries: Iterable[Sequence[int]], path: str | Path, force: bool = False) -> Path:
    """Writes a table, a line an entry, and returns the path."""
    path = Path(path)
    if path.exists() and not force:
        raise PlanError("already exists; force=True replaces it", file=str(path))
    lines = ["# " + " ".join(COLUMNS), *(" ".join(map(str, entry)) for entry in entries)]
    try:
        files.put(path, "\n".join(lines) + "\n")
    except OSError as error:
        raise EtalonError(f"{path}: could not be written: {error.strerror}") from error
    return path


def load(path: str | Path) -> list[Entry]:
    """Reads a table: six numbers a line, as `COLUMNS` has them; lines that begin with # are left out.

    Raises:
        PlanError: if it is none; with the line.
    """
    path = Path(path)
    entries: list[Entry] = []
    for number, words in circuits.rows_of(path, "time-flow table"):
        values = circuits.integers(path, number, words)
        if len(values) != len(COLUMNS) or min(values) < 0:
            raise PlanError(
                f"an entry has {len(COLUMNS)} whole numbers: {' '.join(COLUMNS)}",
                file=f"{path}:{number}",
            )
        here, arrival, destination, next_, uplink, departure = values
        entries.append((here, arrival, destination, next_, uplink, departure))
    return entries


def of_earliest(net: circuits.Circuits) -> list[Entry]:
    """The table in which packets take whatever arrives first, one hop a slice: a start for tables of one's own."""
    slices, racks = net.slices, net.racks
    met: list[list[list[tuple[int, int]]]] = [
        [
            [(int(peer), uplink) for uplink, peer in enumerate(net.peers[slot, rack]) if peer >= 0]
            for rack in range(racks)
        ]
        for slot in range(slices)
    ]
    entries: list[Entry] = []
    for to in range(racks):
        # (slices until it arrives, hops) from each rack, at the start of the slice in hand, then of the one before.
        best: list[tuple[float, int]] = [(float("inf"), 0)] * racks
        choice: list[tuple[int, int, int]] = [(-1, -1, -1)] * racks
        for slot in reversed(range(3 * slices)):
            later = [(wait + 1, hops) for wait, hops in best]
            later[to] = (0, 0)
            now, chosen = list(later), list(choice)
            for rack in range(racks):
                for peer, uplink in met[slot % slices][rack]:
                    if rack == to or peer == rack:
                        continue
                    wait, hops = (0.0, 0) if peer == to else later[peer]
                    if (wait, hops + 1) < now[rack]:
                        now[rack] = (wait, hops + 1)
                        chosen[rack] = (peer, uplink, slot % slices)
            best, choice = now, chosen
            if slot < slices:
                entries += [
                    (rack, slot, to, *choice[rack])
                    for rack in range(racks)
                    if rack != to and choice[rack][0] >= 0
                ]
    return entries
