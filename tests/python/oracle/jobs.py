# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes the tables of a job from its trace. Who sends how much to whom is told anew here, from the papers' definitions."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from oracle.packets import Packet, entering, leaving
from oracle.recompute import NEVER, Event

Message = tuple[int, int, int]
"""Rank that sends, rank that receives, bytes."""


def shares(size: int, count: int) -> list[int]:
    """Pieces of a vector, the first of which are a byte longer if it does not divide."""
    return [size // count + (piece < size % count) for piece in range(count)]


def ring(n: int, size: int) -> Iterator[list[Message]]:
    """All-reduce: in step s rank r sends the piece that it has summed up last, so that half way it has the sum of piece r."""
    pieces = shares(size, n)
    for step in range(2 * (n - 1)):
        yield [(r, (r + 1) % n, pieces[(r - 1 - step) % n]) for r in range(n)]


def direct(n: int, size: int) -> Iterator[list[Message]]:
    """All-to-all: in step s each rank sends to the one s further on."""
    pieces = shares(size, n)
    for step in range(1, n):
        yield [(r, (r + step) % n, pieces[(r + step) % n]) for r in range(n)]


def doubling(n: int, size: int) -> Iterator[list[Message]]:
    """All-reduce by recursive doubling: whole vectors."""
    far = 1
    while far < n:
        yield [(r, r ^ far, size) for r in range(n)]
        far *= 2


def swing(n: int, size: int) -> Iterator[list[Message]]:
    """All-reduce by swing: halves, then back; sizes divide."""
    steps = n.bit_length() - 1
    order = [*range(steps), *reversed(range(steps))]
    for s in order:
        rho = (1 - (-2) ** (s + 1)) // 3
        yield [(r, (r + (rho if r % 2 == 0 else -rho)) % n, size >> (s + 1)) for r in range(n)]


NIC = 8 / 100
"""Nanoseconds a byte takes at a host's NIC, of 100 Gb/s."""
GAP = 2
"""Nanoseconds between packets of a busy NIC: its clock rounds."""

STEPS = {"ring": ring, "direct": direct, "recursive-doubling": doubling, "swing": swing}


@dataclass
class Rank:
    """Where a rank is: when it began its iteration, and when it was ready for its next step."""

    begun: int = 0
    ready: int = 0
    computed: int = 0


def streams(packets: Sequence[Packet]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """By rack pair: when how many bytes of the stream had arrived in order."""
    arrived: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pair, mine in leaving(list(packets)).items():
        (first,) = {packet.seq for packet in mine if packet.syn} or {None}
        if first is None:
            continue
        reached, beyond, curve = 0, {}, []
        for packet in mine:
            if packet.payload:
                at = (packet.seq - first - 1) % 2**32
                beyond[at] = max(beyond.get(at, 0), at + packet.payload)
                while reached in beyond:
                    reached = beyond.pop(reached)
                curve.append((packet.time, reached))
        arrived[pair] = curve
    return arrived


def delivered(packets: Sequence[Packet]) -> dict[tuple[tuple[int, int], tuple[int, int]], int]:
    """By sending and receiving host: bytes of the stream that left the network, each counted once."""
    spans: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    first: dict[tuple[Any, ...], int] = {}
    for packet in packets:
        key = (packet.src, packet.dst, packet.ports)
        if packet.syn:
            first[key] = packet.seq + 1
        if packet.payload and packet.place.endswith("-out"):
            at = (packet.seq - first[key]) % 2**32
            spans[key].append((at, at + packet.payload))
    found: dict[tuple[tuple[int, int], tuple[int, int]], int] = defaultdict(int)
    for (src, dst, _), mine in spans.items():
        reached = 0
        for begin, end in sorted(mine):
            found[src, dst] += max(0, end - max(begin, reached))
            reached = max(reached, end)
    return dict(found)


def received(
    curves: Mapping[tuple[int, int], list[tuple[int, int]]], pair: tuple[int, int], end: int
) -> int:
    """When so many bytes of a stream had arrived; -1 if they never had."""
    return next((time for time, reached in curves[pair] if reached >= end), -1)


def may_notice(
    packets: Sequence[Packet], pair: tuple[int, int], end: int, ready: int, reads: Sequence[int]
) -> list[int]:
    """When a sender may have noticed that so many bytes of a stream had been sent. It looks when it writes, when a packet of
    the connection comes, and when its peer reads a message (`reads`). Before the NIC was busy up to the last byte, TCP had not
    handed that over; the first look after it has reached the rack is the latest. In between the trace does not tell: what lies
    in the NIC's queue has been handed over, and only the congestion window says when."""
    mine = entering(list(packets))[pair]
    (first,) = {packet.seq for packet in mine if packet.syn}
    last = next(
        p.time for p in mine if (p.seq - first - 1) % 2**32 + p.payload >= end and not p.syn
    )
    busy = float(last)
    before = (p for p in packets if p.place.endswith("-in") and p.src[0] == pair[0])
    for packet in sorted((p for p in before if p.time <= last), key=lambda p: -p.time):
        if busy - packet.time > GAP:
            break
        busy = min(busy, packet.time) - packet.size * NIC
    came = (p.time for p in leaving(list(packets))[pair[::-1]])
    looks = sorted({ready, *reads, *came})
    until = next(time for time in looks if time >= last)
    return [time for time in looks if max(ready, busy - GAP) <= time <= until]


def tables(
    packets: Sequence[Packet],
    ranks: Sequence[int],
    work: Sequence[tuple[str, int]],
    iterations: int,
    slow: Mapping[int, float],
    told: Mapping[tuple[int, int, int, int], int],
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Rows of `steps` (iteration, step, rank, peer, bytes, ready, received) and of `iterations` (number, start, end, compute,
    slowest, exposed). `ranks` are their racks, `work` has ("compute", ns) or (algorithm, bytes). When a rank saw that a message
    had been sent is `told`, by iteration, step, rank and peer, and must be one of the times that the trace allows."""
    curves, sent, reads = streams(packets), defaultdict(int), defaultdict(list)
    n = len(ranks)
    states = [Rank() for _ in ranks]
    steps: list[tuple[int, ...]] = []
    rows: list[tuple[int, ...]] = []
    for iteration in range(iterations):
        for state in states:
            state.begun, state.computed = state.ready, 0
        number = 0
        for kind, amount in work:
            if kind == "compute":
                for rank, state in enumerate(states):
                    span = int(amount * slow.get(rank, 1) + 0.5)
                    steps.append((iteration, number, rank, -1, 0, state.ready, state.ready + span))
                    state.ready += span
                    state.computed += span
                number += 1
                continue
            for messages in STEPS[kind](n, amount):
                done = [state.ready for state in states]
                for src, dst, size in messages:
                    pair = (ranks[src], ranks[dst])
                    sent[pair] += size
                    # It is read when its receiver has come to this step.
                    there = max(received(curves, pair, sent[pair]), states[dst].ready)
                    steps.append((iteration, number, src, dst, size, states[src].ready, there))
                    done[dst] = max(done[dst], there)
                    at = told[iteration, number, src, dst]
                    reads[pair].append(there)
                    possible = may_notice(packets, pair, sent[pair], states[src].ready, reads[pair])
                    assert at in possible, (at, possible)
                    done[src] = max(done[src], at)
                for state, ready in zip(states, done, strict=True):
                    state.ready = ready
                number += 1
        spans = [state.computed for state in states]
        exposed = [state.ready - state.begun - state.computed for state in states]
        start, end = min(s.begun for s in states), max(s.ready for s in states)
        rows.append((iteration, start, end, sum(spans) // n, max(spans), sum(exposed) // n))
    return steps, rows


def circuits(events: Iterable[Event]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """By rack pair: when its circuit was up, from and until."""
    up: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event.kind == "circuit_up":
            up[event.pair].append((event.time, NEVER))
        elif event.kind == "circuit_down":
            up[event.pair][-1] = (up[event.pair][-1][0], event.time)
    return up


def uplinks(events: Iterable[Event]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """By rack pair, in a network of circuits: when a circuit was up, from and until. Of several between two racks the oldest
    goes first, as the trace does not tell which one went: if one went too early, so did one of these."""
    up: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    since: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for event in events:
        if event.kind == "uplink_joined":
            since[event.pair].append(event.time)
        elif event.kind == "uplink_parted":
            up[event.pair].append((since[event.pair].popleft(), event.time))
    for pair, times in since.items():
        up[pair] += [(time, NEVER) for time in times]
    return up


def arrives(
    circuits: Mapping[tuple[int, int], Sequence[tuple[int, int]]],
    ends: tuple[int, int],
    begin: int,
    wire: float,
    delay: int,
) -> float:
    """When a packet that enters the first rack at `begin` can be in the other at the earliest, over circuits that are up from
    its first bit to its last; it may wait in any rack."""
    found, waiting = {ends[0]: float(begin)}, [(float(begin), ends[0])]
    while waiting:
        time, rack = heappop(waiting)
        if rack == ends[1]:
            return time
        for (here, there), spans in circuits.items():
            if here != rack:
                continue
            starts = (max(time, up) for up, down in spans if max(time, up) + wire <= down + 1)
            arrival = min(starts, default=NEVER) + wire + delay
            if arrival < found.get(there, NEVER):
                found[there] = arrival
                heappush(waiting, (arrival, there))
    return NEVER


def passages(packets: Sequence[Packet]) -> Iterator[tuple[Packet, Packet]]:
    """Segments with data, as they entered the network and as they left it; those that were sent again in the order of both."""
    inside: dict[tuple[Any, ...], deque[Packet]] = defaultdict(deque)
    for packet in packets:
        key = (packet.src, packet.dst, packet.ports, packet.seq, packet.payload, packet.stamp)
        if packet.payload and packet.place.endswith("-in"):
            inside[key].append(packet)
        elif packet.payload and packet.place.endswith("-out"):
            yield inside[key].popleft(), packet
