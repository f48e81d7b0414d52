# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the table of docs/training.md: what changes of circuits between phases of parallelism cost a training job."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import etalon as et
from etalon import pages

PAGE = Path(__file__).with_suffix(".md")
STAGES, REPLICAS, SHARDS, BATCHES = 4, 4, 2, 4
"""Pipeline stages, data-parallel replicas, tensor-parallel shards (hosts of a rack), and microbatches of an iteration."""
FORWARD, BACKWARD = "10ms", "20ms"
ACTIVATIONS, TENSORS, PARAMETERS = "8MB", "8MB", "64MB"
"""Of a rank: what passes a boundary of stages, what shards reduce, and what replicas gather and reduce."""
CHANGES = ("0us", "100us", "1ms", "3ms", "10ms", "30ms", "100ms")
LIMIT = 0.06
RATE = 100e9


def rank(stage: int, replica: int, shard: int) -> int:
    """Its rack is a server; its host there a shard."""
    return (stage * REPLICAS + replica) * SHARDS + shard


def ranks(stage: int) -> list[int]:
    """Of a stage."""
    return [rank(stage, replica, shard) for replica in range(REPLICAS) for shard in range(SHARDS)]


def work() -> tuple[list[Any], list[dict[str, Any]]]:
    """What an iteration does, and the circuits of each phase: one change from a phase to the next."""
    servers = [
        [rank(s, r, t) for t in range(SHARDS)] for s in range(STAGES) for r in range(REPLICAS)
    ]
    replicas = [
        [rank(s, r, t) for r in range(REPLICAS)] for s in range(STAGES) for t in range(SHARDS)
    ]

    def passes(stage: int, to: int) -> list[list[int]]:
        return [list(pair) for pair in zip(ranks(stage), ranks(to), strict=True)]

    def batch(span: str, order: range) -> list[Any]:
        deeds: list[Any] = []
        for stage in order:
            mine = [server for server in servers if server[0] in ranks(stage)]
            deeds += [
                et.compute(span, ranks=ranks(stage)),
                et.all_reduce(TENSORS, among=mine),
            ]
            to = stage + order.step
            if to in order:
                deeds.append(et.broadcast(ACTIVATIONS, among=passes(stage, to)))
        return deeds

    gather = [et.all_gather(PARAMETERS, among=replicas)]
    forward = batch(FORWARD, range(STAGES)) * BATCHES
    backward = batch(BACKWARD, range(STAGES - 1, -1, -1)) * BATCHES
    reduce = [et.reduce_scatter(PARAMETERS, among=replicas)]
    ring = [
        [s * REPLICAS + r, s * REPLICAS + (r + 1) % REPLICAS]
        for s in range(STAGES)
        for r in range(REPLICAS)
    ]
    on = [[rack, rack + REPLICAS] for rack in range((STAGES - 1) * REPLICAS)]
    phases = [
        (gather, ring),
        (forward, on),
        (backward, [pair[::-1] for pair in on]),
        (reduce, ring),
    ]
    do: list[Any] = []
    circuits, step = [], 0
    for deeds, pairs in phases:
        circuits.append({"step": step, "circuits": pairs})
        step += sum(steps(deed) for deed in deeds)
        do += deeds
    return do, circuits


def steps(deed: Any) -> int:
    """Of a computation or a broadcast to one rank 1; of rings so many as their ranks take."""
    if deed.all_reduce is not None:
        return 2 * (SHARDS - 1)
    return REPLICAS - 1 if deed.all_gather is not None or deed.reduce_scatter is not None else 1


def plan(change: str | None, ahead: bool = False) -> et.Plan:
    """The job over circuits that change between phases; without `change`, over a packet network as fast as they are."""
    do, circuits = work()
    net = et.network(
        racks=STAGES * REPLICAS,
        hosts=SHARDS,
        packet=("1Gbps" if change else "100Gbps", "1us"),
        circuit=("100Gbps", "1us"),
        host={"rate": "100Gbps", "jitter": "0us"},
        voq=5000,
    )
    week = et.packet_only(net)
    if change:
        week = et.asked(net, initial="none", reconfiguration=change, hold="0us", ahead=ahead)
    job = et.job(
        *do,
        circuits=circuits if change else "none",
        iterations=3,
        connect="0us",
        start="1ms",
        steps=False,
    )
    tcp = {"max_cwnd": 400}
    settings: dict[str, Any] = {"duration": "20s", "warmup": "0s", "tdf": 1, "end_when_done": True}
    return et.experiment(net, week, job, tcp=tcp, **settings)


def period(run: et.Run) -> float:
    """From an iteration's end to the next one's, in milliseconds: early stages begin one while others still compute."""
    ends = run.iterations["end_ns"].to_list()
    assert min(ends) > 0
    return float(ends[-1] - ends[0]) / (len(ends) - 1) / 1e6


def model() -> float:
    """The same from bytes and rates, without a change: the pipeline's filling counts as one more batch a stage."""

    def ms(size: str, share: float = 1) -> float:
        return share * et.units.SIZE.parse(size) * 8e3 / RATE * 9014 / 8948

    # Both shards of a server share its circuit, and each other's link within the server.
    exchange = SHARDS * ms(PARAMETERS, (REPLICAS - 1) / REPLICAS)
    pass_on, tensors = SHARDS * ms(ACTIVATIONS), ms(TENSORS)
    total = 2 * exchange
    for span in (FORWARD, BACKWARD):
        compute = et.units.TIME.parse(span) / 1e6
        # The last stage passes nothing on; a stage receives while it computes.
        total += (BATCHES + STAGES - 1) * (compute + tensors) + (STAGES - 1) * pass_on
        total += (BATCHES - 1) * pass_on
    return total


def limit(spans: list[float], over: list[float]) -> str:
    """The longest change whose overhead is below the limit, by a straight line between two that were run."""
    for (low, less), (high, more) in pairwise(zip(spans, over, strict=True)):
        if less <= LIMIT < more:
            return f"{low + (LIMIT - less) / (more - less) * (high - low):.1f} ms"
    return "below" if over[0] > LIMIT else f"over {spans[-1]:.0f} ms"


def table() -> str:
    """Runs everything; Markdown."""
    plans = [plan(None), *(plan(change, ahead) for ahead in (False, True) for change in CHANGES)]
    packets, *took = map(period, et.run_many(plans))
    spans = [et.units.TIME.parse(change) / 1e6 for change in CHANGES]
    many = took[: len(CHANGES)], took[len(CHANGES) :]
    over = [[one / took[0] - 1 for one in each] for each in many]
    lines = [
        "| change of circuits | iteration (ms) | overhead | 3 changes alone | asked ahead (ms) | overhead |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for at, (change, span) in enumerate(zip(CHANGES, spans, strict=True)):
        alone = 3 * span / took[0]
        lines.append(
            f"| {change} | {many[0][at]:.1f} | {over[0][at]:.1%} | {alone:.1%} | {many[1][at]:.1f} | {over[1][at]:.1%} |"
        )
    reached = [limit(spans, each) for each in over]
    lines += [
        "",
        f"Overhead stays below 6 % up to changes of {reached[0]}; asked ahead, up to {reached[1]}. Bytes, rates and "
        f"computations alone come to {model():.1f} ms; a packet network as fast as the circuits takes {packets:.1f} ms.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Runs everything, prints the table and writes it into the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = table()
    print(text)
    pages.put(PAGE, text + "\n")


if __name__ == "__main__":
    main()
