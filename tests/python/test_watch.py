# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon run --watch`: what is told of runs while they last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Answer
from etalon import _core, engine
from etalon.cli import watch
from etalon.cli.watch import Watching
from etalon.plan import Plan

Command = Callable[..., Answer]


def test_a_control_tells_what_was_measured_so_far(small: Plan) -> None:
    control = _core.Control()
    assert control.live() is None
    engine.named("sim").run(small.replace({"duration": "200ms"}), control)
    live = control.live()
    assert live is not None
    assert 0 < live["now_ns"] < 200_000_000
    assert [name for name, _ in live["utilization"]] == ["packet", "circuit"]
    assert all(0 <= share <= 1 for _, share in live["utilization"])
    assert live["utilization"][0][1] > 0.1, "the packet network is busy"
    assert min(live["voq"], live["drops"], live["retransmits"]) >= 0


def test_lines_where_there_is_no_screen(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LINES_EVERY_S", 0.0)
    long = ("--set", "duration=2s", "--no-figures", "--out", "out")
    answer = etalon("run", small_file, *long, "--watch")
    assert answer.code == 0
    line = next(line for line in answer.err.splitlines() if "network time" in line)
    for part in ("small: network time", " of 2 s", "utilisation packet", "VOQ", "retransmissions"):
        assert part in line


def test_the_table_fits_into_a_terminal(small: Plan) -> None:
    from rich.console import Console

    watching = Watching(engine.named("sim"), [small])
    watching.run(small.replace({}), _core.Control())
    console = Console(width=80)
    with console.capture() as text:
        console.print(watching.table())
    shown = text.get()
    assert shown.startswith(small.name)
    assert "…" not in shown
