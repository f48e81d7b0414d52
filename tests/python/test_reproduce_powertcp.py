# SPDX-License-Identifier: MIT OR Apache-2.0
"""PowerTCP's folder: it is whole, it runs, every claim gets a number or a reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import etalon as et
from conftest import ROOT
from etalon import reproduce
from etalon.reproduce.paper import Paper

FOLDER = ROOT / "papers" / "powertcp"


def test_one_network_for_all() -> None:
    """No constant is fitted: hosts, links and the week are the same everywhere, and the longest RTT is the paper's."""
    paper = Paper.load("powertcp")
    same = set()
    for point in paper.points(paper.choose(None)):
        for plan in point.plans:
            resolved = plan.resolve()
            rdcn = resolved["network"]["rdcn"]
            links = (rdcn["packet"], rdcn["circuits"])
            same.add(str((resolved["hosts"], resolved["tdf"], resolved["schedule"], links)))
    assert len(same) == 1
    hosts, packet = resolved["hosts"], rdcn["packet"]
    frame = 1514 * 8e9 / hosts["rate_bps"]  # ns on each of three links, and the ACK on as many
    rtt = 3 * frame * (1 + 78 / 1514) + 4 * packet["up_delay_ns"] + 2 * hosts["delay_ns"]
    assert 22_000 < rtt <= 24_000


def test_when_a_circuit_is_full() -> None:
    """Read off what arrives: here nothing for 30 us of the day, and the circuit's rate from then on."""
    measures = Paper.load("powertcp").measures
    plan = et.Plan.load(FOLDER / "plans" / "rdcn.toml")

    class Fake:
        def __init__(self) -> None:
            self.plan = plan
            rate = np.zeros(measures.WEEK)
            day = measures.WEEK - measures.DAY + measures.PROPAGATION
            rate[day + 30 :] = 1448 / 1514 * 100e9 / 8e6 / 10  # bytes a us and flow
            self.sequence = pl.DataFrame({"bytes": np.cumsum(rate)})

    # Of the 24 us that follow, nine tenths are enough.
    assert measures.fill(Fake()) == 28


@pytest.mark.slow
def test_every_figure_is_run_judged_and_drawn(tmp_path: Path) -> None:
    """The same folder with short runs: what comes out is not the paper's, but all of it comes out."""
    folder = tmp_path / "powertcp"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "plans" / "rdcn.toml"
    text = path.read_text()
    for key, value in (("duration", "58800us"), ("warmup", "17640us")):
        text, found = re.subn(rf'^{key} = "[^"]*"', f'{key} = "{value}"', text, flags=re.M)
        assert found == 1
    path.write_text(text)
    result = reproduce.reproduce(str(folder), out=tmp_path / "out")
    verdicts = {claim["id"]: claim["verdict"] for claim in result.claims()}
    assert len(verdicts) == 11
    assert sum(verdict == "reproduced" for verdict in verdicts.values()) >= 8, verdicts
    drawn = {path.stem for path in (tmp_path / "out" / "figures").glob("*.png")}
    for figure in result.paper.drawings:
        assert any(name.split("-")[0] == figure for name in drawn), figure
