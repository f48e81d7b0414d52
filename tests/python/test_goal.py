# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of jobs in GOAL: against the built-in ring, against an example worked by hand, and what is wrong with files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import drawn_today
from etalon.errors import PlanError

RATE = 10e9
HEADERS = 14 + 20 + 32
"""Ethernet, IP, TCP with time stamps."""


def star(ranks: int, job: Any) -> et.Plan:
    """One host a rack, and a packet network as fast as hosts."""
    host = {"rate": "10Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(racks=ranks, hosts=1, packet=("10Gbps", "500ns"), voq=1000, host=host)
    settings = {"tdf": 1, "warmup": "0ms", "duration": "2s", "end_when_done": True}
    return et.experiment(net, et.packet_only(net), job, tcp={"max_cwnd": 128}, **settings)


def goal(blocks: list[list[str]]) -> str:
    """The text of a trace, with a block of lines for each rank."""
    ranks = ["\n".join([f"rank {rank} {{", *lines, "}"]) for rank, lines in enumerate(blocks)]
    return "\n".join([f"num_ranks {len(blocks)}", *ranks, ""])


def ring(ranks: int, size: int) -> str:
    """An all-reduce: 2 (n - 1) times, each sends an nth of the vector to the next, and waits for that of the one before."""
    blocks = []
    for rank in range(ranks):
        lines = []
        for step in range(2 * (ranks - 1)):
            lines.append(f"l{2 * step}: send {size // ranks}b to {(rank + 1) % ranks} tag {step}")
            lines.append(
                f"l{2 * step + 1}: recv {size // ranks}b from {(rank - 1) % ranks} tag {step}"
            )
            if step:
                for late in (2 * step, 2 * step + 1):
                    lines += [
                        f"l{late} requires l{early}" for early in (2 * step - 2, 2 * step - 1)
                    ]
        blocks.append(lines)
    return goal(blocks)


def test_a_ring_written_as_a_trace_takes_as_long_as_the_built_in_one(tmp_path: Path) -> None:
    ranks, size = 8, 8_000_000
    (tmp_path / "ring.goal").write_text(ring(ranks, size))
    traced = et.run(star(ranks, et.job(file=str(tmp_path / "ring.goal"), iterations=2)))
    built_in = et.run(star(ranks, et.job(et.all_reduce("8MB", algorithm="ring"), iterations=2)))
    assert traced.iterations["end_ns"].to_list() == built_in.iterations["end_ns"].to_list()
    columns = ["iteration", "rank", "peer", "bytes", "ready_ns", "sent_ns", "received_ns"]
    assert traced.steps[columns].sort(columns).equals(built_in.steps[columns].sort(columns))


def test_three_ranks_worked_by_hand(tmp_path: Path) -> None:
    """Rank 0 computes 1 us and sends a packet to rank 1. That computes 3 us and 2 us, one after the other on one processor,
    and 4 us on another beside them; after the 4 us it sends to rank 2, although it computes. Rank 2 computes 1 us from the
    start of its receive on, thus from the beginning."""
    file = tmp_path / "by_hand.goal"
    file.write_text(
        goal(
            [
                ["a: calc 1000", "b: send 1000b to 1 tag 7", "b requires a"],
                [
                    "go: recv 1000b from 0 tag 7",
                    *("x: calc 3000 cpu 0", "y: calc 2000 cpu 0", "z: calc 4000 cpu 1"),
                    "out: send 2000b to 2",
                    *("x requires go", "y requires go", "z requires go", "out requires z"),
                ],
                ["in: recv 2000b from 1", "early: calc 1000", "early irequires in"],
            ]
        )
    )
    start = 1_000_000
    run = et.run(star(3, et.job(file=str(file), start="1ms", connect="0us")))

    def way(size: int) -> int:
        """Over three links of 10 Gb/s, from the host, from its rack, and to the other; 500 ns up and 500 ns down."""
        return 3 * int((size + HEADERS) * 8e9 / RATE) + 1000

    at_1 = start + 1000 + way(1000)
    at_2 = at_1 + 4000 + way(2000)
    expected = {
        (0, 0): start + 1000,
        (0, 1): at_1,
        (1, 1): at_1 + 3000,
        (1, 2): at_1 + 5000,
        (1, 3): at_1 + 4000,
        (1, 4): at_2,
        (2, 1): start + 1000,
    }
    found = {(row["rank"], row["step"]): row["received_ns"] for row in run.steps.to_dicts()}
    assert found == expected
    last = run.iterations.row(0, named=True)
    assert last["end_ns"] == max(found.values())
    assert last["slowest_ns"] == 5000  # rank 1, on two processors at once
    assert run.steps.filter(pl.col("peer") == 1)["ready_ns"].to_list() == [start + 1000]


@pytest.mark.parametrize("seed", drawn_today(range(20), 4))
def test_each_message_of_any_trace_is_received_once(tmp_path: Path, seed: int) -> None:
    """Messages and computations in an order that exists: nothing waits for what comes later, and those of one sender and tag
    begin one after the other at either end."""
    draw = random.Random(seed)
    ranks = draw.randint(2, 5)
    blocks: list[list[str]] = [[] for _ in range(ranks)]
    last: list[list[str]] = [[] for _ in range(ranks)]
    before: dict[tuple[int, int, int, int], str] = {}
    sent = []
    for number in range(60):
        src, dst = draw.sample(range(ranks), 2)
        size, tag = draw.randint(1, 50_000), draw.randint(0, 2)
        sent.append((src, dst, size))
        whats = [
            (src, f"send {size}b to {dst} tag {tag}"),
            (dst, f"recv {50_000 if draw.random() < 0.5 else 50_001}b from {src} tag {tag}"),
            (src, f"calc {draw.randint(0, 9000)} cpu {draw.randint(0, 1)}"),
        ]
        for rank, what in whats:
            label = f"l{len(blocks[rank])}x{number}"
            blocks[rank].append(f"{label}: {what}")
            if "calc" not in what:
                if channel := before.get((rank, src, dst, tag)):
                    blocks[rank].append(f"{label} irequires {channel}")
                before[rank, src, dst, tag] = label
            if last[rank] and draw.random() < 0.7:
                word = draw.choice(["requires", "irequires"])
                blocks[rank].append(f"{label} {word} {draw.choice(last[rank])}")
            last[rank] = [*last[rank][-3:], label]
    (tmp_path / "drawn.goal").write_text(goal(blocks))
    run = et.run(star(ranks, et.job(file=str(tmp_path / "drawn.goal"))))
    rows = run.steps.filter(pl.col("peer") >= 0)
    assert sorted(rows.select("rank", "peer", "bytes").rows()) == sorted(sent)
    assert (rows["received_ns"] >= rows["sent_ns"]).all()
    assert (run.iterations["end_ns"] > 0).all()


def test_a_folder_of_a_run_holds_its_trace(tmp_path: Path) -> None:
    file = tmp_path / "ring.goal"
    file.write_text(ring(3, 30_000))
    plan = star(3, et.job(file=str(file)))
    saved = plan.save(tmp_path / "kept" / "plan.toml")
    copies = list((tmp_path / "kept").glob("trace-*.goal"))
    assert [copy.read_text() for copy in copies] == [file.read_text()]
    assert et.Plan.load(saved).digest == plan.digest
    file.write_text(ring(3, 60_000))
    assert star(3, et.job(file=str(file))).digest != plan.digest


@pytest.mark.parametrize(
    ("text", "where", "part"),
    [
        (goal([["a: send 8b to 1"], []]), ":3", "rank 1 never receives this message"),
        (goal([["a: calc 1", "a requires a"], ["b: calc 1"]]), ":3", "what it waits for waits for it"),
        (goal([["a: jump 1"], []]), ":3", '"jump" is no operation'),
        (goal([["calc 1"], [], []]), "", "has 3 ranks, but the job 2 hosts"),
        ("", "", "num_ranks 16"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_trace(tmp_path: Path, text: str, where: str, part: str) -> None:
    (tmp_path / "wrong.goal").write_text(text)
    with pytest.raises(PlanError) as raised:
        star(2, et.job(file=str(tmp_path / "wrong.goal")))
    assert part in str(raised.value)
    assert f"wrong.goal{where}" in str(raised.value)


def test_a_job_has_a_list_or_a_trace(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="either a list `do` or a trace `file`"):
        star(2, et.job())
    with pytest.raises(PlanError, match="there is no such file"):
        star(2, et.job(file=str(tmp_path / "absent.goal")))
    with pytest.raises(PlanError, match="either a list"):
        star(2, et.job(et.compute("1us"), file=str(tmp_path / "absent.goal")))
