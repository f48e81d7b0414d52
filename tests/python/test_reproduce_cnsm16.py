# SPDX-License-Identifier: MIT OR Apache-2.0
"""CNSM'16: what the paper prints is computed, and what it is about happens."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import etalon as et
from conftest import Answer, need_kernel, need_program
from etalon import figures
from etalon.reproduce import Estimate, Judged, table
from etalon.reproduce.paper import Paper


def test_table_1_but_for_two_values_that_contradict_the_paper(
    etalon: Callable[..., Answer],
) -> None:
    claims = etalon("reproduce", "cnsm16", "--figure", "table-1", "--json").json
    differing = {claim["id"] for claim in claims if claim["verdict"] != "reproduced"}
    assert len(claims) == 15
    assert differing == {"table-1/tor_cwndmax", "table-1/core_rtoinit"}


def test_an_incast_is_done_far_sooner_with_parameters_of_the_network() -> None:
    paper = Paper.load("cnsm16")
    means = {}
    for series in ("rack-tcp", "rack-otcp"):
        plan = paper.point(series, 40).plans[0].replace({"incast.rounds": 5})
        times = et.run(plan).fct()["fct_us"]
        assert times.null_count() == 0
        means[series] = times.to_numpy().mean()
    assert means["rack-tcp"] > 5 * means["rack-otcp"]


def test_figures_that_compare_engines_are_linux_ones() -> None:
    assert "engines" not in [figure.id for figure in Paper.load("cnsm16").head.figure]
    linux = Paper.load("cnsm16", "linux")
    assert linux.beside is not None
    other, compared = linux.beside
    assert other.engine == "sim"
    assert len(other.points(compared)) == len(linux.points(compared)) == 60


@pytest.mark.parametrize("series", ["rack-otcp", "core-dctcp"])
def test_incasts_take_the_same_time_on_linux(series: str) -> None:
    """By five rounds, with the kernel that other tests have."""
    need_kernel()
    plan = Paper.load("cnsm16").point(series, 25).plans[0]
    plan = plan.replace({"incast.rounds": 5, "tcp.hz": 250})
    means = {}
    for engine in ("sim", "linux"):
        times = et.run(plan, engine=engine).fct()["fct_us"]
        assert times.null_count() == 0
        means[engine] = times.to_numpy().mean()
    assert means["linux"] == pytest.approx(means["sim"], rel=0.15)


@pytest.mark.slow
def test_otcp_measures_the_round_trips_that_ping_does(
    etalon: Callable[..., Answer], tmp_path: Path
) -> None:
    """Figure 4, from the demonstration as a program of a plan."""
    need_kernel()
    need_program("ovs-vswitchd", "ethtool")
    answer = etalon(
        *("reproduce", "cnsm16", "--engine", "linux", "--figure", "4", "--full"),
        *("--out", tmp_path / "out", "--json"),
    )
    assert [claim["verdict"] for claim in answer.json] == ["reproduced"] * 3


def test_intervals_come_from_rounds_drawn_again() -> None:
    measures = Paper.load("cnsm16").measures
    times = np.arange(30.0)[:, None] + np.zeros((30, 90))
    draws = measures.drawn(times, "any")
    assert np.array_equal(draws[0], times)
    assert np.array_equal(draws, measures.drawn(times, "any"))
    estimate = measures.estimate(measures.mean(draws))
    assert estimate == 14.5
    # Of thirty rounds with a standard deviation of 8.66: 1.96 x 8.66 / sqrt(30) = 3.1 to each side.
    assert 2.4 < estimate - estimate.low < 3.9
    assert 2.4 < estimate.high - estimate < 3.9
    flat = np.tile(np.arange(90.0), (30, 1))
    assert measures.estimate(measures.p95(measures.drawn(flat, "any"))) == Estimate(85, 85, 85)


def test_an_interval_is_in_tables_and_figures() -> None:
    estimate = pickle.loads(pickle.dumps(Estimate(2.0, 1.5, 4.0)))
    assert (estimate, estimate.low, estimate.high) == (2.0, 1.5, 4.0)
    claim = next(claim for claim in Paper.load("cnsm16").claims if claim.id == "5a/mean_gain")
    judged = Judged(claim, estimate, "differs")
    assert judged.as_dict()["interval"] == [1.5, 4.0]
    assert "2 (1.50..4) times" in table.cells(judged)
    assert "interval" not in Judged(claim, 2.0, "differs").as_dict()
    figure = figures.draw("lines", {"TCP": {1: estimate, 2: Estimate(3.0, 2.0, 5.0)}})
    assert len(figure.axes[0].collections) == 1
    assert figures.interactive("lines", {"TCP": {1: estimate}}).data[0].error_y.array[0] == 2.0
