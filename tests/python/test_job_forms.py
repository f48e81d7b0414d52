# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every algorithm on an idle dedicated network against its closed form, from steps and bytes of the literature alone.

Sources: Thakur, Rabenseifner and Gropp 2005 (ring, halving, doubling, binomial), Bruck et al. 1997, De Sensi et al. 2024
(swing); docs/jobs.md has what a step is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import etalon as et
from conftest import drawn_today
from etalon.plan.workloads.job import algorithms
from test_closed_forms import circuits_only

MB = 1_000_000
RATE = 100e9
DELAY = 500
HOST = {"rate": "100Gbps", "delay": "0us", "jitter": "0us"}
PAYLOAD, HEADERS = 8948, 66
"""Bytes of a full segment at an MTU of 9000 with time stamps, and those around it on the wire."""
PIECES = 16
"""Of chains and trees, if a plan names no number."""
KINDS = {kind: tuple(names) for kind, names in algorithms().items()}


def dedicated(ranks: int, deed: dict[str, Any], iterations: int) -> et.Plan:
    """One port a rank, a circuit for every message, which costs nothing to change; connections exist, and windows are open."""
    net = circuits_only(ranks)
    # A chain's circuits stay: whoever is ahead streams.
    step = 1 if "broadcast" in deed else -1
    chain = [(rack, (rack + step) % ranks) for rack in range(ranks)]
    is_chain = deed["algorithm"] == "chain"
    initial = chain if is_chain else "ring"
    week = et.asked(net, reconfiguration="0us", request="0us", hold="0us", initial=initial)
    # The rings of two-trees are not matchings: they have the packet network.
    circuits = "none" if is_chain else "each"
    if deed["algorithm"] == "two-trees":
        packet = {"rate": "100Gbps", "delay": f"{DELAY}ns", "hold_queue": 100_000}
        net = et.network(racks=ranks, hosts=1, packet=packet, host=HOST, voq=100_000)
        week, circuits = et.packet_only(net), "none"
    tcp = {"initial_cwnd": 200, "max_cwnd": 200, "receive_buffer": "3145.728kB"}
    job = et.job(deed, circuits=circuits, iterations=iterations, connect="0us", start="1ms")
    settings: Any = {"tdf": 1, "warmup": "0ms", "duration": "5s", "end_when_done": True}
    return et.experiment(net, week, job, tcp=tcp, **settings)


def tree_steps(ranks: int, place: int = 0) -> int:
    """Steps of a broadcast in a heap, where the second child has the vector one step after the first."""
    children = [child for child in (2 * place + 1, 2 * place + 2) if child < ranks]
    below = [at + tree_steps(ranks, child) for at, child in enumerate(children, start=1)]
    return max(below, default=0)


def steps(kind: str, name: str, n: int, m: float) -> Iterator[float]:
    """Bytes of the longest message of each step, of a vector of `m` bytes among `n` ranks."""
    share, doublings = m / n, math.ceil(math.log2(n))
    halves = [m / 2**i for i in range(1, doublings + 1)]
    if name in ("halving-doubling", "cyclic", "swing"):
        yield from halves if kind != "all-gather" else ()
        yield from reversed(halves) if kind != "reduce-scatter" else ()
    elif name == "ring":
        yield from [share] * ((n - 1) * (2 if kind == "all-reduce" else 1))
    elif name in ("direct", "pairwise"):
        yield from [share] * (n - 1)
    elif name in ("recursive-doubling", "binomial"):
        yield from [m] * doublings
    elif name == "bruck" and kind == "all-gather":
        yield from (share * min(2**i, n - 2**i) for i in range(doublings))
    elif name == "bruck":
        yield from (
            share * sum(1 for block in range(n) if block >> i & 1) for i in range(doublings)
        )
    elif name == "chain":
        # The root streams all pieces; each rank behind the second adds the time of one.
        yield from [m, *[m / PIECES] * (n - 2)]
    elif name == "tree":
        yield from [m] * tree_steps(n)
    elif name == "hierarchical":
        size, groups = n // 2, 2
        yield from [m / size] * (size - 1)
        yield from [m / n] * (2 * (groups - 1))
        yield from [m / size] * (size - 1)
    else:
        raise AssertionError(name)


