# SPDX-License-Identifier: MIT OR Apache-2.0
"""Folders: the source tree that the kernel is made from, and the cache that it is made in."""

from __future__ import annotations

import os
from pathlib import Path

from etalon import cache as user_cache
from etalon.errors import EtalonError
from etalon.kernel import packaged

VARIABLE = "ETALON_SOURCE"
"""Environment variable: Etalon's source tree, for installations that are not made from one."""
REPOSITORY = Path(__file__).resolve().parents[3]
"""The source tree, unless this is an installed package."""


def checkout() -> Path:
    """The source tree with the driver, the patches and the Rust core of the kernel.

    It is the one that `ETALON_SOURCE` names, the one that this file is part of, or the one in etalon-rdcn-kernel.
    """
    given = os.environ.get(VARIABLE)
    if given:
        root = Path(given).absolute()
        if not _is_tree(root):
            raise EtalonError(
                f"{VARIABLE}={given}: is not Etalon's source tree: it has no kernel/patches"
            )
        return root
    if _is_tree(REPOSITORY):
        return REPOSITORY
    root = packaged.source() or REPOSITORY
    if _is_tree(root):
        return root
    raise EtalonError(
        f"the Linux engine's kernel is not installed: {packaged.INSTALL}; or clone Etalon's repository "
        f"and set {VARIABLE} to its folder"
    )


def installed() -> bool:
    """Whether this is an installation without a source tree of its own, which takes the kernels of etalon-rdcn-kernel."""
    return not os.environ.get(VARIABLE) and not _is_tree(REPOSITORY)


def _is_tree(root: Path) -> bool:
    return (root / "kernel" / "patches").is_dir()


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
