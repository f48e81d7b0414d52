# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon-otcp` is a distribution of its own: without it everything else works, and its commands say how to get it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from conftest import ROOT
from etalon import doctor

WITHOUT = """
import sys
sys.path.insert(0, {python!r})
import importlib.util as util
find = util.find_spec
util.find_spec = lambda name, *more: None if name == "etalon_otcp" else find(name, *more)
sys.modules["etalon_otcp"] = None  # an import fails
from etalon.cli import main
sys.exit(main({arguments!r}))
"""


def without(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = WITHOUT.format(python=str(ROOT / "python"), arguments=list(arguments))
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("arguments", [("otcp",), ("otcp", "demo", "--hosts", "8")])
def test_its_commands_say_how_to_get_it(arguments: tuple[str, ...]) -> None:
    answer = without(*arguments)
    assert answer.stderr == (
        "error: etalon-otcp is not installed: pip install 'etalon-rdcn[otcp]' (in a clone: make setup)\n"
    )
    assert answer.returncode == 1


def test_plans_need_its_equations_only() -> None:
    assert importlib.util.find_spec("etalon.plan.otcp.equations") is not None
    assert without("list", "engines").returncode == 0


def test_doctor_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        doctor, "find_spec", lambda name: None if name == "etalon_otcp" else find(name)
    )
    check = doctor._otcp()
    assert (check.state, check.found) == (doctor.State.OPTIONAL, "not installed")
    assert "etalon-rdcn[otcp]" in check.remedy
