# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of jobs in Chakra: the same job in a plan, and what is wrong with files. The test encodes them, by the schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import need_module
from etalon.errors import PlanError
from test_goal import star

COMP, SEND, RECV, COLL = 4, 5, 6, 7
TYPES = {
    "all_reduce": 0,
    "reduce": 1,
    "all_gather": 2,
    "broadcast": 5,
    "all_to_all": 6,
    "reduce_scatter": 7,
}
"""As et_def.proto has them."""


@pytest.fixture(autouse=True)
def _cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_module("google.protobuf", "chakra")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    low = value & 127
    return bytes([low | 128]) + varint(value >> 7) if value > 127 else bytes([low])


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a message: a number, or what has a length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    text = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(text)) + text


def attribute(name: str, value: int | str | bool) -> bytes:
    number = {bool: 27, int: 9, str: 29}[type(value)]
    return field(10, field(1, name) + field(number, int(value) if value is True else value))


def node(
    number: int, kind: int, after: Sequence[int] = (), us: int = 0, **attributes: Any
) -> bytes:
    """A node that waits for others: the first by control, the rest by data."""
    head = field(1, number) + field(2, f"n{number}") + field(3, kind)
    packed = field(5, b"".join(map(varint, after[1:]))) if after[1:] else b""
    waits = (field(4, after[0]) if after else b"") + packed + field(6, 0) + field(7, us)
    return head + waits + b"".join(attribute(*item) for item in attributes.items())


def trace(folder: Path, ranks: Sequence[Sequence[bytes]]) -> str:
    """Writes the file of each rank; the name that stands for all."""
    for rank, nodes in enumerate(ranks):
        messages = [field(1, "0.0.4"), *nodes]
        whole = b"".join(varint(len(message)) + message for message in messages)
        (folder / f"trace.{rank}.et").write_bytes(whole)
    return str(folder / "trace.et")


def both(
    folder: Path, ranks: Sequence[Sequence[bytes]], *deeds: Any, iterations: int, **more: Any
) -> None:
    """A trace takes as long as the same job in a plan, to the nanosecond."""
    file = trace(folder, ranks)
    traced = et.run(star(len(ranks), et.job(file=file, iterations=iterations, **more)))
    same = et.run(star(len(ranks), et.job(*deeds, iterations=iterations)))
    assert (same.iterations["end_ns"] > 0).all()
    for column in ("start_ns", "end_ns"):
        assert traced.iterations[column].to_list() == same.iterations[column].to_list()
    columns = ["iteration", "rank", "peer", "bytes", "ready_ns", "sent_ns", "received_ns"]
    sent = [run.steps.filter(pl.col("peer") >= 0)[columns].sort(columns) for run in (traced, same)]
    assert sent[0].equals(sent[1])


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        ("all_reduce", "ring"),
        ("all_reduce", "swing"),
        ("reduce_scatter", "ring"),
        ("all_to_all", "direct"),
        ("broadcast", "binomial"),
        ("reduce", "binomial"),
        ("all_gather", "ring"),
    ],
)
def test_a_trace_takes_as_long_as_the_same_job_in_a_plan(
    tmp_path: Path, kind: str, algorithm: str
) -> None:
    ranks, size = 4, 800_001
    nodes = [
        node(1, COMP, us=70, num_ops=5, is_cpu_op=False),
        node(2, COLL, [1], comm_type=TYPES[kind], comm_size=size, pg_name="0"),
        node(3, COMP, [2], us=30),
    ]
    # A rank brings a share along; all shares are the whole.
    whole = size * ranks if kind == "all_gather" else size
    deeds = [
        et.compute("70us"),
        {kind: f"{whole}B", "algorithm": algorithm},
        et.compute("30us"),
    ]
    # In a reduce ranks run ahead. What arrives before its iteration begins is received as it arrives in a plan, and as the
    # iteration begins in a trace.
    iterations = 1 if kind == "reduce" else 2
    algorithms = {kind: algorithm}
    both(tmp_path, [nodes] * ranks, *deeds, iterations=iterations, algorithms=algorithms)


