# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is kept in the cache: finished kernels, the trees they were linked in, fetched sources; one build of each at a time."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalon import files
from etalon.errors import EtalonError
from etalon.kernel import packaged, places
from etalon.kernel.recipe import DEFAULT_HZ
from etalon.kernel.recipe import digest as recipe_digest

IMAGE = "linux"
MACHINE = "Linux x86_64"
LIBRARIES = ("libadu.so", "libask.so")
"""Beside the image: preloaded into programs on hosts whose demand is announced, and into MPI programs that ask for circuits."""
About = dict[str, Any]
"""`hz`, `version` of Linux, the path of its `source` and the identity of that as `origin`; of a tree also which `recipe`
it is patched and configured for, and the digest of what was `unused` when it was unpacked."""
ABOUT = "etalon.json"
"""In the folder of an image or tree: what it is. A folder without it is unfinished."""


@dataclass(frozen=True)
class Kept:
    """A finished kernel."""

    path: Path
    hz: int
    version: str
    """Of Linux."""
    current: bool
    """Whether it is what the source tree would give now."""


def find(hz: int = DEFAULT_HZ) -> Path | None:
    """The kernel with this timer frequency that was made from what the sources are now: built here, or installed."""
    check_machine()
    digest = recipe_digest(hz)
    path = places.images() / digest / IMAGE
    return path if path.is_file() else packaged.image(digest, IMAGE)


def check_machine() -> None:
    """Refuses machines that the kernel is not for."""
    machine = f"{platform.system()} {platform.machine()}"
    if machine != MACHINE:
        raise EtalonError(
            f"--engine linux needs x86-64 Linux, and this is {machine}; the simulator (--engine sim) runs here"
        )


def kept() -> list[Kept]:
    """All finished kernels of the cache."""
    return _kept_in(places.images())


def installed() -> list[Kept]:
    """Those that etalon-rdcn-kernel has."""
    folder = packaged.images()
    return [] if folder is None else _kept_in(folder)


def _kept_in(images: Path) -> list[Kept]:
    listed = []
    for folder in sorted(images.glob("*")):
        about = read_about(folder)
        if about is not None and (folder / IMAGE).is_file():
            current = recipe_digest(about["hz"]) == folder.name
            listed.append(Kept(folder / IMAGE, about["hz"], about["version"], current))
    return sorted(listed, key=lambda one: (one.hz, not one.current, one.path))


def read_about(folder: Path) -> About | None:
    """What an image or tree is; None if it is unfinished."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) else None


def write_about(folder: Path, about: About) -> None:
    """Says what an image or tree is, all of it or nothing."""
    files.put(folder / ABOUT, json.dumps(about, indent=2) + "\n")


def outdated() -> list[Path]:
    """Images that the source tree would not give now, and trees of other timer frequencies than the others'."""
    images = [image for image in kept() if not image.current]
    used = {image.hz for image in kept() if image.current}
    trees = [tree for tree in places.trees().glob("hz*") if int(tree.name[2:]) not in used]
    return [*(image.path.parent for image in images), *trees]


@contextmanager
def lock(name: str, status: Callable[[str], None]) -> Iterator[None]:
    """Only one process at a time does what this name stands for; says so, and waits, if another does."""
    folder = places.cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f"{name}.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise EtalonError(
            f"{folder}: the cache cannot be written: {error.strerror}; XDG_CACHE_HOME names another"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            status(
                f"waiting for another build of the kernel (process {file.read().strip() or '?'})"
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


@contextmanager
def all_locks(status: Callable[[str], None]) -> Iterator[None]:
    """No build is going on."""
    with ExitStack() as locks:
        for file in sorted(places.cache().glob("*.lock")):
            locks.enter_context(lock(file.stem, status))
        yield


def remove(folder: Path) -> int:
    """Removes a folder; gives the bytes that it took."""
    freed = size(folder)
    if folder.exists():
        shutil.rmtree(folder)
    return freed


def size(folder: Path) -> int:
    """The bytes on the disk of everything in a folder."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            total += os.lstat(os.path.join(at, name)).st_blocks * 512
    return total
