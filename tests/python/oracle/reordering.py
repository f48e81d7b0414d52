# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes the table `reordering` and the flows' column `spurious` from a trace, byte by byte."""

from __future__ import annotations

from collections import Counter

from oracle.recompute import CLIENT_PORT, Trace, journeys, signed

QUANTITIES = ("events", "missing", "spurious")
Days = dict[str, Counter[int]]
"""Number of days by quantity and value."""


def reordering(trace: Trace) -> tuple[dict[str, Days], dict[int, int]]:
    """The days of each flow and of the pair, and packets in vain of each flow of the pair in M."""
    pair = tuple(trace.plan["measure"]["pair"])
    intervals = days(trace, pair)
    numbers = [
        number
        for number, flow in enumerate(trace.plan["flows"])
        if (flow["src_rack"], flow["dst_rack"]) == pair
    ]
    by_day: Counter[tuple[int, int, str]] = Counter()
    in_vain = dict.fromkeys(numbers, 0)
    for number in numbers:
        for time, counted in counts(trace, number, pair):
            if trace.measured(time):
                in_vain[number] += counted["spurious"]
            for index, (start, end) in enumerate(intervals):
                if start <= time < end:
                    for quantity in QUANTITIES:
                        by_day[number, index, quantity] += counted[quantity]
    of_flows: Days = {q: Counter() for q in QUANTITIES}
    of_pair: Days = {q: Counter() for q in QUANTITIES}
    for index in range(len(intervals)):
        for quantity in QUANTITIES:
            values = [by_day[number, index, quantity] for number in numbers]
            of_flows[quantity].update(values)
            of_pair[quantity][sum(values)] += 1
    return {"flow": of_flows, "pair": of_pair}, in_vain


def days(trace: Trace, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """The pair's days that began and ended in M, each until the next day of the week begins."""
    found = []
    up = None
    for event in trace.events:
        if event.kind == "day" and up is not None:
            if trace.measured(up) and trace.over(event.time):
                found.append((up, event.time))
            up = None
        elif event.kind == "circuit_up" and event.pair == pair:
            up = event.time
    return found


def counts(trace: Trace, number: int, pair: tuple[int, int]) -> list[tuple[int, dict[str, int]]]:
    """What each data packet of a flow counts for, with the time at which it left."""
    flow = trace.plan["flows"][number]
    client = (flow["src_rack"], flow["src_host"])
    found = []
    seen: set[int] = set()
    highest, largest, first = 0, 0, None
    for journey in journeys(trace)[0][pair]:
        packet = journey.packet
        if packet.src != client or packet.ports[0] != CLIENT_PORT + number:
            continue
        if packet.syn:
            first = packet.seq + 1
        if packet.payload == 0 or first is None:
            continue
        start = highest + signed(packet.seq - first - highest)
        end = start + packet.payload
        largest = max(largest, packet.payload)
        gap = max(start - highest, 0)
        covered = seen.issuperset(range(start, end))
        counted = {
            "events": int(gap > 0),
            "missing": -(-gap // largest),
            "spurious": int(covered),
        }
        seen.update(range(start, end))
        highest = max(highest, end)
        found.append((journey.left, counted))
    return found
