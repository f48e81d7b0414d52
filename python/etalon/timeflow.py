# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time-flow tables are users' own routing: the next hop of packets at a rack, by destination and slice of arrival."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from etalon import circuits, files
from etalon.errors import EtalonError, PlanError

COLUMNS = ("here", "arrival", "destination", "next", "uplink", "departure")
"""The numbers of an entry: the rack, the slice in which packets arrive, their destination, the next rack, the uplink to it,
and the slice in which they leave."""

Entry = tuple[int, int, int, int, int, int]
MOST_ENTRIES = 4_000_000


def absent(entries: Sequence[Entry], net: circuits.Circuits) -> tuple[int, Entry, str] | None:
    """The first entry that names a circuit that there is not: its number, the entry, and a sentence."""
    for number, entry in enumerate(entries):
        here, arrival, to, after, uplink, departure = entry
        there = (
            max(here, after) < net.racks
            and to < net.racks
            and uplink < net.switches
            and max(arrival, departure) < net.slices
            and min(entry) >= 0
        )
        if not there or int(net.peers[departure, here, uplink]) != after:
            why = (
                f"in slice {departure} uplink {uplink} of rack {here} does not lead to rack {after}"
            )
            return number, entry, why
    return None


def misleading(entries: Sequence[Entry], net: circuits.Circuits) -> tuple[int, Entry, str] | None:
    """The first entry, of those whose circuits exist, that cannot be followed: its number, the entry, and a sentence."""
    met: dict[tuple[int, int], list[int]] = {}
    for slot, here, uplink in np.ndindex(net.peers.shape):
        met.setdefault((here, int(net.peers[slot, here, uplink])), []).append(slot)
    table: dict[tuple[int, int, int], Entry] = {}
    for number, entry in enumerate(entries):
        here, arrival, to, after, _, departure = entry
        if here == to:
            return number, entry, "it leads from a rack to itself"
        if entry[:3] in table:
            return number, entry, "another entry has the same rack, arrival and destination"
        table[entry[:3]] = entry
        slots = met[here, after]
        first = slots[bisect_left(slots, arrival) % len(slots)]
        if first != departure:
            return number, entry, f"rack {here} meets rack {after} in slice {first}, before it"
    ends: set[tuple[int, int, int]] = set()
    for number, entry in enumerate(entries):
        path: dict[tuple[int, int, int], None] = {}
        here, slot, to = place = entry[:3]
        while here != to and place not in ends:
            if place in path:
                racks = " ".join(str(one[0]) for one in path)
                return number, entry, f"its path is a loop, through racks {racks} {here}"
            path[place] = None
            if place not in table:
                why = f"its path leads to rack {here} in slice {slot}, which has no entry for rack {to}"
                return number, entry, why
            _, _, _, here, _, slot = table[place]
            place = (here, slot, to)
        ends.update(path)
    return None


def save(entries: Iterable[Sequence[int]], path: str | Path, force: bool = False) -> Path:
    """Writes a table, one line per entry, and returns the path.

    Raises:
        PlanError: if the file exists and `force` is not set.
    """
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
    """Reads a table: six numbers per line, in the order of `COLUMNS`; lines that begin with # are comments.

    Raises:
        PlanError: if it is no such table; the error names the line.
    """
    path = Path(path)
    entries: list[Entry] = []
    for number, words in circuits.rows_of(path, "time-flow table"):
        values = circuits.integers(path, number, words)
        if len(values) != len(COLUMNS) or min(values) < 0:
            raise PlanError(
                f"an entry has {len(COLUMNS)} whole numbers, from 0 on: {' '.join(COLUMNS)}",
                file=f"{path}:{number}",
            )
        here, arrival, destination, next_, uplink, departure = values
        entries.append((here, arrival, destination, next_, uplink, departure))
    return entries


def of_earliest(net: circuits.Circuits) -> list[Entry]:
    """The table of earliest arrival with one hop per slice (Hop-On Hop-Off): a start for your own tables."""
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
