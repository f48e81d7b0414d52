# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of instructions: how a profile is read, and what is said when something grows."""

from __future__ import annotations

from pathlib import Path

from etalon import bench
from etalon.bench import instructions
from etalon.bench.instructions import Count

# As valgrind 3.19 writes it: a file changes within a function (inlining), calls carry the cost of the callee, names are given
# once.
PROFILE = """\
# callgrind format
version: 1
positions: line
events: Ir

fl=(1) a.rs
fn=(1) core::run
10 5
+2 7
fi=(2) b.rs
4 100
fe=(1)
cfn=(2) core::send'2
calls=3 20
12 3000
-1 1

fl=(2)
fn=(2)
20 40
* 2
fn=(1)
11 1000
"""


def test_costs_are_by_function_and_without_calls() -> None:
    costs = instructions.functions(PROFILE)
    assert costs == {"core::run": 5 + 7 + 100 + 1 + 1000, "core::send": 42}


def test_what_grew_is_named() -> None:
    then = Count(100.0, functions={"a": 60.0, "b": 40.0})
    assert instructions.grown("lean", then, Count(100.9, functions={"a": 61.0, "b": 39.9})) is None
    assert instructions.grown("lean", then, Count(50.0, functions={"a": 10.0, "b": 40.0})) is None
    assert instructions.grown("lean", None, then) == "lean is not in the table"
    sentence = instructions.grown("lean", then, Count(102.0, functions={"a": 59.0, "c": 43.0}))
    assert sentence == "lean: 102 instructions a packet, 100 in the table; c grew most, by 43"
    assert (
        instructions.grown("ring", Count(peak_bytes=10**8), Count(peak_bytes=104 * 10**6)) is None
    )
    sentence = instructions.grown("ring", Count(peak_bytes=10**8), Count(peak_bytes=106 * 10**6))
    assert sentence == "ring: 106 MB of memory at most, 100 MB in the table"


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    counts = {
        "lean": Count(100.5, functions={"a::<b as c>::d": 60.5, instructions.OTHERS: 40.0}),
        "ring": Count(peak_bytes=10**8),
    }
    path = tmp_path / "table.toml"
    path.write_text(instructions.shown("rustc 1.0", counts))
    assert instructions.read(path) == ("rustc 1.0", counts)


def test_the_committed_table_is_of_all_benches_that_it_is_about() -> None:
    _, counts = instructions.read()
    assert set(counts) == {*instructions.COUNTED, *instructions.WEIGHED}
    assert set(counts) <= set(bench.names())
    for name in instructions.COUNTED:
        total = sum(counts[name].functions.values())
        assert abs(total - counts[name].per_packet) < 0.001 * total + 5
