# SPDX-License-Identifier: MIT OR Apache-2.0
"""Opera's folder: it is whole, it runs, every claim gets a number or a reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from etalon import reproduce
from etalon.reproduce.paper import Paper

FOLDER = ROOT / "papers" / "opera"
QUICK = {"tables", "paths", "alone", "11", "quick"}
"""What runs without being named."""


def test_one_network_for_all() -> None:
    """No constant is fitted: all of Opera's and RotorNet's runs have the same circuits, all of NDP's the same transport."""
    paper = Paper.load("opera")
    circuits: set[str] = set()
    transports: dict[str, set[str]] = {}
    for point in paper.points(paper.choose(None)):
        (plan,) = point.plans
        table: dict[str, Any] = plan.to_dict()
        if table["schedule"]["kind"] == "opera":
            circuits.add(str((table["network"]["circuits"], table["schedule"])))
            assert (table["network"]["racks"], table["network"]["hosts"]) == (108, 6)
        for workload in ("poisson", "flow", "shuffle"):
            for one in table.get(workload, ()):
                kind = one["transport"]["kind"]
                transports.setdefault(kind, set()).add(str(one["transport"]))
    assert len(circuits) == 1
    # Opera, the Clos network and the expander have windows and paths of their own; the last two have others in the shuffle.
    assert (len(transports["ndp"]), len(transports["rotorlb"])) == (5, 1)


def test_what_takes_long_is_not_run_unasked() -> None:
    paper = Paper.load("opera")
    assert {figure.id for figure in paper.choose(None, full=False)} == QUICK
    assert {figure.id for figure in paper.choose(None)} > QUICK


@pytest.mark.slow
def test_tables_and_paths(tmp_path: Path) -> None:
    """What needs no packets."""
    result = reproduce.reproduce("opera", ["tables", "paths"], out=tmp_path / "out")
    verdicts = [claim["verdict"] for claim in result.claims()]
    assert verdicts == ["reproduced"] * 2 + ["calibrated"] * 4 + ["reproduced"]


@pytest.mark.slow
def test_a_flow_alone_takes_the_time_of_a_closed_form(tmp_path: Path) -> None:
    result = reproduce.reproduce("opera", ["alone"], out=tmp_path / "out")
    assert {claim["verdict"] for claim in result.claims()} == {"reproduced"}
    closed = result.paper.measures.closed_form
    # Sizes and times in microseconds that the authors' logs have most often, between pods and within one.
    for size, hops, took in (
        (180, 4, 5.478),
        (180, 2, 2.986),
        (5971, 4, 16.307),
        (27563, 2, 29.805),
    ):
        assert abs(closed(size, hops) - took) < 0.001


def test_shares_of_bytes_are_the_papers() -> None:
    """4 % of data mining's bytes are in flows that pay for several hops (section 5.1)."""
    share = Paper.load("opera").measures.short_share("opera-datamining", 15_000_000)
    assert abs(share - 0.0397) < 0.0001


@pytest.mark.slow
def test_every_figure_is_run_judged_and_drawn(tmp_path: Path) -> None:
    """The same folder with short runs: what comes out is not the paper's, but all of it comes out."""
    folder = tmp_path / "opera"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "series.toml"
    text = re.sub(r'duration = "[^"]*"', 'duration = "1ms"', path.read_text())
    text = re.sub(r'warmup = "[^"]*"', 'warmup = "0s"', text)
    path.write_text(text.replace('"100kB"', '"1500B"'))
    result = reproduce.reproduce(str(folder), full=True, out=tmp_path / "out")
    verdicts = {claim["id"]: claim["verdict"] for claim in result.claims()}
    assert not result.not_run
    assert sum(verdict == "not yet" for verdict in verdicts.values()) == 0
    measured = [claim for claim in result.claims() if claim["measured"] is not None]
    assert len(measured) > len(verdicts) / 3  # in 1 ms few long flows finish
    drawn = [f"{path.stem}-" for path in (tmp_path / "out" / "figures").glob("*.png")]
    assert all(any(one.startswith(f"{name}-") for one in drawn) for name in result.paper.drawings)
