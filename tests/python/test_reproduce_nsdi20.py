# SPDX-License-Identifier: MIT OR Apache-2.0
"""NSDI'20's folder: it is whole, it runs, every claim gets a number or a reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import ROOT
from etalon import reproduce
from etalon.reproduce.paper import Paper

FOLDER = ROOT / "papers" / "nsdi20"


@pytest.fixture(scope="module")
def nsdi20() -> Paper:
    return Paper.load("nsdi20")


def test_every_point_has_plans_or_waits_for_a_congestion_control(nsdi20: Paper) -> None:
    points = nsdi20.points(nsdi20.choose(None))
    waiting = {str(point.x) for point in points if not point.plans}
    assert {point.series for point in points if not point.plans} <= {"controls", "controls-resize"}
    assert waiting.isdisjoint({"cubic", "reno", "dctcp"})


def test_a_number_means_all_its_parts(nsdi20: Paper) -> None:
    assert [figure.id for figure in nsdi20.choose(["9"])] == ["9a", "9b", "9c"]
    assert [figure.id for figure in nsdi20.choose(["11,8a"])] == ["8a", "11a", "11b", "11c"]
    assert [figure.id for figure in nsdi20.choose(["3"])] == ["3"]


def test_figures_share_points(nsdi20: Paper) -> None:
    """2b is 8a at 16 packets, 4 is the same with other congestion controls."""
    (static,) = nsdi20.point("static", 16).plans
    (control,) = nsdi20.point("controls", "cubic").plans
    assert static.digest == control.digest
    (resize,) = nsdi20.point("resize", 1200).plans
    assert resize.digest == nsdi20.point("controls-resize", "cubic").plans[0].digest


def test_one_set_of_host_parameters(nsdi20: Paper) -> None:
    """No constant is fitted to a figure: hosts are the same everywhere, tdf is 20 but where nothing was dilated."""
    hosts = set()
    for point in nsdi20.points(nsdi20.choose(None)):
        for plan in point.plans:
            resolved = plan.resolve()
            hosts.add(
                str(({**resolved["hosts"], "racks": None, "per_rack": None}, resolved["tcp"]))
            )
            undilated = point.series.startswith("uptime") or point.series.endswith("-undilated")
            assert resolved["tdf"] == (1 if undilated else 20)
    assert len(hosts) == 1


@pytest.mark.slow
def test_every_figure_is_run_judged_and_drawn(tmp_path: Path) -> None:
    """The same folder with short runs: what comes out is not the paper's, but all of it comes out."""
    folder = tmp_path / "nsdi20"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / "plans").glob("*.toml"):
        text = re.sub(r'^duration = ".*?"', 'duration = "300ms"', path.read_text(), flags=re.M)
        text = text.replace('warmup = "210ms"', 'warmup = "10ms"').replace("2500MB", "1MB")
        path.write_text(text)
    result = reproduce.reproduce(str(folder), out=tmp_path / "out")
    verdicts = {claim["id"]: claim["verdict"] for claim in result.claims()}
    assert "not measured" not in verdicts.values()
    for claim in result.claims():
        assert (claim["measured"] is None) == (claim["verdict"] == "not yet"), claim["id"]
    for exact in ("table1/day-expected", "table1/week-expected"):
        assert verdicts[exact] == "reproduced"
    drawn = {path.stem for path in (tmp_path / "out" / "figures").glob("*.png")}
    figures = {
        figure.id for figure in result.paper.head.figure if figure.id in result.paper.drawings
    }
    assert {name for name in figures if name != "tdf1"} <= drawn
    assert {"tdf1-static", "tdf1-resize", "tdf1-retcp"} <= drawn


@pytest.mark.slow
def test_the_central_figures_are_reproduced_at_full_length(tmp_path: Path) -> None:
    """Utilisation and tail latency of static VOQs, of resizing and of reTCP: every published point, in tolerance."""
    result = reproduce.reproduce(
        "nsdi20", ["8a", "8c", "9a", "9c", "11a", "11c"], out=tmp_path / "out"
    )
    claims = result.claims()
    assert len(claims) >= 2 * (6 + 11 + 7)
    missed = [
        (c["id"], c["published"], c["measured"]) for c in claims if c["verdict"] != "reproduced"
    ]
    assert not missed
