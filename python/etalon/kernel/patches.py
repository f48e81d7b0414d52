# SPDX-License-Identifier: MIT OR Apache-2.0
"""Patches a kernel tree. A tree that had other patches gets these instead, and only what differs is written, so that
only that is compiled again."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from etalon import files
from etalon.kernel.process import Log

ORIGINALS = ".etalon/originals"
"""Within a tree: the files that patches change, as they were."""
ADDED = ".etalon/added"
"""Within a tree: files with the names of those that patches add."""
DRAFT = ".etalon/draft"
"""Within a tree: the same files, being patched."""


def touched(patches: list[Path]) -> set[Path]:
    """The files that patches change or add."""
    named = re.compile(r"^(?:---|\+\+\+) [ab]/(\S+)", re.M)
    texts = (patch.read_text(encoding="utf-8") for patch in patches)
    return {Path(name) for text in texts for name in named.findall(text)}


def apply(tree: Path, patches: list[Path], log: Log) -> None:
    """Gives a tree these patches and no others."""
    originals, added, draft = tree / ORIGINALS, tree / ADDED, tree / DRAFT
    for file in touched(patches):
        if not (originals / file).exists() and not (added / file).exists():
            if (tree / file).exists():
                _copy(tree / file, originals / file)
            else:
                (added / file).parent.mkdir(parents=True, exist_ok=True)
                (added / file).touch()
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for file in _files(originals):
        _copy(originals / file, draft / file)
    nowhere = {
        "GIT_DIR": str(draft / ".git")
    }  # else git leaves out what is not of the repository around the cache
    for patch in patches:
        command = ["git", "apply", "-C1", "--whitespace=nowarn", str(patch)]
        log.run(command, f"patch {patch.name}", folder=draft, environment=nowhere)
    for file in _files(originals) | _files(added):
        if (draft / file).is_file():
            put(draft / file, tree / file)
        else:
            (tree / file).unlink(missing_ok=True)


def put(new: Path, place: Path) -> None:
    """Moves a file to its place; one that is there with the same content keeps its time, which is what make looks at."""
    if content(place) == new.read_bytes():
        new.unlink()
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(new, place)


def content(path: Path) -> bytes | None:
    """What a file holds; None if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _files(folder: Path) -> set[Path]:
    """The files in a folder; without those that an interrupted build was writing."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder) for path in found if not path.match(".*.tmp")}


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    files.put(to, file.read_bytes())