def test_messages_and_groups(tmp_path: Path) -> None:
    """A pipeline: rank 0 computes and sends to rank 1, which computes; ranks 2 and 3 do an all-reduce beside them."""
    talk = {"comm_size": 50_000, "comm_tag": 3}
    group = {"comm_type": 0, "comm_size": 600_000, "pg_name": "tensor"}
    ranks = [
        [node(5, SEND, [9], comm_dst=1, **talk), node(9, COMP, us=10)],  # what it waits for follows
        [node(0, RECV, comm_src=0, **talk), node(1, COMP, [0], us=20)],
        [node(0, COLL, **group)],
        [node(0, COLL, **group)],
    ]
    run = et.run(star(4, et.job(file=trace(tmp_path, ranks), connect="0us", start="1ms")))
    steps = run.steps.sort("rank", "step")
    first, message = (row for row in steps.iter_rows(named=True) if row["rank"] == 0)
    if first["peer"] >= 0:
        first, message = message, first
    assert first["received_ns"] - first["ready_ns"] == 10_000
    assert message["ready_ns"] == first["received_ns"]
    (second,) = (row for row in steps.iter_rows(named=True) if row["rank"] == 1 and row["peer"] < 0)
    assert second["ready_ns"] == message["received_ns"]
    assert second["received_ns"] == second["ready_ns"] + 20_000
    alone = et.run(star(2, et.job(et.all_reduce("600kB"), connect="0us", start="1ms")))
    ends = [
        run.steps.filter(pl.col("rank") >= least)["received_ns"].max()
        for run, least in ((run, 2), (alone, 0))
    ]
    assert ends[0] == ends[1]


def test_a_run_keeps_its_trace(tmp_path: Path) -> None:
    nodes = [node(1, COLL, comm_type=0, comm_size=80_000)]
    plan = star(2, et.job(file=trace(tmp_path, [nodes, nodes])))
    run = et.run(plan)
    run.save(tmp_path / "kept")
    for rank in range(2):
        (tmp_path / f"trace.{rank}.et").unlink()
    again = et.run(tmp_path / "kept" / "plan.toml")
    assert again.meta["digest"] == run.meta["digest"]


GOOD = node(1, COLL, comm_type=0, comm_size=1000)
BAD = [
    ([node(1, COLL, comm_type=3, comm_size=9)], "type GATHER, which Etalon lacks"),
    ([node(1, COLL, comm_size=9)], 'node 1 "n1" has no attribute comm_type'),
    ([node(1, COLL, comm_type=0)], 'node 1 "n1" has no attribute comm_size'),
    ([node(1, COLL, comm_type=0, comm_size=0)], "communicates 0 bytes"),
    ([GOOD, node(2, COMP, [7], us=1)], 'node 2 "n2" waits for node 7, which is missing'),
    ([GOOD, GOOD], 'two nodes have the number 1; the second is node 1 "n1"'),
    ([GOOD, node(2, COMP, num_ops=4)], "num_ops but no duration_micros"),
    ([node(1, COLL, comm_type=0, comm_size=9, pg_name="x")], "only rank 0 does collectives"),
    ([GOOD, node(2, SEND, comm_dst=2, comm_size=9)], 'node 2 "n2" names rank 2; ranks are 0 to 1'),
    ([GOOD, node(2, RECV, comm_src=0, comm_size=9)], 'node 2 "n2" names rank 0; ranks are 0 to 1'),
    (
        [GOOD, node(2, COLL, comm_type=0, comm_size=1000)],
        r"trace\.1\.et: .*rank 1 does 1 collectives in process group '', rank 0 does 2",
    ),
    (
        [node(1, COLL, comm_type=0, comm_size=1001)],
        r"trace\.1\.et: .*all-reduce of 1000 bytes; rank 0 has a different one there",
    ),
    (
        [GOOD, node(2, 0, us=9)],
        r'trace\.0\.et: node 2 "n2" is of type 0, which Etalon lacks; it has METADATA \(1\),',
    ),
    ([GOOD, node(2, 8, us=9)], r'trace\.0\.et: node 2 "n2" is of type 8, which Etalon lacks'),
    (
        [GOOD, node(2, SEND, comm_dst=1, comm_size=9)],
        r'/trace\.0\.et: node 2 "n2": rank 1 never receives this message of rank 0',
    ),
    (
        [GOOD, node(2, COMP, [3], us=1), node(3, COMP, [2], us=1)],
        r'/trace\.0\.et: node 2 "n2": rank 0 never ends this operation',
    ),
    ([GOOD[:-1]], r"the message at byte 8 is not a node"),
]


