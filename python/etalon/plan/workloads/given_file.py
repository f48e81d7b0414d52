# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that a plan names and that are read while it runs: what they held when the plan was made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from etalon.errors import PlanError
from etalon.plan.workloads.trace_lines import line_without_text

T = TypeVar("T")
Stamp = tuple[int, int]
"""What changes when a file does."""
CHANGED = "has changed since the plan was made"


def stamp(path: Path) -> Stamp:
    """The state of a file."""
    state = path.stat()
    return state.st_mtime_ns, state.st_size


@lru_cache(maxsize=8)
def digest(path: Path, _: Stamp) -> str:
    """SHA-256 of a file, made once for each state that it is in."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def told(file: str, read: Callable[[], T]) -> T:
    """What `read` gives of a file. Raises `PlanError` if that cannot be read."""
    try:
        return read()
    except FileNotFoundError:
        raise PlanError("there is no such file", file=file) from None
    except UnicodeDecodeError:
        where = f"{file}:{line_without_text(Path(file))}"
        raise PlanError("is not text", file=where) from None
    except OSError as error:
        raise PlanError(f"cannot be read: {error.strerror}", file=file) from None
