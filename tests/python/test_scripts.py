# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts that measure for minutes print their usage for `--help`, and run nothing."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from conftest import ROOT

FOLDERS = (
    "docs/*.py",
    "docs/images/*.py",
    "benches/*.py",
    "papers/*.py",
    "papers/*/asides.py",
    "tools/*.py",
)
SCRIPTS = sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in ROOT.glob(folder))


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_printed(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "parse_args(" in Path(ROOT, script).read_text(), f"{script} would run: give it argparse"
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(Path(ROOT, script).parent), *sys.path])
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(script, run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out.startswith("usage:")