@pytest.mark.parametrize(("nodes", "why"), BAD)
def test_what_is_wrong_is_said_in_one_sentence(
    tmp_path: Path, nodes: list[bytes], why: str
) -> None:
    file = trace(tmp_path, [nodes, [GOOD]])
    with pytest.raises(PlanError, match=why) as raised:
        et.run(star(2, et.job(file=file)))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    """Wherever it is cut, there is a sentence with the file, unless whole nodes are left that make sense."""
    file = trace(tmp_path, [[GOOD], [GOOD]])
    place = tmp_path / "trace.1.et"
    whole = place.read_bytes()
    for length in range(len(whole)):
        place.write_bytes(whole[:length])
        with pytest.raises(PlanError, match=r"trace\.[01]\.et: ") as raised:
            et.run(star(2, et.job(file=file)))
        if length not in (0, 8):
            assert "is truncated" in str(raised.value), length
    place.write_bytes(whole + whole[8:-3])
    with pytest.raises(PlanError, match=r'trace\.1\.et: .* byte \d+ after node 1 "n1" has no end'):
        et.run(star(2, et.job(file=file)))
    with pytest.raises(PlanError, match=r"one file per rank, other\.0\.et and so on"):
        et.run(star(2, et.job(file=str(tmp_path / "other.et"))))
    place.write_bytes(whole)
    with pytest.raises(PlanError, match="has 2 ranks, but the job 3 hosts"):
        et.run(star(3, et.job(file=file)))
    with pytest.raises(PlanError, match='"rings" is no algorithm of all_reduce'):
        et.run(star(2, et.job(file=file, algorithms={"all_reduce": "rings"})))


def test_a_message_of_another_length_names_both_nodes(tmp_path: Path) -> None:
    sends = [node(7, SEND, comm_dst=1, comm_size=90), node(8, COLL, comm_type=9)]
    file = trace(
        tmp_path, [sends, [node(3, RECV, comm_src=0, comm_size=9), node(8, COLL, comm_type=9)]]
    )
    with pytest.raises(PlanError) as raised:
        et.run(star(2, et.job(file=file)))
    said = str(raised.value)
    assert said.endswith(
        '/trace.1.et: node 3 "n3": rank 1 receives 9 bytes here, but the message has 90: node 7 "n7" of trace.0.et'
    ), said


def test_a_trace_of_one_rank_is_refused(tmp_path: Path) -> None:
    file = trace(tmp_path, [[GOOD]])
    with pytest.raises(PlanError, match=r"trace\.et: there is a trace of one rank only"):
        et.run(star(4, et.job(file=file)))


def test_the_trace_of_a_rank_that_is_missing(tmp_path: Path) -> None:
    file = trace(tmp_path, [[GOOD]] * 4)
    (tmp_path / "trace.1.et").unlink()
    with pytest.raises(
        PlanError, match=r"trace\.1\.et: the trace of rank 1 is missing: .* rank 3$"
    ):
        et.run(star(4, et.job(file=file)))
    with pytest.raises(
        PlanError, match=r'trace\.2\.et: is the trace of one rank; "trace\.et" names'
    ):
        et.run(star(4, et.job(file=str(tmp_path / "trace.2.et"))))
