"""Files that are there whole or not at all: each is written beside its place, brought to the disk and renamed."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from etalon.errors import EtalonError, PlanError


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """A file to write in the folder of `path`, which becomes `path` if the block ends without an exception, and else vanishes.

    Raises:
        OSError: if the file cannot be written.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield beside
        with beside.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def put(path: Path, content: bytes | str) -> None:
    """Writes a file in the place of one that may be there. Text is UTF-8.

    Raises:
        OSError: if the file cannot be written.
    """
    with draft(path) as beside:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Holds a folder against other processes that would work in it. Nothing of that is left on the disk, also after a kill.

    Raises:
        EtalonError: if another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EtalonError(
                f"{folder}: another process is at work in this folder; wait for it, or give another one with --out"
            ) from None
        yield
    finally:
        os.close(descriptor)


def check_writable(path: Path) -> None:
    """Says before a long run, not after it, that a file or folder of this name cannot be made."""
    whole = path.absolute()
    place = next(parent for parent in (*whole.parents, whole) if parent.exists())
    if not place.is_dir():
        raise PlanError(f"cannot be made: {place} is a file, not a folder", file=str(path))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PlanError(f"cannot be made: no permission to write in {place}", file=str(path))
