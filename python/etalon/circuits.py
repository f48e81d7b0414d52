# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of circuits as topologies: which racks meet in which slice, hops between racks, sizes of a ToR's tables.

    net = etalon.circuits.opera(racks=108, switches=6)
    net.longest_path, net.mean_path, net.routing_entries
    net.save("schedule.txt")

A plan with `network.kind = "ocs"` sends packets over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from etalon import _core, files
from etalon.errors import EtalonError, PlanError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = -1
NO_WAY = 255
MOST_DRAWS = 100
"""Random networks that are drawn until all racks reach each other."""
LARGEST = 256 << 20
"""Bytes of a schedule file."""


@dataclass(frozen=True, eq=False, repr=False)
class Circuits:
    """Racks with one uplink to each circuit switch, over a cycle of slices.

    `peers[slice, rack, switch]` is the rack at the other end: -1 for none, the rack itself if its matching leaves it alone.
    `ending[slice]` is the switch that goes dark at the slice's end, to change its matching; None if none does, or all do.
    """

    name: str
    peers: NDArray[np.int32]
    ending: tuple[int | None, ...]

    @property
    def slices(self) -> int:
        """Number of slices in a cycle."""
        return int(self.peers.shape[0])

    @property
    def racks(self) -> int:
        """Number of racks."""
        return int(self.peers.shape[1])

    @property
    def switches(self) -> int:
        """Number of circuit switches, and of uplinks per rack."""
        return int(self.peers.shape[2])

    def hops(
        self,
        links: Iterable[tuple[int, int]] = (),
        racks: Iterable[int] = (),
        switches: Iterable[int] = (),
    ) -> NDArray[np.uint8]:
        """Hops between racks: an array of shape (slices, racks, racks), by slice, source and destination; 255 if there is no
        path. Paths are within a slice, and avoid the switch that goes dark at its end.

        Args:
            links: uplinks that have failed, as (rack, switch).
            racks: racks that have failed, with all their uplinks.
            switches: circuit switches that have failed.

        Raises:
            PlanError: for a rack or a switch that does not exist.
        """
        links, racks, switches = tuple(links), tuple(racks), tuple(switches)
        return self._hops(links, racks, switches) if links or racks or switches else self._whole

    @cached_property
    def _whole(self) -> NDArray[np.uint8]:
        """Hops if nothing fails. Nobody changes them."""
        found = self._hops((), (), ())
        found.setflags(write=False)
        return found

    def _hops(
        self,
        links: Iterable[tuple[int, int]],
        racks: Iterable[int],
        switches: Iterable[int],
    ) -> NDArray[np.uint8]:
        failed = np.zeros((self.racks, self.switches), dtype=np.bool_)
        for rack, switch in links:
            failed[_known(rack, self.racks, "rack"), _known(switch, self.switches, "switch")] = True
        for rack in racks:
            failed[_known(rack, self.racks, "rack"), :] = True
        for switch in switches:
            failed[:, _known(switch, self.switches, "switch")] = True
        flat = self.peers.astype(np.uint16).ravel()  # -1 is the core's 65535
        found = _core.circuit_hops(
            self.racks, self.switches, flat, list(self.ending), failed.ravel()
        )
        return found.reshape(self.slices, self.racks, self.racks)

    @cached_property
    def paths(self) -> dict[int, int]:
        """The number of ordered rack pairs in all slices, by hops between them; 255 for those without a path."""
        hops = self.hops()
        values, counts = np.unique(hops[:, ~np.eye(self.racks, dtype=np.bool_)], return_counts=True)
        return {int(value): int(count) for value, count in zip(values, counts, strict=True)}

    @property
    def is_connected(self) -> bool:
        """Whether all racks reach each other in every slice."""
        return NO_WAY not in self.paths

    @property
    def longest_path(self) -> int:
        """Hops of the longest shortest path, over all slices; pairs without a path do not count. 0 if none has one."""
        return max((hops for hops in self.paths if hops != NO_WAY), default=0)

    @property
    def mean_path(self) -> float:
        """Mean hops of the shortest path, over all slices and the rack pairs that have one; 0 if none has."""
        there = {hops: count for hops, count in self.paths.items() if hops != NO_WAY}
        return sum(hops * count for hops, count in there.items()) / max(sum(there.values()), 1)

    @property
    def routing_entries(self) -> int:
        """Entries in a ToR's tables in Opera (NSDI 2020, section 6.2). A cycle has as many slices as racks; each slice has an
        entry for each other rack, by the expander, and one for each rack met directly over a switch that stays up."""
        return _core.routing_entries(self.racks, self.switches)

    def meetings(self) -> NDArray[np.int64]:
        """How often each rack meets each other rack in a cycle, over any switch: an array of shape (racks, racks)."""
        met = np.zeros((self.racks, self.racks), dtype=np.int64)
        for one in self.peers:
            for switch in range(self.switches):
                there = one[:, switch] != NOBODY
                np.add.at(met, (np.flatnonzero(there), one[there, switch]), 1)
        return met

    def throughput(self, demand: NDArray[np.float64]) -> float:
        """The largest share of a demand that direct circuits can carry: a fluid model, without nights.

        Args:
            demand: an array of shape (racks, racks), from source to destination, in shares of the total rate of a rack's
                uplinks; rows and columns add up to 1 at most.

        Raises:
            PlanError: for another shape, negative demand, or none at all.
        """
        demand = np.array(demand, dtype=np.float64)
        if demand.shape != (self.racks, self.racks) or not np.isfinite(demand).all():
            raise PlanError(f"demand must be a number for each pair of {self.racks} racks")
        np.fill_diagonal(demand, 0)
        if (demand < 0).any() or not demand.any():
            raise PlanError("demand must not be negative, nor zero everywhere")
        capacity = self.meetings() / (self.slices * self.switches)
        asked = demand > 0
        return float((capacity[asked] / demand[asked]).min())

    def staggered(self) -> Circuits:
        """The same matchings, but the switches change one after the other, as in Opera, instead of together."""
        slices, switches = self.slices, self.switches
        at = np.arange(slices * switches)[:, None]
        held = (at + switches - 1 - np.arange(switches)[None, :]) // switches % slices
        peers = np.stack([self.peers[held[:, k], :, k] for k in range(switches)], axis=2)
        ending = tuple(int(slot) % switches for slot in range(slices * switches))
        return Circuits(f"{self.name}, staggered", peers, ending)

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Writes the schedule as text and returns the path. The first line has the numbers of racks and switches. One line per
        slice follows: for each rack and switch the rack at the other end, or -1. The next slice shows which switch went dark.

        Raises:
            PlanError: if the file exists and `force` is not set.
        """
        path = Path(path)
        if path.exists() and not force:
            raise PlanError("already exists; force=True replaces it", file=str(path))
        lines = [f"{self.racks} {self.switches}"]
        lines += [" ".join(map(str, one.ravel().tolist())) for one in self.peers]
        try:
            files.put(path, "\n".join(lines) + "\n")
        except OSError as error:
            raise EtalonError(f"{path}: could not be written: {error.strerror}") from error
        return path

    def __repr__(self) -> str:
        slices = "a graph" if self.slices == 1 else f"{self.slices} slices"
        return f"<Circuits {self.name}: {self.racks} racks, {self.switches} switches, {slices}>"


def opera(racks: int = 108, switches: int = 6, seed: int = 1) -> Circuits:
    """Opera (NSDI 2020): random matchings, dealt to rotor switches that change one after the other. A cycle has as many slices
    as racks. Matchings are drawn again until all racks reach each other in every slice.

    Raises:
        PlanError: if the switches cannot share out the matchings evenly, or no such network was found.
    """
    for at in range(MOST_DRAWS):
        made = _drawn("opera", racks, switches, seed + (at << 32))
        if made.is_connected:
            return made
    raise PlanError(
        f"{switches} switches join {racks} racks in every slice only by chance: take more switches"
    )


def rotor(racks: int = 108, switches: int = 6, seed: int = 1) -> Circuits:
    """RotorNet (SIGCOMM 2017): random matchings, dealt to rotor switches that change together. Each rack meets each other rack
    once in a cycle of racks / switches slices.

    Raises:
        PlanError: if the switches cannot share out the matchings evenly.
    """
    return _drawn("rotor", racks, switches, seed)


def regular(racks: int = 130, degree: int = 7, seed: int = 1) -> Circuits:
    """A static expander: a random connected graph with `degree` neighbours per rack (Jellyfish, NSDI 2012).

    Raises:
        PlanError: if there is no such graph.
    """
    return _drawn("regular", racks, degree, seed)


def shale(racks: int = 64, switches: int = 1, dimensions: int = 2) -> Circuits:
    """Shale (SIGCOMM 2024): racks are points of a cube with `dimensions` dimensions, which take turns. In its turn, each rack
    meets all others of its line, one per slice. Circuits go one way. The switches are evenly spaced in the cycle.

    Raises:
        PlanError: if the racks do not make a cube, or it has fewer slices than there are switches.
    """
    side = round(racks ** (1 / dimensions)) if racks > 0 and dimensions > 0 else 0
    if side < 2 or side**dimensions != racks:
        raise PlanError(
            f"{racks} racks do not form a cube of {dimensions} dimensions: take {max(side, 2) ** max(dimensions, 1)}"
        )
    cycle = dimensions * (side - 1)
    if not 1 <= switches <= cycle:
        raise PlanError(f"a cycle has {cycle} slices: take 1 to {cycle} switches, not {switches}")
    peers = np.empty((cycle, racks, switches), dtype=np.int32)
    rack = np.arange(racks)
    for slot in range(cycle):
        for switch in range(switches):
            phase, shift = divmod((slot + switch * cycle // switches) % cycle, side - 1)
            unit = side**phase
            place = rack // unit % side
            peers[slot, :, switch] = rack + ((place + shift + 1) % side - place) * unit
    return Circuits("shale", peers, _ending(peers))


def round_robin(racks: int = 64, switches: int = 4) -> Circuits:
    """The rounds of a tournament, in which each rack meets each other once, as matchings. All switches go through all
    rounds, evenly spaced in the cycle of racks - 1 slices, and change together. Nothing is random.

    Raises:
        PlanError: if the number of racks is odd, or there are more switches than rounds.
    """
    if racks < 2 or racks % 2:
        raise PlanError(f"{racks} racks cannot all meet in pairs: take an even number")
    cycle = racks - 1
    if not 1 <= switches <= cycle:
        raise PlanError(f"a cycle has {cycle} slices: take 1 to {cycle} switches, not {switches}")
    rack = np.arange(cycle)
    rounds = np.empty((cycle, racks), dtype=np.int32)
    for number in range(cycle):
        # Numbers that add up to the round's meet; the one that would meet itself meets the last rack.
        rounds[number, :cycle] = (number - rack) % cycle
        alone = int(np.flatnonzero(rounds[number, :cycle] == rack)[0])
        rounds[number, [alone, cycle]] = cycle, alone
    starts = np.arange(switches) * cycle // switches
    peers = rounds[(np.arange(cycle)[:, None] + starts) % cycle].transpose(0, 2, 1)
    return Circuits("round robin", peers, _ending(peers))


KINDS: dict[str, Callable[[int, int, int], Circuits]] = {
    "opera": opera,
    "rotor": rotor,
    "regular": regular,
    "round-robin": lambda racks, switches, _: round_robin(racks, switches),
}
"""The kinds of networks that racks, switches and a seed define."""


def load(path: str | Path) -> Circuits:
    """Reads a schedule file of `Circuits.save`, or one of matchings as Opera's generator writes it: hosts, hosts a rack,
    uplinks and racks; slices and two durations; then a line a slice.

    Raises:
        PlanError: if it is neither; the error names the line.
    """
    path = Path(path)
    rows = list(rows_of(path, "schedule"))
    numbers = [integers(path, number, words) for number, words in rows]
    if numbers and len(numbers[0]) == 4:
        _, _, switches, racks = numbers[0]
        body, first = numbers[2:], 2
    elif numbers and len(numbers[0]) == 2:
        racks, switches = numbers[0]
        body, first = numbers[1:], 1
    else:
        raise PlanError("its first line must be: racks switches", file=str(path))
    if racks < 2 or switches < 1 or not body:
        raise PlanError("needs two racks, a switch and a slice at least", file=str(path))
    for (number, _), one in zip(rows[first:], body, strict=True):
        if len(one) != racks * switches:
            raise PlanError(
                f"has {len(one)} numbers, not {racks * switches}: one for each of {racks} racks and {switches} switches",
                file=f"{path}:{number}",
            )
        if not all(NOBODY <= peer < racks for peer in one):
            raise PlanError(f"a rack is a number from 0 to {racks - 1}", file=f"{path}:{number}")
    peers = np.array(body, dtype=np.int32).reshape(len(body), racks, switches)
    try:
        return checked(path.stem, peers)
    except PlanError as error:
        raise error.in_file(str(path)) from None


def checked(name: str, peers: NDArray[np.int32]) -> Circuits:
    """The network of this table of slices, racks and switches.

    Raises:
        PlanError: if a rack meets one that does not meet it.
    """
    made = Circuits(name, peers, _ending(peers))
    try:
        made.hops()
    except ValueError as error:
        raise PlanError(_one_way(peers) or str(error)) from None
    return made


def _one_way(peers: NDArray[np.int32]) -> str | None:
    """A sentence about the first circuit that does not lead back, of a switch that is no permutation; None without one."""
    for slot, switch in np.ndindex(peers.shape[0], peers.shape[2]):
        there = peers[slot, :, switch].tolist()
        if sorted(there) == list(range(len(there))):
            continue
        for rack, peer in enumerate(there):
            if peer != NOBODY and there[peer] != rack:
                leads = "nowhere" if there[peer] == NOBODY else f"to rack {there[peer]}"
                return f"slice {slot}: switch {switch} joins rack {rack} to rack {peer}, but leads rack {peer} {leads}"
    return None


def rows_of(path: Path, what: str) -> Iterator[tuple[int, list[str]]]:
    """The words of each line of a file of numbers, with the line's number; empty lines and those that begin with # are left
    out.

    Raises:
        PlanError: if it cannot be read.
    """
    try:
        lines = files.text_of(path, what).split("\n")
    except OSError as error:
        raise PlanError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise PlanError("is not text", file=str(path)) from None
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield number, words


def _ending(peers: NDArray[np.int32]) -> tuple[int | None, ...]:
    """The only switch that has changed by the next slice, of each slice."""
    changed = (peers != np.roll(peers, -1, axis=0)).any(axis=1)
    return tuple(
        int(np.flatnonzero(row)[0]) if row.sum() == 1 and peers.shape[2] > 1 else None
        for row in changed
    )


def integers(path: Path, number: int, words: Sequence[str]) -> list[int]:
    """The numbers of a line of a file.

    Raises:
        PlanError: if there is anything else.
    """
    try:
        return [int(word) for word in words]
    except ValueError:
        raise PlanError(
            "contains something other than whole numbers", file=f"{path}:{number}"
        ) from None


def _drawn(kind: str, racks: int, switches: int, seed: int) -> Circuits:
    for name, value in (("racks", racks), ("switches", switches), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise PlanError(f"{value!r} must be a whole number, not negative", key=name)
    try:
        peers, ending = _core.draw_circuits(kind, racks, switches, seed)
    except (ValueError, OverflowError) as error:
        raise PlanError(str(error)) from None
    table = peers.astype(np.int32)
    table[table == 0xFFFF] = NOBODY
    return Circuits(kind, table.reshape(len(ending), racks, switches), tuple(ending))


def _known(number: int, count: int, what: str) -> int:
    if not 0 <= number < count:
        raise PlanError(f"there is no {what} {number}: they are 0 to {count - 1}")
    return number
