# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes the table `ports`: of switches from what happened at each queue, of dumbbells from the packets that entered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from oracle.packets import Packet
from oracle.recompute import Trace, overlap

Queue = tuple[int, int]
"""The switch, and the number there."""
Columns = dict[str, float]


@dataclass
class Seen:
    """What happened at a queue: times in ns."""

    lengths: list[tuple[int, int]] = field(default_factory=list)
    sent: list[tuple[int, int]] = field(default_factory=list)  # when transmitted, bytes
    dropped: list[int] = field(default_factory=list)
    marked: list[int] = field(default_factory=list)


def of_switches(trace: Trace, columns: Mapping[str, Any]) -> dict[Queue, Seen]:
    """From the events of a trace."""
    seen: dict[Queue, Seen] = defaultdict(Seen)
    names = ("t_ns", "kind", "at", "queue", "value", "bytes")
    for time, kind, at, number, value, size in zip(*(columns[n] for n in names), strict=True):
        queue = seen[int(at), int(number)]
        if kind in ("enqueue", "dequeue", "drop"):
            queue.lengths.append((int(time), int(value)))
        if kind == "dequeue":
            queue.sent.append((int(time), int(size)))
        if kind == "drop":
            queue.dropped.append(int(time))
        if kind == "mark":
            queue.marked.append(int(time))
    return seen


def of_dumbbell(trace: Trace) -> dict[Queue, Seen]:
    """From the packets that entered: each stage transmits one after the other, and drops what it has no place for."""
    network = trace.plan["network"]["dumbbell"]
    seen: dict[Queue, Seen] = defaultdict(Seen)
    first = 0
    for rack, stages in enumerate((network["stages"], network["return_stages"])):
        entering = [p for p in trace.packets if p.place == f"tor{rack}-in" and p.dst[0] != rack]
        packets = [(packet.time, packet.size) for packet in entering]
        for number, stage in enumerate(stages, first):
            packets = pass_stage(stage, packets, seen[0, number])
        first += len(stages)
    return seen


def pass_stage(
    stage: Mapping[str, Any], packets: Sequence[tuple[int, int]], seen: Seen
) -> list[tuple[int, int]]:
    """The packets (time, bytes) at the end of a stage."""
    delay, rate = int(stage["delay_ns"]), stage["rate_bps"]
    if not rate:
        return [(time + delay, size) for time, size in packets]
    free, inside, passed = Fraction(0), list[int](), list[tuple[int, int]]()
    for time, size in packets:
        inside = [left for left in inside if left > time]
        if len(inside) >= (stage["queue_packets"] or 2**32):
            seen.dropped.append(time)
            continue
        free = (free if time <= int(free) else Fraction(time)) + Fraction(size * 8 * 10**9, rate)
        inside.append(int(free))
        seen.sent.append((int(free), size))
        passed.append((int(free) + delay, size))
        # It is there from now on; that those before it leave is added below.
        seen.lengths.append((time, 1))
        seen.lengths.append((int(free), -1))
    length = 0
    steps = sorted(seen.lengths, key=lambda step: (step[0], step[1]))
    seen.lengths = [(time, length := length + change) for time, change in steps]
    return passed


def row(trace: Trace, seen: Seen, rate: int) -> Columns:
    """A port's numbers in M."""
    measured = [(time, size) for time, size in seen.sent if trace.measured(time)]
    time = trace.end - trace.begin
    bits = 8 * sum(size for _, size in measured)
    if measured:
        at, size = measured[0]
        bits -= max(8 * size - rate * (at - trace.begin) // 10**9, 0)
    return {
        "packets": len(measured),
        "bytes": sum(size for _, size in measured),
        "dropped": sum(map(trace.measured, seen.dropped)),
        "marked": sum(map(trace.measured, seen.marked)),
        "longest": longest(trace, seen),
        "queue_p50": percentile(trace, seen, 50),
        "queue_p99": percentile(trace, seen, 99),
        "queue_mean": area(trace, seen) / time,
        "utilization": bits * 1e9 / (rate * time),
    }


def longest(trace: Trace, seen: Seen) -> int:
    before = [value for time, value in seen.lengths if time < trace.begin]
    within = [value for time, value in seen.lengths if trace.measured(time)]
    return max([*before[-1:], *within], default=0)


def area(trace: Trace, seen: Seen) -> int:
    """Of the length over M."""
    total, since, length = 0, 0, 0
    for time, value in [*seen.lengths, (trace.end, 0)]:
        total += length * overlap((since, max(since, time)), (trace.begin, trace.end))
        since, length = max(since, time), value
    return total


def percentile(trace: Trace, seen: Seen, percent: int) -> int:
    """The least length that a queue did not exceed for so long a part of M."""
    held: Counter[int] = Counter()
    since, length = 0, 0
    for time, value in [*seen.lengths, (trace.end, 0)]:
        held[length] += overlap((since, max(since, time)), (trace.begin, trace.end))
        since, length = max(since, time), value
    below, total = 0, held.total()
    for length in sorted(held):
        below += held[length]
        if below * 100 >= percent * total:
            return length
    return 0


def delivered(trace: Trace, host: tuple[int, int]) -> list[Packet]:
    """The packets that reached a host in M, as they were captured."""
    out = (p for p in trace.packets if p.place == f"tor{host[0]}-out" and p.dst == host)
    return [packet for packet in out if trace.measured(packet.time)]
