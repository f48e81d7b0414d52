# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that are there whole or not at all: each is written beside its place, brought to the disk and renamed."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


def put(path: Path, content: bytes | str | Path) -> None:
    """Writes a file in the place of one that may be there. Text is UTF-8; a path is that of a file to copy.

    Raises:
        OSError: if the file cannot be written.
    """
    with draft(path) as beside:
        if isinstance(content, Path):
            shutil.copyfile(content, beside)
        else:
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
                f"{folder}: another process is using this folder; wait for it, or choose another one with --out"
            ) from None
        yield
    finally:
        os.close(descriptor)


LARGEST = 64 << 20


def text_of(path: Path, what: str, check: Callable[[int], None] | None = None) -> str:
    """What a file that people write holds; it may come through a pipe. `check` sees the descriptor before it is read. Raises
    `OSError` and `UnicodeDecodeError`, and `PlanError` if it is larger than any such file (`what`)."""
    with path.open("rb") as stream:
        if check is not None:
            check(stream.fileno())
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise PlanError(
            f"is larger than {LARGEST >> 20} MiB, too large for a {what}", file=str(path)
        )
    return content.decode("utf-8")


def toml_of(path: Path, what: str, check: Callable[[int], None] | None = None) -> dict[str, Any]:
    """The tables of a TOML file, `check`ed as above. Raises `PlanError`, whatever is wrong with it."""
    try:
        return tomllib.loads(text_of(path, what, check))
    except OSError as error:
        raise PlanError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"is no TOML: {error}", file=str(path)) from None
    except RecursionError:
        raise PlanError("its tables are nested too deeply", file=str(path)) from None
    except ValueError:
        raise PlanError("a number in it has too many digits", file=str(path)) from None


def check_writable(path: Path) -> None:
    """Says before a long run, not after it, that a file or folder of this name cannot be made."""
    whole = path.absolute()
    place = next(parent for parent in (*whole.parents, whole) if parent.exists())
    if not place.is_dir():
        raise PlanError(f"cannot be made: {place} is a file, not a folder", file=str(path))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PlanError(f"cannot be made: no permission to write in {place}", file=str(path))
