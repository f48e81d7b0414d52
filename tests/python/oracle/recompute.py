# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes the tables of a run from its trace, as `docs/metrics.md` defines their columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oracle.packets import Packet, entering, leaving

Pair = tuple[int, int]
Interval = tuple[int, int]

NEVER = 2**63
CLIENT_PORT = 40_001
"""Of flow 0; flow n has the n-th port from there."""


@dataclass(frozen=True)
class Event:
    """One line of a trace's table of events."""

    time: int
    kind: str
    pair: Pair
    value: int
    size: int
    plane: str


def events(columns: Mapping[str, Any]) -> list[Event]:
    """The table of events, line by line."""
    names = ("t_ns", "kind", "src", "dst", "value", "bytes", "network")
    rows = zip(*(list(columns[name]) for name in names), strict=True)
    return [Event(int(t), k, (int(s), int(d)), int(v), int(b), n) for t, k, s, d, v, b, n in rows]


@dataclass(frozen=True)
class Trace:
    """What happened, beyond the end of the run by more than a week, so that gates which close for a later day are known."""

    plan: Mapping[str, Any]  # resolved
    events: Sequence[Event]
    packets: Sequence[Packet]
    begin: int  # M = [begin, end)
    end: int
    inclusive: bool = False
    """The run ended with its last event, which counts."""

    def measured(self, time: int) -> bool:
        return self.begin <= time and self.over(time)

    def over(self, time: int) -> bool:
        """Whether `time` is before the end of the run."""
        return time <= self.end if self.inclusive else time < self.end

    @property
    def large(self) -> int:
        """Bytes: packets whose time in the switch is of interest are larger."""
        return min(1000, int(self.plan["hosts"]["mtu"]) // 2)

    @property
    def planes(self) -> tuple[str, ...]:
        """Names of the networks that are side by side."""
        network = self.plan["network"]
        if "rdcn" not in network:
            return ("packet",)
        packet = ("packet",) if network["rdcn"]["packet"] else ()
        others = (f"circuit{n + 2}" for n in range(len(network["rdcn"]["circuits"]) - 1))
        return (*packet, "circuit", *others)

    def rate(self, plane: str, pair: Pair) -> int:
        """Bits a second; of a dumbbell the slowest stage's, 0 if none has a limit."""
        network = self.plan["network"]
        if "rdcn" in network:
            packet = network["rdcn"]["packet"]
            number = int(plane.removeprefix("circuit") or 1) - 1 if plane != "packet" else 0
            there = packet if plane == "packet" else network["rdcn"]["circuits"][number]
            return int(there["rate_bps"])
        stages = network["dumbbell"]["stages" if pair[0] < pair[1] else "return_stages"]
        rates = [int(s["rate_bps"]) for s in stages if s.get("rate_bps")]
        return min(rates, default=0) if plane == "packet" else 0


@dataclass(frozen=True)
class Carried:
    """A packet on its way over a plane."""

    plane: str
    began: int  # its (last) transmission
    left: int
    latency: int
    packet: Packet


@dataclass
class Sent:
    """A transmission on a plane, until the packet leaves it: to its host, back to its VOQ, or dropped."""

    plane: str
    began: int
    size: int
    ended: int


def pairs(trace: Trace) -> dict[Pair, dict[str, float | None]]:
    """The table `pairs`: a row a pair of which data left the network, or a packet was dropped."""
    rows = {}
    carried, sent = journeys(trace)
    lost = {e.pair for e in trace.events if e.kind == "drop" and trace.measured(e.time)}
    used = {
        pair
        for pair, of_pair in carried.items()
        if any(j.packet.payload and trace.measured(j.left) for j in of_pair)
    }
    for pair in sorted(lost | used):
        row: dict[str, float | None] = {**counts(trace, pair)}
        for plane in trace.planes:
            row.update(of_plane(trace, pair, plane, carried[pair], sent[pair]))
        row.update(voq(trace, pair))
        rows[pair] = row
    return rows


def journeys(
    trace: Trace,
) -> tuple[dict[Pair, list[Carried]], dict[Pair, list[Sent]]]:
    """By pair: the packets that left, and all transmissions.

    On a plane the packets of a pair stay in order: the n-th that leaves is the n-th that was sent. Only a packet that is held
    goes back before the pair's others and is sent again.
    """
    out = leaving(list(trace.packets))
    lost = defaultdict(list)
    for packet in trace.packets:
        if packet.comment:
            lost[packet.pair].append(packet)
    nth: dict[Pair, int] = defaultdict(int)
    waiting: dict[tuple[Pair, str], list[Sent]] = defaultdict(list)
    carried: dict[Pair, list[Carried]] = defaultdict(list)
    sent: dict[Pair, list[Sent]] = defaultdict(list)
    for event in trace.events:
        key = (event.pair, event.plane)
        if event.kind == "dequeue":
            one = Sent(event.plane, event.time, event.size, NEVER)
            sent[event.pair].append(one)
            waiting[key].append(one)
        elif event.kind == "drop":
            why = lost[event.pair].pop(0)
            assert why.time == event.time, (why, event)
            if "hold" in why.comment:  # it was sent, and found neither room there nor back here
                waiting[(event.pair, "packet")].pop(0).ended = event.time
        elif event.kind == "hold":
            # What finds no room arrives there in the order in which it was sent: it is the oldest that has not got there.
            waiting[(event.pair, "packet")].pop(0).ended = event.time
        elif event.kind == "depart":
            packet = out[event.pair][nth[event.pair]]
            nth[event.pair] += 1
            assert packet.time == event.time, (packet, event)
            assert packet.size == event.size, (packet, event)
            # A dumbbell's queues are not watched: there a packet is on its way from where it entered.
            began = event.time - event.value
            if waiting[key]:
                one = waiting[key].pop(0)
                began, one.ended = one.began, event.time
            carried[event.pair].append(Carried(event.plane, began, event.time, event.value, packet))
    return carried, sent


def of_plane(
    trace: Trace,
    pair: Pair,
    plane: str,
    carried: Iterable[Carried],
    sent: Iterable[Sent],
) -> dict[str, float]:
    """Payload, capacity and utilisation."""
    there = [j for j in carried if j.plane == plane and trace.measured(j.left)]
    payload = sum(journey.packet.payload for journey in there)
    rate = trace.rate(plane, pair)
    before = sum(
        one.size for one in sent if one.plane == plane and one.began < trace.begin <= one.ended
    )
    gate = open_times(trace, pair, plane) if rate else []
    busy = [
        (one.began, one.began + one.size * 8 * 10**9 // rate)
        for one in sent
        if one.plane == plane and rate
    ]
    open_for = length(clipped(union([*gate, *busy]), trace.begin, trace.end))
    open_for += unwatched(trace, pair) if trace.begin else 0
    capacity = rate * open_for // (8 * 10**9) + (before if rate else 0)
    return {
        f"{plane}_payload_bytes": payload,
        f"{plane}_packets": sum(journey.packet.size > trace.large for journey in there),
        f"{plane}_capacity_bytes": capacity,
        f"{plane}_utilization": payload / capacity if capacity else 0.0,
    }


def unwatched(trace: Trace, pair: Pair) -> int:
    """How long a dumbbell's packets may be under way from its slowest link on, the first of these if there are several: the
    delays, and a largest packet's transmission on each link."""
    network = trace.plan["network"]
    if "dumbbell" not in network:
        return 0
    stages = network["dumbbell"]["stages" if pair[0] < pair[1] else "return_stages"]
    rates = [int(s["rate_bps"] or NEVER) for s in stages]
    slowest = rates.index(min(rates))
    bits = 8 * (int(trace.plan["hosts"]["mtu"]) + 14)
    behind = zip(stages[slowest:], rates[slowest:], strict=True)
    return sum(int(s["delay_ns"]) - (-bits * 10**9 // rate) for s, rate in behind)


def open_times(trace: Trace, pair: Pair, plane: str) -> list[Interval]:
    """When the pair's gate to a plane is open.

    A circuit's from its day's start to its end; that of the packet network always, except from the start of the night before
    a day of the pair to the end of that day; and in no night, where it is dark in all. In a week's last night what comes is the
    first day of that week, also if another week follows.
    """
    dark = trace.plan["network"].get("rdcn", {}).get("night") == "all"
    last = max([trace.end, *(event.time for event in trace.events)])
    up, night = None, None
    expected, first = (
        set[Pair](),
        set[Pair](),
    )  # whom the first day of the week before, and of this one, joins
    begins = False
    circuits: list[Interval] = []
    closed: list[Interval] = []
    for event in trace.events:
        if event.kind == "night":
            night, begins = event.time, False
        elif event.kind == "week":
            begins, expected, first = True, first, set()
        elif event.kind == "day":
            if night is not None and (dark or (begins and pair in expected)):
                closed.append((night, event.time))
        elif event.kind == "circuit_up":
            if begins:
                first.add(event.pair)
            if event.pair == pair:
                up, kind = event.time, event.plane
                since = up if night is None or (begins and pair not in expected) else night
        elif event.kind == "circuit_down" and event.pair == pair and up is not None:
            circuits += [(up, event.time)] * (kind == plane)
            closed.append((since, event.time))
            up = None
    if up is not None:
        circuits += [(up, last)] * (kind == plane)
        closed.append((since, last))
    return circuits if plane != "packet" else complement(union(closed), 0, last)


def counts(trace: Trace, pair: Pair) -> dict[str, float]:
    """Drops by reason, and marks."""
    lost = [
        e for e in trace.events if e.kind == "drop" and e.pair == pair and trace.measured(e.time)
    ]
    marked = sum(
        1 for e in trace.events if e.kind == "mark" and e.pair == pair and trace.measured(e.time)
    )
    return {"dropped": len(lost), "marked": marked}


def voq(trace: Trace, pair: Pair) -> dict[str, float | None]:
    """Lengths of the VOQ: over time, as each packet leaves the network, and at the start of the pair's days; None where there
    is no VOQ, or no such instant."""
    if "dumbbell" in trace.plan["network"]:
        return dict.fromkeys(("voq_mean", "voq_mean_per_departure", "voq_at_day_start"))
    now, len_, area = 0, 0, 0
    departures, at_days = [], []
    for event in trace.events:
        if event.pair != pair and event.kind != "circuit_up":
            continue
        if event.kind in ("enqueue", "dequeue", "drop"):
            area += len_ * overlap((now, event.time), (trace.begin, trace.end))
            now, len_ = event.time, event.value
        elif event.kind == "depart" and event.size > trace.large and trace.measured(event.time):
            departures.append(len_)
        elif event.kind == "circuit_up" and event.pair == pair and trace.measured(event.time):
            at_days.append(len_)
    area += len_ * overlap((now, max(now, trace.end)), (trace.begin, trace.end))
    time = trace.end - trace.begin
    return {
        "voq_mean": area / time if time else 0.0,
        "voq_mean_per_departure": mean(departures),
        "voq_at_day_start": mean(at_days),
    }


def latencies(trace: Trace, pair: Pair, plane: str | None = None) -> list[int]:
    """Nanoseconds in the switch of packets over 1000 B that left in M, sorted."""
    carried, _ = journeys(trace)
    return sorted(
        journey.latency
        for journey in carried[pair]
        if (plane is None or journey.plane == plane)
        and journey.packet.size > trace.large
        and trace.measured(journey.left)
    )


def flows(trace: Trace) -> list[dict[str, int]]:
    """The table `flows`: what left the network for each flow's receiver, and what its sender sent again."""
    carried, _ = journeys(trace)
    flat = sorted((journey for of in carried.values() for journey in of), key=lambda j: j.left)
    rows = []
    for number, flow in enumerate(trace.plan["flows"]):
        client = (flow["src_rack"], flow["src_host"])
        port = CLIENT_PORT + number
        mine = [j for j in flat if j.packet.src == client and j.packet.ports[0] == port]
        rows.append(
            {
                **received(trace, mine, flow.get("bytes")),
                **by_plane(trace, mine),
                "retransmits": sent_again(trace, client, port),
            }
        )
    return rows


def received(trace: Trace, mine: Sequence[Carried], wanted: int | None) -> dict[str, int]:
    """Bytes that arrived in order within M, and when all were there (-1: never)."""
    start = next((j.packet.seq + 1 for j in mine if j.packet.syn), 0)
    held: list[Interval] = []
    delivered, ended, in_order = 0, -1, 0
    newest = next((j.packet.stamp for j in mine if j.packet.syn), None)
    for journey in mine:
        packet = journey.packet
        if packet.payload == 0:
            continue
        at = unwrapped(packet.seq - start, in_order)
        if packet.stamp is not None and newest is not None:
            if signed(packet.stamp - newest) < -1:
                continue  # PAWS (RFC 7323, section 5.3, R1) drops what was sent a tick before what was last taken in order
            if at <= in_order:
                newest = packet.stamp
        held = union([(0, in_order), *held, (at, at + packet.payload)])
        reached = held[0][1] if held[0][0] == 0 else 0
        if trace.measured(journey.left):
            delivered += reached - in_order
        in_order = reached
        if wanted is not None and in_order >= wanted and ended < 0 and trace.over(journey.left):
            ended = journey.left
    return {"bytes_delivered": delivered, "end_ns": ended}


def by_plane(trace: Trace, mine: Sequence[Carried]) -> dict[str, int]:
    """Payload by the plane that carried it."""
    return {
        f"{plane}_bytes": sum(
            j.packet.payload for j in mine if j.plane == plane and trace.measured(j.left)
        )
        for plane in trace.planes
    }


def sent_again(trace: Trace, client: tuple[int, int], port: int) -> int:
    """Segments that entered the network within M with a byte that had been sent before."""
    highest, again = None, 0
    for of in entering(list(trace.packets)).values():
        for packet in of:
            if packet.src != client or packet.ports[0] != port or packet.payload == 0:
                continue
            at = packet.seq if highest is None else highest + signed(packet.seq - highest)
            if highest is not None and at < highest and trace.measured(packet.time):
                again += 1
            highest = max(highest or 0, at + packet.payload)
    return again


def unwrapped(offset: int, near: int) -> int:
    """The offset closest to `near` that equals `offset` modulo 2^32."""
    return near + signed(offset - near)


def signed(difference: int) -> int:
    return (difference + 2**31) % 2**32 - 2**31


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same set as intervals that neither touch nor overlap, in order."""
    merged: list[Interval] = []
    for low, high in sorted(i for i in intervals if i[0] < i[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def complement(intervals: Sequence[Interval], low: int, high: int) -> list[Interval]:
    edges = [low, *(edge for interval in intervals for edge in interval), high]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def clipped(intervals: Iterable[Interval], low: int, high: int) -> list[Interval]:
    return [(max(a, low), min(b, high)) for a, b in intervals if max(a, low) < min(b, high)]


def overlap(a: Interval, b: Interval) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def length(intervals: Iterable[Interval]) -> int:
    return sum(high - low for low, high in intervals)


def mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
