# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon run --watch`: what runs have measured so far, on a screen that is drawn again and again."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etalon.cli import common

if TYPE_CHECKING:
    from rich.table import Table

    from etalon import _core
    from etalon.engine import Engine, Progress
    from etalon.plan import Plan
    from etalon.results import Run

EVERY_S = 0.25
"""Between two pictures of a screen."""
LINES_EVERY_S = 5.0
"""Between two lines where there is no screen."""
REMEMBERED = 32
"""Samples of a VOQ that are drawn."""
BARS = " ▁▂▃▄▅▆▇█"


@dataclass
class _Watched:
    """A run that goes on, or waits for its turn."""

    plan: Plan
    control: _core.Control | None = None
    over: bool = False
    live: dict[str, Any] | None = None
    voq: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def look(self) -> None:
        """Takes what the engine has told, and asks it to tell again."""
        if self.control is None or self.over:
            return
        told = self.control.live()
        if told is not None and told != self.live:
            self.live = told
            self.voq.append(told["voq"])


class Watching:
    """An engine whose runs are looked at while they last; all else is the engine's."""

    def __init__(self, engine: Engine, plans: list[Plan]) -> None:
        self._engine = engine
        self._runs = {plan.digest: _Watched(plan) for plan in plans}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan, and keeps in mind where its progress can be asked for."""
        watched = self._runs[plan.digest]
        watched.control = control
        try:
            return self._engine.run(plan, control)
        finally:
            watched.over = True

    @contextmanager
    def screen(self) -> Iterator[Progress]:
        """A table that is drawn again as the runs go on, on standard error; a line now and then where that is no terminal."""
        if not sys.stderr.isatty():
            yield self._every(LINES_EVERY_S, self._say)
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, highlight=False)
        with Live(console=console, auto_refresh=False) as live:
            yield self._every(EVERY_S, lambda: live.update(self.table(), refresh=True))
            self._look()
            live.update(self.table(), refresh=True)

    def _every(self, seconds: float, show: Any) -> Progress:
        """What is called with each progress, and shows something now and then."""
        last = time.monotonic()

        def progress(_: float) -> None:
            nonlocal last
            if time.monotonic() - last >= seconds:
                last = time.monotonic()
                self._look()
                show()

        return progress

    def _look(self) -> None:
        for run in self._runs.values():
            run.look()

    def _say(self) -> None:
        """A line for each run that goes on."""
        for run in self._runs.values():
            if run.live is not None and not run.over:
                said = ", ".join(f"{name} {value}" for name, value in _facts(run))
                common.note(f"{run.plan.name}: {said}")

    def table(self) -> Table:
        """What is known of each run: a few lines each, so that they fit into any terminal."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        for run in self._runs.values():
            told = [("", "done" if run.over else "waits")] if run.live is None else _facts(run)
            dim = "dim" if run.over or run.live is None else ""
            for line, (name, value) in enumerate(told):
                table.add_row(Text("" if line else run.plan.name, "bold"), name, value, style=dim)
            if run.voq:
                table.add_row("", "", _drawn(run.voq), style=dim)
        return table


def _facts(run: _Watched) -> list[tuple[str, str]]:
    """Names and values of what is known of a run that has begun."""
    from etalon.units import rounded

    live = run.live or {}
    src, dst = run.plan.measured_pair
    reached = run.plan.duration if run.over else live["now_ns"]
    used = ", ".join(f"{name} {100 * share:.1f} %" for name, share in live["utilization"])
    return [
        ("network time", f"{rounded(reached)} of {rounded(run.plan.duration)}"),
        ("utilisation", f"{used} (rack {src} to {dst})"),
        ("retransmissions", f"{live['retransmits']}"),
        ("drops", f"{live['drops']}"),
        ("VOQ", f"{live['voq']} packets"),
    ]


def _drawn(values: deque[int]) -> str:
    """Numbers as a row of bars, the highest of which is the largest number."""
    most = max(values, default=0) or 1
    return "".join(BARS[round(value / most * (len(BARS) - 1))] for value in values)
