# SPDX-License-Identifier: MIT OR Apache-2.0
"""SIGCOMM'22's extensions: every plan is one, every experiment has its text, and what is read off runs."""

from __future__ import annotations

import pytest

import etalon as et
from conftest import ROOT
from etalon.papers.sigcomm22.extensions import beyond, drawings, experiments
from etalon.papers.sigcomm22.extensions.quantities import QUANTITIES

BY_NAME = {what.id: what for what in experiments.EXPERIMENTS}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "WEEKS", 3)
    monkeypatch.setattr(experiments, "WARMUP_NS", 20_000_000)
    monkeypatch.setattr(experiments, "SEEDS", 1)


def test_every_experiment_has_its_text_and_its_pictures() -> None:
    assert beyond.found().keys() == {"map", *BY_NAME}
    assert len(BY_NAME) == len(experiments.EXPERIMENTS)
    page = (ROOT / "docs/tdtcp-beyond.md").read_text()
    for name in ("map", *BY_NAME):
        picture = f"images/tdtcp-beyond-{name}.png"
        assert picture in page and (ROOT / "docs" / picture).is_file()


def test_every_point_is_a_plan_of_its_own() -> None:
    for what in (*experiments.MAP, *experiments.EXPERIMENTS):
        assert set(what.linux) <= what.points.keys()
        seen = [plan.digest for _, _, plan in what.plans("sim")]
        assert len(seen) == len(what.lines) * len(what.points)
        assert len(set(seen)) >= len(seen) // 2, "CUBIC does not hear"
        for changes in what.week.values():
            experiments.plan(changes)


def test_what_is_run_is_told_and_drawn() -> None:
    what = BY_NAME["tdns"]
    measured = beyond.run(what)
    rows = list(beyond.table(what, measured))
    assert (
        rows[0]
        == "| TDNs | CUBIC, Gb/s | TDTCP, Gb/s | CUBIC, VOQ | TDTCP, VOQ | TDTCP over CUBIC |"
    )
    assert [row.split(" | ")[0] for row in rows[2:]] == ["| 2", "| 3", "| 4"]
    assert drawings.experiment(what, measured).startswith(b"\x89PNG")
    runs = {line: measured[line, 2][0] for line in what.lines}
    assert drawings.week(runs).startswith(b"\x89PNG")


def test_shares_and_fairness() -> None:
    of = {name: quantity.of for name, quantity in QUANTITIES.items()}
    both, one = (et.run(experiments.plan(experiments.halves(flows))) for flows in (4, 16))
    received = both.flows["bytes_delivered"].to_list()
    assert of["share"](both) == pytest.approx(sum(received[:4]) / 4 / (sum(received[4:]) / 12))
    assert of["share"](one) != of["share"](one), "nobody to compare with"
    expected = sum(received) ** 2 / (16 * sum(b * b for b in received))
    assert of["jain"](both) == pytest.approx(expected)
    assert 1 / 16 <= expected <= 1
