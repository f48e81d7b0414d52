# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes what a run has of the measured pair over time, and of its flows' senders: `sequence`, `days`, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import mean, stdev
from typing import Any

from oracle.recompute import CLIENT_PORT, Interval, Pair, Trace, unwrapped

STEP = 1000
"""Nanoseconds between the samples of `sequence`."""
FEW = 10
"""Packets that a plane must have been fed with, to tell a rate."""

Step = tuple[int, float]
"""From an instant on, a value."""


def measured(trace: Trace) -> Pair:
    """The pair under test."""
    src, dst = trace.plan["measure"]["pair"]
    return src, dst


def runs(trace: Trace, planned_end: int) -> list[int]:
    """When runs of the sequence graph begin: at ends of the pair's days within M, one after the other, if they end in time."""
    length = run_length(trace)
    starts: list[int] = []
    for event in trace.events:
        down = event.kind == "circuit_down" and event.pair == measured(trace)
        if not down or not trace.measured(event.time):
            continue
        if event.time + length <= planned_end and (not starts or event.time >= starts[-1] + length):
            starts.append(event.time)
    return starts


def run_length(trace: Trace) -> int:
    week = sum(c["day_ns"] + c["night_ns"] for c in trace.plan["schedule"]["configurations"])
    return int(week * trace.plan["measure"]["weeks_per_run"])


def sequence(trace: Trace, starts: Sequence[int]) -> dict[str, list[float]]:
    """The columns `bytes` and `voq_packets`: sampled in each run, and averaged."""
    samples = range(0, run_length(trace), STEP)
    lines = [reached(trace, number) for number in flows_of_pair(trace)]
    bytes_ = [
        [on_line(line, start + at) - on_line(line, start) for line in lines for start in starts]
        for at in samples
    ]
    lengths = voq_lengths(trace)
    voq = [[on_steps(lengths, start + at) for start in starts] for at in samples]
    return {
        "bytes": [mean(column) if column else 0.0 for column in bytes_],
        "voq_packets": [mean(column) for column in voq],
    }


def flows_of_pair(trace: Trace) -> list[int]:
    """Numbers of the flows from the measured rack to the other."""
    return [
        number
        for number, flow in enumerate(trace.plan["flows"])
        if (flow["src_rack"], flow["dst_rack"]) == measured(trace)
    ]


def reached(trace: Trace, number: int) -> list[tuple[int, int]]:
    """How far a flow's stream had left the network, as corners of a line."""
    flow = trace.plan["flows"][number]
    client = (flow["src_rack"], flow["src_host"])
    corners, first, highest = [(0, 0)], None, 0
    for packet in trace.packets:
        if packet.src != client or packet.ports[0] != CLIENT_PORT + number:
            continue
        if packet.syn and first is None:
            first = packet.seq + 1
        if packet.place.endswith("-out") and packet.payload and trace.over(packet.time):
            assert first is not None
            end = unwrapped(packet.seq + packet.payload - first, highest)
            highest = max(highest, end)
            corners.append((packet.time, highest))
    return [*corners, (trace.end, highest)]


def voq_lengths(trace: Trace) -> list[Step]:
    """The length of the measured pair's VOQ."""
    changes = ("enqueue", "dequeue", "drop")
    of_pair = (e for e in trace.events if e.pair == measured(trace) and e.kind in changes)
    return [(0, 0.0), *((event.time, float(event.value)) for event in of_pair)]


def on_line(corners: Sequence[tuple[int, int]], time: int) -> float:
    """The value of a line at an instant."""
    for (t0, v0), (t1, v1) in pairwise(corners):
        if t0 <= time <= t1 and t0 < t1:
            return v0 + (v1 - v0) * (time - t0) / (t1 - t0)
    return float(corners[-1][1])


def on_steps(steps: Sequence[Step], time: int) -> float:
    """The value that holds at an instant."""
    return [value for at, value in steps if at <= time][-1]


def days(trace: Trace) -> dict[str, list[float]]:
    """The table `days`: what its means and deviations are taken of."""
    weeks = [e.time for e in trace.events if e.kind == "week" and trace.measured(e.time)]
    found: dict[str, list[float]] = {
        "day_ns": [],
        "week_ns": [float(b - a) for a, b in pairwise(weeks)],
    }
    up = None
    for event in trace.events:
        if event.pair != measured(trace) or not trace.measured(event.time):
            continue
        if event.kind == "circuit_up":
            up = event.time
        elif event.kind == "circuit_down" and up is not None:
            found["day_ns"].append(float(event.time - up))
            up = None
    for plane, ends in (("packet", "circuit_up"), ("circuit", "circuit_down")):
        found[f"{plane}_rate_bps"] = list(rates(trace, plane, ends))
    return found


def rates(trace: Trace, plane: str, ends: str) -> Iterator[float]:
    """The rate at which a plane is fed with the pair's packets, each time up to an event that ends it."""
    fed: list[tuple[int, int]] = []
    for event in trace.events:
        if event.pair != measured(trace) or not trace.measured(event.time):
            continue
        if event.kind == "dequeue" and event.plane == plane:
            fed.append((event.time, event.size))
        elif event.kind == ends:
            if len(fed) >= FEW:
                bits = 8 * sum(size for _, size in fed[:-1])
                yield bits * 1e9 / (fed[-1][0] - fed[0][0])
            fed = []


def moments(values: Sequence[float]) -> tuple[float, float, int]:
    """Mean, standard deviation and number."""
    deviation = stdev(values) if len(values) > 1 else 0.0
    return (mean(values) if values else 0.0), deviation, len(values)


def mean_cwnd(rows: Sequence[dict[str, Any]], within: Interval) -> float:
    """The mean over time of a sender's window, from the table `tcp`: none before its first row."""
    begin, end = within
    area = 0
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        until = following["t_ns"] if following else end
        area += row["cwnd"] * max(0, min(until, end) - max(row["t_ns"], begin))
    return area / (end - begin)


def entered(rows: Sequence[dict[str, Any]], state: str, within: Interval) -> int:
    """How often a sender's recovery came into a state within a time."""
    states = [(row["t_ns"], row["state"]) for row in rows]
    return sum(
        new == state != old and within[0] <= time < within[1]
        for (_, old), (time, new) in pairwise(states)
    )
