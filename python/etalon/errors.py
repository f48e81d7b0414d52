# SPDX-License-Identifier: MIT OR Apache-2.0
"""Errors for people: each message is a sentence that names the mistake and the expected value."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGE = f"{Path(__file__).parent}/"


class EtalonError(Exception):
    """An error that the user can fix. The command line prints the message alone and exits with 1."""


class PlanError(EtalonError):
    """A plan, option or folder that cannot be used. The command line exits with 2.

    `key` is the dotted key within the plan, `value` its value there, `expected` the mistake or the expected value,
    `file` the file with the key; each is None if it does not apply.
    """

    def __init__(
        self, expected: str, *, key: str | None = None, value: Any = None, file: str | None = None
    ) -> None:
        self.expected = expected
        self.key = key
        self.value = value
        self.file = file
        self.others: tuple[PlanError, ...] = ()
        super().__init__(": ".join(part for part in (file, key, expected) if part))

    def in_file(self, file: str) -> PlanError:
        """The same error, said of a file; one that names its file (a trace's line) keeps it."""
        moved = PlanError(self.expected, key=self.key, value=self.value, file=self.file or file)
        moved.others = tuple(other.in_file(file) for other in self.others)
        return moved

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *map(str, self.others)])


def gather(found: Sequence[PlanError], file: str | None = None) -> PlanError:
    """One error that says all of them, each on its line."""
    first, *others = found
    first.others = tuple(others)
    return first.in_file(file) if file else first


class Occupied(PlanError):
    """A folder that holds `what`, which only `force` replaces."""

    def __init__(self, what: str, file: str) -> None:
        self.what = what
        super().__init__(f"already holds {what}; force=True replaces it", file=file)

    def in_shell(self) -> str:
        """The sentence for the command line."""
        return f"{self.file}: already holds {self.what}; --force replaces it"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `runs` holds the results so far: whole runs, and partial ones marked as such."""

    def __init__(self, runs: list[Any]) -> None:
        super().__init__("interrupted")
        self.runs = runs


class EngineFailed(EtalonError):
    """An engine failed before the end of a plan, through no fault of the plan's.

    `console` is the end of its kernel's output, `run` the results so far, marked as partial, or None. The command line
    keeps the console in the file `log`.
    """

    def __init__(self, sentence: str, console: str = "", run: Any = None) -> None:
        self.console = console
        self.run = run
        self.log: Path | None = None
        super().__init__(sentence)


class PlanWarning(UserWarning):
    """A plan that runs, but probably does not measure what its author meant."""


def warn(sentence: str) -> None:
    """A `PlanWarning` of the line of the user's that called Etalon, however deep within Etalon it is found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, PlanWarning, stacklevel=level)
