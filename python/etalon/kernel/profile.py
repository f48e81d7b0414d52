# SPDX-License-Identifier: MIT OR Apache-2.0
"""The profile that guides the kernel's compiler: how often each branch was taken in runs that `tools/train_kernel.py` made.

It makes the kernel faster and changes nothing else: results are the same bytes. A function that has changed since is
compiled as without it.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from etalon.kernel import source
from etalon.kernel.process import Log

ARCHIVE = Path("kernel", "profile.tar.xz")
"""In Etalon's source tree: gcc's counts (gcda), by object."""
COMPILER = "12"
"""The major version of the gcc that counted; another one cannot read it."""
COUNTING = ("-fprofile-arcs", "-fno-profile-values")
"""Flags of a kernel that counts. It leaves values out: to count them takes thread-local storage, which hosts' programs use."""
USING = (
    "-fprofile-use",
    *("-fno-profile-values", "-fno-vpt", "-fno-tree-vectorize"),
    *("-Wno-missing-profile", "-Wno-coverage-mismatch"),
)


def flags(root: Path) -> list[str]:
    """What the compiler is told of the profile of this source tree; nothing if it cannot read it or there is none.

    The last flag means nothing. It has the profile's digest, so that another profile compiles all again.
    """
    archive = root / ARCHIVE
    if not archive.is_file() or _compiler() != COMPILER:
        return []
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    return [*USING, f"-DETALON_PROFILE=0x{digest}"]


def _compiler() -> str:
    said = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=False)
    return said.stdout.strip().partition(".")[0]


def unpack(root: Path, tree: Path, log: Log) -> None:
    """Puts the profile where the compiler looks for it, and no other."""
    for old in tree.rglob("*.gcda"):
        old.unlink()
    if (root / ARCHIVE).is_file():
        source.extract(root / ARCHIVE, tree, log)
