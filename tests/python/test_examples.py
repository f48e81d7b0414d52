# SPDX-License-Identifier: MIT OR Apache-2.0
"""The examples: every one runs, and fits on a screen."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import etalon as et
from conftest import ROOT
from etalon import engine

PLANS = sorted((ROOT / "examples").glob("*.toml"))
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plan(path: Path) -> None:
    plan = et.Plan.load(path)
    assert plan.warnings == []
    if plan.program:  # which real hosts run, in test_linux_kernel.py
        engine.check([plan], "linux")
        return
    run = et.run(plan.replace({"duration": "60ms", "warmup": "0ms"}))
    assert run.goodput is not None
    flows = run.fct()
    all_of_it = flows.height == run.flows.height and flows["fct_us"].null_count() == 0
    assert run.goodput > 1e9 or all_of_it


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", [*PLANS, *SCRIPTS], ids=lambda path: path.name)
def test_one_screen_with_a_sentence_first(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= 45
    sentence = next(line for line in lines if not line.startswith("# SPDX-"))
    assert sentence.startswith(("# ", '"""'))
    assert sentence.rstrip('"').endswith(".")
