# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that came with `pip install etalon-rdcn[linux]`: the distribution etalon-rdcn-kernel has images, and the sources that
they were built from.

An installed Etalon knows the kernel that it needs by a digest (`WANTED`), which was written when its own wheel was built. The
digest is over everything that a kernel is made from, and so an image of another version is never taken for the right one.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "etalon-rdcn-kernel"
MODULE = "etalon_kernel"
INSTALL = "pip install 'etalon-rdcn[linux]'"
HZ = (250, 1000)
"""The timer frequencies whose images it has."""
WANTED = Path(__file__).with_name("wanted.json")
"""Digests by HZ. `make wheel` writes it; a source tree computes them instead."""


@cache
def folder() -> Path | None:
    """Where the distribution is installed; None if it is not."""
    found = importlib.util.find_spec(MODULE)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent


def version() -> str:
    """Of the distribution that is installed."""
    return metadata.version(DISTRIBUTION)


def images() -> Path | None:
    """Its images, each in a folder with the digest of what it was built from."""
    at = folder()
    return None if at is None else at / "images"


def image(digest: str, name: str) -> Path | None:
    """The image that was built from what has this digest, if the distribution has it."""
    at = images()
    path = None if at is None else at / digest / name
    return path if path is not None and path.is_file() else None


def holds(path: Path) -> bool:
    """Whether an image is the distribution's."""
    at = folder()
    return at is not None and at in path.parents


def source() -> Path | None:
    """The source tree that its images were built from."""
    at = folder()
    return None if at is None else at / "source"


def wanted() -> dict[int, str]:
    """The images that this installation needs, by HZ; empty in a source tree."""
    try:
        listed = json.loads(WANTED.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {int(hz): digest for hz, digest in listed.items()}
