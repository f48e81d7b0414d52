"""Folders: the source tree that the kernel is made from, and the cache that it is made in."""

from __future__ import annotations

import os
from pathlib import Path

from etalon import cache as user_cache
from etalon.errors import EtalonError

VARIABLE = "ETALON_SOURCE"
"""Environment variable: Etalon's source tree, for installations that are not made from one."""


def checkout() -> Path:
    """Etalon's source tree, which holds the driver, the patches and the Rust core of the kernel."""
    given = os.environ.get(VARIABLE)
    root = Path(given).absolute() if given else Path(__file__).resolve().parents[3]
    if (root / "kernel" / "patches").is_dir():
        return root
    if given:
        raise EtalonError(
            f"{VARIABLE}={given}: is not Etalon's source tree: it has no kernel/patches"
        )
    raise EtalonError(
        "the Linux engine is built from Etalon's source tree, which this installation does not have: "
        f"clone the repository and set {VARIABLE} to its folder"
    )


def cache() -> Path:
    """The user's cache folder for kernels; it need not exist."""
    return user_cache.folder("kernel")


def images() -> Path:
    """Kernels that are ready to boot, each in a folder with the name of its recipe."""
    return cache() / "images"


def trees() -> Path:
    """Kernel trees that have been built in, kept so that a changed driver only takes another link."""
    return cache() / "trees"


def downloads() -> Path:
    """Kernel sources that were fetched."""
    return cache() / "sources"


def cargo() -> Path:
    """Where cargo builds the Rust core."""
    return cache() / "cargo"


def log(hz: int) -> Path:
    """What the tools said during the last build that failed."""
    return cache() / f"hz{hz}.log"
