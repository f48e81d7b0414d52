# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collectives on an idle network where each message has a circuit of its own, against the closed forms of the literature."""

from __future__ import annotations

import math
from typing import Any

import pytest

import etalon as et

RATE = 100e9
HEADERS = 9014 / 8948
"""Of the wire over payload, at an MTU of 9000 with time stamps."""
HOP = 9014 * 8 / RATE + 500e-9
"""Latency of a message beyond its transmission: the NIC stores and forwards a packet, the circuit has a delay; in seconds."""


def circuits_only(ranks: int) -> Any:
    """A rank a rack, whose host is as fast as its circuit; no packet network."""
    return et.network(
        racks=ranks,
        hosts=1,
        circuits_only=True,
        ack_bypass="500ns",
        circuit=("100Gbps", "500ns"),
        host={"rate": "100Gbps", "delay": "0us", "jitter": "0us"},
        voq=1000,
    )


def dedicated(ranks: int, job: Any) -> et.Plan:
    """Circuits that are there as soon as they are asked for; TCP begins at line rate, as the closed forms do."""
    net = circuits_only(ranks)
    week = et.asked(net, reconfiguration="0us", request="0us", hold="0us")
    tcp = {"initial_cwnd": 100, "max_cwnd": 100, "receive_buffer": "3145.728kB"}
    settings: Any = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True}
    return et.experiment(net, week, job, tcp=tcp, **settings)


def seconds(kind: str, name: str, n: int, size: float, pieces: int = 16) -> float:
    """Steps and bytes of an algorithm: Thakur, Rabenseifner, Gropp 2005; Bruck et al. 1997; Swing, NSDI 2024. A chain sends its
    pieces one behind the other, so that each rank adds its latency once."""
    log = math.ceil(math.log2(n))
    share = (n - 1) / n
    steps, vectors = {
        ("all_reduce", "ring"): (2 * (n - 1), 2 * share),
        ("all_reduce", "recursive-doubling"): (log, log),
        ("all_reduce", "halving-doubling"): (2 * log, 2 * share),
        ("all_reduce", "cyclic"): (2 * log, 2 * share),
        ("all_reduce", "swing"): (2 * log, 2 * share),
        ("reduce_scatter", "ring"): (n - 1, share),
        ("reduce_scatter", "cyclic"): (log, share),
        ("all_gather", "ring"): (n - 1, share),
        ("all_gather", "bruck"): (log, share),
        ("all_gather", "swing"): (log, share),
        ("all_to_all", "direct"): (n - 1, share),
        ("all_to_all", "pairwise"): (n - 1, share),
        ("all_to_all", "bruck"): (log, log / 2),
        ("broadcast", "binomial"): (log, log),
        ("broadcast", "chain"): (n - 1, (n - 2 + pieces) / pieces),
        ("reduce", "binomial"): (log, log),
        ("reduce", "chain"): (n - 1, (n - 2 + pieces) / pieces),
    }[kind, name]
    return steps * HOP + vectors * size * 8 / RATE * HEADERS


ANY = (2, 3, 5, 6, 7, 8)
POWERS = (2, 4, 8, 16)
FORMS = [
    *(("all_reduce", "ring", n) for n in (*ANY, 16)),
    *(
        ("all_reduce", name, n)
        for name in ("recursive-doubling", "halving-doubling", "cyclic", "swing")
        for n in POWERS
    ),
    *((kind, "ring", n) for kind in ("reduce_scatter", "all_gather") for n in ANY),
    *(("reduce_scatter", "cyclic", n) for n in POWERS),
    *(("all_gather", "swing", n) for n in POWERS),
    *(("all_gather", "bruck", n) for n in ANY),
    *(("all_to_all", "direct", n) for n in (*ANY, 16)),
    *(("all_to_all", "pairwise", n) for n in POWERS),
    *(("all_to_all", "bruck", n) for n in POWERS),
    *(
        (kind, name, n)
        for kind in ("broadcast", "reduce")
        for name in ("binomial", "chain")
        for n in ANY
    ),
]
LARGE = [
    ("all_reduce", "ring", 64),
    ("all_reduce", "halving-doubling", 64),
    ("all_reduce", "swing", 64),
    ("all_to_all", "direct", 64),
    ("all_to_all", "bruck", 64),
    ("broadcast", "binomial", 64),
]


def hold(kind: str, name: str, ranks: int, size: int) -> None:
    """Between ranks that are connected it takes what the closed form says, within 2 %. Where nobody is the root, the second
    iteration counts: at its start all receivers offer large windows. Of two ranks, ACKs wait in a NIC behind data: 3 %."""
    rooted = kind in ("broadcast", "reduce")
    early = {"connect": "0us", "start": "50us", "iterations": 1 if rooted else 2}
    job = et.job({kind: f"{size}B", "algorithm": name}, circuits="each", **early)
    run = et.run(dedicated(ranks, job))
    row = run.iterations.row(-1, named=True)
    took = (row["end_ns"] - row["start_ns"]) / 1e9
    assert took == pytest.approx(seconds(kind, name, ranks, size), rel=0.03 if ranks == 2 else 0.02)
    assert run.counted("retransmits") == 0


@pytest.mark.parametrize(("kind", "name", "ranks"), FORMS)
def test_four_megabytes(kind: str, name: str, ranks: int) -> None:
    hold(kind, name, ranks, 4_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("size", [4_000_000, 64_000_000])
@pytest.mark.parametrize(("kind", "name", "ranks"), LARGE)
def test_many_ranks(kind: str, name: str, ranks: int, size: int) -> None:
    hold(kind, name, ranks, size)
