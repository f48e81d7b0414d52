# SPDX-License-Identifier: MIT OR Apache-2.0
"""Static graphs of racks, and of switches without hosts between them: folded Clos networks, random graphs, files.

graph = etalon.graphs.clos(k=12, oversubscription=3)
graph.racks, graph.nodes, graph.uplinks
graph.save("clos.txt")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from etalon import _core, circuits, files
from etalon.errors import EtalonError, PlanError

MOST_NODES = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Racks, followed by switches without hosts (relays), each with the numbers of its neighbours. Links go both ways."""

    name: str
    racks: int
    neighbours: tuple[tuple[int, ...], ...]

    @property
    def nodes(self) -> int:
        """Number of racks and relays."""
        return len(self.neighbours)

    @property
    def uplinks(self) -> int:
        """Links of the node that has the most."""
        return max(map(len, self.neighbours))

    def matched(self) -> list[list[int]]:
        """For each uplink and each node, the node at the other end, or -1. Over one uplink, at most one node leads to each
        node."""
        return [
            [-1 if peer == 0xFFFF else peer for peer in row]
            for row in _core.match_graph([list(row) for row in self.neighbours])
        ]

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Writes the graph as text, one line per node with its neighbours, and returns the path. Raises `PlanError` if the file
        exists and `force` is not set."""
        path = Path(path)
        if path.exists() and not force:
            raise PlanError("already exists; force=True replaces it", file=str(path))
        try:
            files.put(path, "".join(" ".join(map(str, row)) + "\n" for row in self.neighbours))
        except OSError as error:
            raise EtalonError(f"{path}: could not be written: {error.strerror}") from error
        return path

    def __repr__(self) -> str:
        relays = self.nodes - self.racks
        return f"<Graph {self.name}: {self.racks} racks, {relays} relays, {self.uplinks} links each at most>"


def clos(k: int = 12, oversubscription: int = 1) -> Graph:
    """A folded Clos network of three layers of switches with `k` ports: `k` pods of `k / 2` ToR switches, each with
    `oversubscription` times as many ports to hosts as up. Aggregation switch j of a pod leads to core switches j k/2 to (j +
    1) k/2 - 1 (Al-Fares et al., SIGCOMM 2008). Opera's authors use 3:1 with k = 12: 72 racks of 9 hosts.

    Raises:
        PlanError: if `k` ports cannot be divided that way.
    """
    if k < 2 or k % 2 or oversubscription < 1 or k % (oversubscription + 1):
        raise PlanError(
            f"switches of {k} ports cannot have {oversubscription} times as many ports down as up: take an even number that "
            f"{oversubscription + 1} divides"
        )
    up, half = k // (oversubscription + 1), k // 2
    racks, relays = k * half, k * up
    links: list[list[int]] = [[] for _ in range(racks + relays + up * half)]
    for pod in range(k):
        for j in range(up):
            switch = racks + pod * up + j
            below = range(pod * half, (pod + 1) * half)
            above = range(racks + relays + j * half, racks + relays + (j + 1) * half)
            for other in (*below, *above):
                links[switch].append(other)
                links[other].append(switch)
    return Graph(f"clos {oversubscription}:1", racks, tuple(map(tuple, links)))


def regular(racks: int = 130, degree: int = 7, seed: int = 1) -> Graph:
    """A random connected graph with `degree` neighbours per rack (Jellyfish, NSDI 2012).

    Raises:
        PlanError: if there is none.
    """
    peers = circuits.regular(racks, degree, seed).peers[0]
    return Graph("regular", racks, tuple(tuple(map(int, row)) for row in peers))


def given(rows: Sequence[Sequence[int]], racks: int, where: str = "", first_line: int = 1) -> Graph:
    """The graph of these neighbours, of which the first `racks` have hosts.

    Raises:
        PlanError: for a neighbour that does not exist, a link that goes one way, or a part that the others do not reach.
    """

    def line(row: int) -> str | None:
        return f"{where}:{row + first_line}" if where else None

    if not 2 <= racks <= len(rows) <= MOST_NODES:
        raise PlanError(
            f"has {len(rows)} nodes: a graph has at least as many as racks, here {racks}, and at most {MOST_NODES}",
            file=where or None,
        )
    for number, row in enumerate(rows):
        for peer in row:
            if not 0 <= peer < len(rows) or peer == number:
                raise PlanError(
                    f"node {number} cannot have the neighbour {peer}: they are 0 to {len(rows) - 1}, and not itself",
                    file=line(number),
                )
            if list(row).count(peer) != list(rows[peer]).count(number):
                raise PlanError(
                    f"node {number} has more links to node {peer} than node {peer} has back",
                    file=line(number),
                )
    reached, waiting = {0}, [0]
    while waiting:
        for peer in rows[waiting.pop()]:
            if peer not in reached:
                reached.add(peer)
                waiting.append(peer)
    if lost := sorted(set(range(len(rows))) - reached):
        raise PlanError(f"node {lost[0]} is not reached from node 0", file=line(lost[0]))
    return Graph("given", racks, tuple(tuple(map(int, row)) for row in rows))


def load(path: str | Path, racks: int | None = None) -> Graph:
    """Reads a file of `Graph.save`: a line a node with its neighbours; lines that begin with # are left out. The first `racks`
    have hosts; all, without it.

    Raises:
        PlanError: if it is no such file; the error names the line.
    """
    path = Path(path)
    rows, lines = [], []
    for number, words in circuits.rows_of(path, "graph"):
        rows.append(circuits.integers(path, number, words))
        lines.append(number)
    try:
        return given(rows, len(rows) if racks is None else racks, str(path))
    except PlanError as error:
        # The line of the file, where comments were left out.
        place, mark, row = (error.file or "").rpartition(":")
        if mark and row.isdecimal() and place == str(path):
            raise PlanError(error.expected, file=f"{path}:{lines[int(row) - 1]}") from None
        raise


def as_circuits(graph: Graph) -> circuits.Circuits:
    """The graph as a network of circuits with one slice that stays."""
    table = np.array(graph.matched(), dtype=np.int32).T[None, :, :]
    return circuits.Circuits(graph.name, np.ascontiguousarray(table), (None,))
