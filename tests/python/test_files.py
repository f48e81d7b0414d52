# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from etalon import files


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    files.put(path, "old")
    files.put(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    files.put(path, b"\x00")
    assert path.read_bytes() == b"\x00"
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "ordinary").touch()
    assert path.stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_what_goes_wrong_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.md"
    files.put(path, "old")

    def interrupted() -> None:
        with files.draft(path) as beside:
            beside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.put(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
