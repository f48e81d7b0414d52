# SPDX-License-Identifier: MIT OR Apache-2.0
"""Golden runs: what examples, benches and the papers' plans give on both engines, to the byte.

A digest mixes a run's weeks and what happens to every packet. One that moves means that the engine did something else; a
summary that moves beneath an equal digest, that a metric's definition changed. Either is for a commit of its own that says why:

    pytest tests/python/test_golden.py --snapshot-update
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import etalon as et
from conftest import ROOT, need_kernel
from etalon import pages

FILES = sorted(
    path
    for folder in ("examples", "benches", "papers/*/plans")
    for path in ROOT.glob(f"{folder}/*.toml")
)
# The simulator has no programs; some of the papers' plans take Linux half a minute.
SIMULATED = [path for path in FILES if path.stem not in ("programs", "delays")]
LONG = (
    "papers/cnsm16/plans/busy",
    "papers/etalon18/plans/dfsio",
    "papers/etalon18/plans/rings",
    "papers/opera/plans/beside",
    "papers/opera/plans/shuffle",
)
"""Of these, those that take more than five seconds."""
ALONE = ("dfsio", "opera", "powertcp", "programs", "rotornet", "shale")
"""Examples that one engine runs."""
ON_LINUX = [path for path in FILES if path.parent.name == "examples" and path.stem not in ALONE]


def named(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


# Benches of many racks are shorter than their week.
@pytest.mark.filterwarnings("ignore:the plan measures:etalon.errors.PlanWarning")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=named(path), marks=[pytest.mark.slow] * (named(path) in LONG))
        for path in SIMULATED
    ],
)
def test_simulator(path: Path, snapshot: SnapshotAssertion) -> None:
    assert pages.record(et.run(et.Plan.load(path))) == snapshot


def test_every_snapshot_has_its_test() -> None:
    """`make test` runs some of them, so it cannot tell which are no longer used."""
    text = Path(__file__).with_name("__snapshots__").joinpath("test_golden.ambr").read_text()
    kept = set(re.findall(r"^# name: (.*)$", text, re.MULTILINE))
    simulated = {f"test_simulator[{named(path)}]" for path in SIMULATED}
    assert kept == simulated | {f"test_linux[{named(path)}]" for path in ON_LINUX}


@pytest.mark.parametrize("path", ON_LINUX, ids=named)
def test_linux(path: Path, snapshot: SnapshotAssertion) -> None:
    need_kernel()
    assert pages.record(et.run(et.Plan.load(path), engine="linux")) == snapshot
