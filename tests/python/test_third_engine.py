# SPDX-License-Identifier: MIT OR Apache-2.0
"""An engine is a class and a line: one of this test's own is run, swept, kept apart and listed as those of the product."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

import etalon as et
from conftest import Answer
from etalon import _core, engine
from etalon.engine import Options
from etalon.engine.sim import Simulator
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.results import Run


class Halved(Simulator):
    """The simulator at half the circuits' rate, and without DCTCP."""

    NAME = "halved"
    DESCRIPTION = "the simulator with circuits that are half as fast"

    def problems(self, plan: Plan) -> list[PlanError]:
        keys = [key for key, workload in plan.named_workloads() if "dctcp" in workload.controls]
        return [PlanError("the engine halved has no dctcp", key=f"{key}.cc") for key in keys]

    def digest(self, plan: Plan) -> str:
        return "halved-" + super().digest(plan)

    def run(self, plan: Plan, control: _core.Control) -> Run:
        done = super().run(plan.replace({"network.circuit.rate": "40Gbps"}), control)
        meta = {**done.meta, "engine": self.NAME}
        return dataclasses.replace(done, plan=plan, meta=meta)


@pytest.fixture(autouse=True)
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(options: Options) -> Halved:
        return Halved(options)

    monkeypatch.setitem(engine.ENGINES, Halved.NAME, make)


def test_it_is_listed_and_named(etalon: Callable[..., Answer], small_file: Path) -> None:
    assert Halved.DESCRIPTION in etalon("list", "engines").out
    wrong = etalon("run", small_file, "--engine", "nosuch")
    assert wrong.code == 2
    assert '"halved"' in wrong.err


def test_it_runs_from_python_and_from_the_command_line(
    small: Plan, small_file: Path, etalon: Callable[..., Answer], tmp_path: Path
) -> None:
    ours, halved = et.run(small), et.run(small, engine="halved")
    assert halved.meta["engine"] == "halved"
    assert halved.payload("circuit") < ours.payload("circuit")
    done = etalon("run", small_file, "--engine", "halved", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert Run.load(tmp_path / "out").meta["digest"] == halved.meta["digest"]


def test_it_sweeps_and_its_points_are_not_taken_for_the_simulators(
    small_file: Path, etalon: Callable[..., Answer], tmp_path: Path
) -> None:
    def sweep(*more: str) -> Answer:
        return etalon(
            "sweep",
            small_file,
            "--set",
            "seed=1,2",
            "--no-figures",
            "--out",
            tmp_path / "sweep",
            *more,
        )

    assert sweep("--engine", "halved").code == 0
    assert "holds another sweep" in sweep().err


def test_it_says_what_it_cannot(small_file: Path, etalon: Callable[..., Answer]) -> None:
    refused = etalon("run", small_file, "--engine", "halved", "--set", "bulk.cc=dctcp")
    assert refused.code == 2
    assert "the engine halved has no dctcp" in refused.err
