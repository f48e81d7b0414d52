# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the demonstration finds its programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import need_module

need_module("os_ken", "otcp")

from etalon.errors import EtalonError
from etalon_otcp.demo import outside


def fill(folder: Path) -> dict[str, str]:
    folder.mkdir()
    for name in outside.PROGRAMS:
        (folder / name).touch(mode=0o755)
    return {name: str(folder / name) for name in outside.PROGRAMS}


def test_programs_come_from_a_folder_else_the_wheel_else_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, packed, given = (fill(tmp_path / name) for name in ("path", "packed", "given"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(outside, "PACKED", tmp_path / "nowhere")
    monkeypatch.delenv(outside.FOLDER, raising=False)
    assert outside.programs() == path
    monkeypatch.setattr(outside, "PACKED", tmp_path / "packed")
    assert outside.programs() == packed
    monkeypatch.setenv(outside.FOLDER, str(tmp_path / "given"))
    assert outside.programs() == given
    (tmp_path / "given" / outside.PROGRAMS[0]).unlink()
    with pytest.raises(EtalonError, match=f"has no {outside.PROGRAMS[0]}"):
        outside.programs()
