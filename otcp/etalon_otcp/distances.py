# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distances of switches to a target: by Dijkstra's algorithm, or from what they were before links changed.

The second follows Ramalingam and Reps ("An Incremental Algorithm for a Generalization of the Shortest-Path Problem", 1996): it
touches the switches whose distance changes, and their neighbours.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from etalon_otcp.network import Link

Distances = Mapping[str, int]
"""ns to the target, by switch; switches without a way are not in it."""


@dataclass(frozen=True)
class Graph:
    """Links by the switch that they enter, and by the switch that they leave. All delays are positive."""

    into: Mapping[str, Sequence[Link]]
    out: Mapping[str, Sequence[Link]]


def distances(graph: Graph, target: str) -> Distances:
    """All distances to a target."""
    found: dict[str, int] = {}
    _settle(graph, found, [(0, target)])
    return found


def repaired(
    graph: Graph, target: str, before: Distances, changed: Iterable[str]
) -> tuple[Distances, set[str]]:
    """Distances after links out of the switches `changed` have, and the switches whose distance is another than `before`."""
    lost = _lost(graph, target, before, changed)
    known = (
        {switch: far for switch, far in before.items() if switch not in lost} if lost else before
    )
    seeds = []
    for switch in lost.union(changed) - {target}:
        far = _nearest(graph, switch, known)
        if far is not None and (switch not in known or far < known[switch]):
            seeds.append((far, switch))
    if not lost and not seeds:
        return before, set()
    found = dict(known)
    return found, lost | _settle(graph, found, seeds)


def _lost(graph: Graph, target: str, before: Distances, changed: Iterable[str]) -> set[str]:
    """Switches that no neighbour brings to the target at the distance of before, nearest first."""
    lost: set[str] = set()
    queue = [(before[switch], switch) for switch in changed if switch in before]
    heapq.heapify(queue)
    while queue:
        far, switch = heapq.heappop(queue)
        if switch in lost or switch == target:
            continue
        if any(
            onward in before and onward not in lost and delay + before[onward] <= far
            for delay, onward in _onward(graph, switch)
        ):
            continue
        lost.add(switch)
        for link in graph.into.get(switch, ()):
            behind = link.source.switch
            if before.get(behind) == far + link.delay_ns.value:
                heapq.heappush(queue, (before[behind], behind))
    return lost


def _settle(graph: Graph, found: dict[str, int], queue: list[tuple[int, str]]) -> set[str]:
    """Takes what is nearer than known, nearest first, and passes it on; returns whose distance has changed."""
    heapq.heapify(queue)
    changed: set[str] = set()
    while queue:
        far, switch = heapq.heappop(queue)
        if switch in found and far >= found[switch]:
            continue
        found[switch] = far
        changed.add(switch)
        for link in graph.into.get(switch, ()):
            behind, total = link.source.switch, far + link.delay_ns.value
            if behind not in found or total < found[behind]:
                heapq.heappush(queue, (total, behind))
    return changed


def _nearest(graph: Graph, switch: str, known: Distances) -> int | None:
    return min(
        (delay + known[onward] for delay, onward in _onward(graph, switch) if onward in known),
        default=None,
    )


def _onward(graph: Graph, switch: str) -> Iterable[tuple[int, str]]:
    return ((link.delay_ns.value, link.target.switch) for link in graph.out.get(switch, ()))
