# SPDX-License-Identifier: MIT OR Apache-2.0
"""SIGCOMM'22's folder: it is whole, it runs, every claim gets a number or a reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import ROOT
from etalon import reproduce
from etalon.errors import EtalonError
from etalon.figures.sequence import baselines
from etalon.reproduce.paper import Paper

FOLDER = ROOT / "papers" / "sigcomm22"


@pytest.fixture(scope="module")
def sigcomm22() -> Paper:
    return Paper.load("sigcomm22")


def _shortened(folder: Path) -> Path:
    """A copy of the paper's folder with runs of twenty weeks."""
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / "plans").glob("*.toml"):
        text = path.read_text()
        for key, value in (("duration", "42ms"), ("warmup", "14ms")):
            text, found = re.subn(rf'^{key} = "[^"]*"', f'{key} = "{value}"', text, flags=re.M)
            assert found == 1, path
        path.write_text(text)
    return folder


def test_one_set_of_host_parameters(sigcomm22: Paper) -> None:
    """No constant is fitted to a figure: hosts, the week and what transports are told are the same everywhere."""
    hosts = set()
    for point in sigcomm22.points(sigcomm22.choose(None)):
        for plan in point.plans:
            resolved = plan.resolve()
            same = (resolved["hosts"], resolved["tcp"], resolved["tdf"], resolved["schedule"])
            hosts.add(str(same))
    assert len(hosts) == 1


def test_a_series_takes_from_the_one_that_it_is_like(sigcomm22: Paper) -> None:
    both, only = sigcomm22.series["bw-lat"], sigcomm22.series["bw-only"]
    assert (only.x, only.also) == (both.x, both.also)
    assert (only.plan, both.plan) == ("bw-only", "bw-lat")


def test_a_series_like_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    folder = _shortened(tmp_path / "sigcomm22")
    path = folder / "series.toml"
    path.write_text(path.read_text().replace('like = "bw-lat"', 'like = "bandwidth"', 1))
    with pytest.raises(EtalonError, match="bw-only: there is no series bandwidth to be like"):
        Paper.load(str(folder))


@pytest.mark.parametrize(
    ("series", "optimal", "packet_only"),
    [("bw-lat", 21.43, 10), ("lat-only-fast", 98.57, 100)],
)
def test_the_lines_to_compare_with(
    sigcomm22: Paper, series: str, optimal: float, packet_only: float
) -> None:
    """The packet network is dark in the night before the optical day and in it, and nobody sends in that night."""
    lines = baselines(sigcomm22.point(series, "cubic").plans[0].resolve(), 1, 1400)
    assert lines is not None
    assert lines.optimal[-1] * 8 / 1.4e6 == pytest.approx(optimal, abs=0.005)
    assert lines.packet_only[-1] * 8 / 1.4e6 == pytest.approx(packet_only)


@pytest.mark.slow
def test_every_figure_is_run_judged_and_drawn(tmp_path: Path) -> None:
    """The same folder with short runs: what comes out is not the paper's, but all of it comes out."""
    folder = _shortened(tmp_path / "sigcomm22")
    result = reproduce.reproduce(str(folder), out=tmp_path / "out")
    for claim in result.claims():
        assert claim["verdict"].startswith(("reproduced", "calibrated", "differs", "not")), claim[
            "id"
        ]
    drawn = {path.stem for path in (tmp_path / "out" / "figures").glob("*.png")}
    for figure in result.paper.drawings:
        assert any(name.split("-")[0] == figure for name in drawn), figure