def closed_form(messages: Iterator[float]) -> float:
    """Nanoseconds: each message on the wire, its first packet once more behind the NIC, and the way."""
    total = 0.0
    for size in messages:
        on_wire = size + HEADERS * math.ceil(size / PAYLOAD)
        first = min(size, PAYLOAD) + HEADERS
        total += (on_wire + first) * 8e9 / RATE + DELAY
    return total


def fits(name: str, n: int) -> bool:
    """Whether the algorithm is for so many ranks."""
    powers = ("halving-doubling", "cyclic", "swing", "pairwise", "recursive-doubling")
    return n & (n - 1) == 0 if name in powers else name != "hierarchical" or (n % 2 == 0 and n > 2)


def deed(kind: str, name: str, size: int) -> dict[str, Any]:
    return {kind.replace("-", "_"): f"{size * MB}B", "algorithm": name}


def took(ranks: int, deed: dict[str, Any]) -> int:
    """The second iteration, when windows are open; of a broadcast or reduction the first: ranks are not in step after it."""
    in_step = "broadcast" not in deed and "reduce" not in deed
    run = et.run(dedicated(ranks, deed, 2 if in_step else 1))
    row = run.iterations.row(-1, named=True)
    assert row["end_ns"] > 0
    return int(row["end_ns"] - row["start_ns"])


ELSEWHERE = ("two-trees", "ternary")
"""Two trees have no closed form; balanced ternary needs two ports (test_circuit_jobs.py)."""
RANKS = (2, 3, 5, 6, 7, 8, 16, 64)
CASES = [
    (kind, name, n, 4)
    for kind, names in KINDS.items()
    for name in names
    for n in RANKS
    if name not in ELSEWHERE and fits(name, n)
]
LONG = [
    (kind, name, n, size)
    for kind, names in KINDS.items()
    for name in names
    for n, size in ((8, 64), (4, 256))
    if name not in ELSEWHERE and fits(name, n)
]


@pytest.mark.parametrize("case", drawn_today(CASES, 24))
def test_it_takes_what_the_closed_form_says(case: tuple[str, str, int, int]) -> None:
    kind, name, ranks, size = case
    expected = closed_form(steps(kind, name, ranks, size * MB))
    assert took(ranks, deed(kind, name, size)) == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("case", LONG)
def test_long_vectors_do_too(case: tuple[str, str, int, int]) -> None:
    test_it_takes_what_the_closed_form_says(case)


@pytest.mark.parametrize("ranks", [3, 8, 64])
def test_two_trees_are_between_their_bounds(ranks: int) -> None:
    """They have no closed form: at least what the busiest port carries; and in each step a message waits at most for all that
    its sender sends, and then for all that its receiver receives."""
    size, pieces = 16 * MB, 64
    deed = {"all_reduce": f"{size}B", "algorithm": "two-trees", "pieces": pieces}
    # To two children, in one tree; up in the other.
    least = closed_form(iter([1.5 * size]))
    depth = math.floor(math.log2(ranks)) + 1
    most = closed_form(iter([2 * 4 * size / 2 / pieces] * (2 * depth + pieces - 1)))
    assert least < took(ranks, deed) < most


def test_the_closed_form_by_hand() -> None:
    """Four ranks, 1 MB, ring: six steps of 250 kB, 28 packets each: 251,848 B and 9,014 B at 100 Gb/s are 20,869 ns."""
    assert closed_form(steps("all-reduce", "ring", 4, MB)) == pytest.approx(
        6 * (20_869 + DELAY), abs=1
    )
    assert [*steps("all-to-all", "bruck", 5, 5)] == [2, 2, 1]
    assert [*steps("all-gather", "bruck", 5, 5)] == [1, 2, 1]
    assert tree_steps(7) == 4
