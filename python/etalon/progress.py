# SPDX-License-Identifier: MIT OR Apache-2.0
"""Progress of long work: a bar in a notebook or in a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

Progress = Callable[[float], None]
"""Called a few times a second with the finished share of the work, 0 to 1."""
Status = Callable[[str], None]
"""Called with each step, in a few words."""

PATIENCE_S = 2.0
"""Work that takes less than this shows no bar."""


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel."""
    return type(_ipython()).__name__ == "ZMQInteractiveShell"


def _ipython() -> Any:
    """IPython's shell if there is one; IPython is not imported for it."""
    there = sys.modules.get("IPython")
    return None if there is None else there.get_ipython()


def by_hand() -> bool:
    """Whether a person is watching, in a notebook or at a Python prompt."""
    return in_notebook() or hasattr(sys, "ps1") or _ipython() is not None


@contextmanager
def for_people(label: str, given: Progress | None) -> Iterator[Progress | None]:
    """The `Progress` that a call of the Python API reports to: the `given` one, or a bar if a person is watching."""
    if given is not None or not by_hand():
        yield given
        return
    with bar(label) as shown:
        yield shown


@contextmanager
def bar(label: str) -> Iterator[Progress | None]:
    """A bar with the time left, if there is somewhere to show it and the work takes over two seconds."""
    with steps(label) as (progress, _):
        yield progress


@contextmanager
def steps(
    label: str, told: Status | None = None
) -> Iterator[tuple[Progress | None, Callable[[str], None]]]:
    """The same bar, and what to call with each step; where there is no bar, each step goes to `told`."""
    if in_notebook():
        shown: _Bar = _InNotebook(label)
    elif sys.stderr.isatty():
        shown = _InTerminal(label)
    else:
        yield None, told or (lambda step: None)
        return
    began = time.monotonic()

    def show(share: float) -> None:
        elapsed = time.monotonic() - began
        if not shown.open and elapsed > 0.3 and elapsed > PATIENCE_S * share:
            shown.begin()
        shown.update(share, elapsed)

    try:
        yield show, shown.describe
    finally:
        if shown.open:
            shown.end()


class _Bar:
    """The common part of both bars."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.open = False

    def begin(self) -> None:
        self.open = True

    def describe(self, step: str) -> None:
        self.label = step

    def update(self, share: float, elapsed_s: float) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self.open = False


class _InTerminal(_Bar):
    """Of rich, on standard error."""

    def __init__(self, label: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        super().__init__(label)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(label, total=1.0)

    def begin(self) -> None:
        super().begin()
        self.bar.start()

    def describe(self, step: str) -> None:
        self.bar.update(self.task, description=step)

    def update(self, share: float, elapsed_s: float) -> None:
        self.bar.update(self.task, completed=share)

    def end(self) -> None:
        super().end()
        self.bar.stop()


class _InNotebook(_Bar):
    """HTML that the notebook replaces in place: neither widgets nor scripts, so that every notebook shows it."""

    EVERY_S = 0.2

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self.last_s = 0.0
        self.handle: Any = None

    def begin(self) -> None:
        super().begin()
        self.handle = _display().display(_display().HTML(""), display_id=True)

    def update(self, share: float, elapsed_s: float) -> None:
        if not self.open or elapsed_s < self.last_s + self.EVERY_S:
            return
        self.last_s = elapsed_s
        left = f", {elapsed_s * (1 - share) / share:.0f} s left" if share > 0.01 else ""
        self._put(
            f'<progress value="{share:.3f}" style="vertical-align: middle"></progress> '
            f"{escape(self.label)}: {100 * share:.0f} %{left}"
        )

    def end(self) -> None:
        super().end()
        self._put("")

    def _put(self, text: str) -> None:
        self.handle.update(_display().HTML(text))


def _display() -> Any:
    from IPython import display

    return display
