# SPDX-License-Identifier: MIT OR Apache-2.0
"""Etalon'18's folder: it is whole, it runs, every claim gets a number; demand known well is worth what the paper says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import ROOT
from etalon import reproduce
from etalon.reproduce.paper import Paper

FOLDER = ROOT / "papers" / "etalon18"


@pytest.fixture(scope="module")
def etalon18() -> Paper:
    return Paper.load("etalon18")


def _shortened(folder: Path, replaced: dict[str, dict[str, str]]) -> Path:
    """A copy of the paper's folder whose plans have other values: by plan, key and value."""
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, values in replaced.items():
        path = folder / "plans" / f"{name}.toml"
        text = path.read_text()
        for key, value in values.items():
            text, found = re.subn(rf'^{key} = ".*?"', f'{key} = "{value}"', text, flags=re.M)
            assert found == 1, (name, key)
        path.write_text(text)
    return folder


def test_every_point_is_run(etalon18: Paper) -> None:
    assert all(point.plans for point in etalon18.points(etalon18.choose(None)))


def test_hosts_and_the_age_of_demand_are_the_same_within_a_section(etalon18: Paper) -> None:
    """No constant is fitted to a figure."""
    hosts: dict[str, set[str]] = {}
    ages = set()
    for point in etalon18.points(etalon18.choose(None)):
        name = etalon18.series[point.series].plan
        for plan in point.plans:
            resolved = plan.resolve()
            alike = {**resolved["hosts"], "racks": None, "per_rack": None}
            same = (alike, resolved["tcp"], resolved["tdf"])
            hosts.setdefault(name, set()).add(str(same))
            if control := (resolved.get("schedule") or {}).get("control"):
                assert control["estimator"] in ("voq", {"adu": {"report_ns": 0}})
                ages.add((control["compute_ns"], control["interval_ns"]))
    assert {name: len(found) for name, found in hosts.items()} == {
        "strobe": 1,
        "rings": 1,
        "dfsio": 1,
    }
    assert ages == {(100_000, 0)}


@pytest.mark.slow
def test_every_figure_is_run_judged_and_drawn(tmp_path: Path) -> None:
    """The same folder with short runs: what comes out is not the paper's, but all of it comes out."""
    folder = _shortened(
        tmp_path / "etalon18",
        {
            "strobe": {"duration": "20ms", "warmup": "8ms"},
            "rings": {"duration": "600ms", "period": "20ms", "limit": "80ms"},
            "dfsio": {"size": "2MB"},
        },
    )
    result = reproduce.reproduce(str(folder), out=tmp_path / "out")
    for claim in result.claims():
        assert claim["measured"] is not None, claim["id"]
        assert claim["verdict"].startswith(("reproduced", "differs")), claim["id"]
    drawn = {path.stem for path in (tmp_path / "out" / "figures").glob("*.png")}
    for figure in result.paper.drawings:
        assert any(name.split("-")[0] == figure for name in drawn), figure


@pytest.mark.slow
def test_big_flows_are_served_far_better_if_hosts_announce_them(tmp_path: Path) -> None:
    """Figure 13 over a tenth of the paper's time: what VOQs hold says little about what is to come."""
    folder = _shortened(tmp_path / "etalon18", {"rings": {"period": "200ms"}})
    result = reproduce.reproduce(str(folder), ["13"], out=tmp_path / "out")
    measured = {claim["id"]: claim["measured"] for claim in result.claims()}
    assert measured["13/one_ring_big_p50"] > 2
    assert measured["13/one_ring_fixed"] == pytest.approx(1, abs=0.3)
