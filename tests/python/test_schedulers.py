# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schedulers from Python: weeks for demand matrices, matchings against scipy, plans whose weeks are computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import etalon as et
from etalon import schedulers
from etalon.figures import demand as demand_figure
from etalon.figures import draw, interactive
from etalon.plan.schedules import SCHEDULES
from etalon.plan.schedules.computed import Computed

RING = np.roll(np.eye(4, dtype=np.int64) * 9_000_000, 1, axis=1)
COMPUTING = [name for name in schedulers.names() if name != "fixed"]

matrices = st.integers(1, 16).flatmap(
    lambda side: arrays(np.int64, (side, side), elements=st.integers(0, 12))
)


@given(matrices, st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_maximum_matchings_are_as_large_as_scipys(matrix: np.ndarray, threshold: int) -> None:
    ours = schedulers.maximum_matching(matrix, threshold)
    rows = np.flatnonzero(ours >= 0)
    assert len(set(ours[rows])) == len(rows)
    assert (matrix[rows, ours[rows]] >= threshold).all()
    theirs = maximum_bipartite_matching(csr_array(matrix >= threshold), perm_type="column")
    assert len(rows) == (theirs >= 0).sum()


@given(matrices)
@settings(max_examples=200, deadline=None)
def test_heaviest_matchings_are_as_heavy_as_scipys(matrix: np.ndarray) -> None:
    ours = schedulers.heaviest_matching(matrix)
    rows = np.arange(len(matrix))
    assert sorted(ours) == list(rows)
    theirs = linear_sum_assignment(matrix, maximize=True)
    assert matrix[rows, ours].sum() == matrix[theirs].sum()


@pytest.mark.parametrize("name", ["bvn", "eclipse", "max-weight", "solstice", "solstice-published"])
def test_one_configuration_serves_a_ring(name: str) -> None:
    week = schedulers.compute(name, RING)
    assert [c["sources"] for c in week.configurations] == [[3, 0, 1, 2]]
    assert week.length_ns == 2_000_000
    assert (week.served == RING).all()
    # 9 MB take 900 us of 2000.
    assert week.idle == pytest.approx(0.55)


def test_tms_gives_a_ring_most_of_the_week() -> None:
    week = schedulers.compute(
        "tms", RING
    )  # and all other pairs a little, without which it could not be scaled
    longest = max(week.configurations, key=lambda c: c["day_ns"])
    assert longest["sources"] == [3, 0, 1, 2]
    assert longest["day_ns"] > week.length_ns / 2


@pytest.mark.parametrize("name", COMPUTING)
@given(arrays(np.int64, (6, 6), elements=st.integers(0, 30_000_000)))
@settings(max_examples=25, deadline=None)
def test_weeks_are_matchings_that_fill_the_window(name: str, demand: np.ndarray) -> None:
    np.fill_diagonal(demand, 0)
    week = schedulers.compute(name, demand, window="3ms")
    assert week.length_ns == 3_000_000
    for configuration in week.configurations:
        sources = [src for src in configuration["sources"] if src >= 0]
        assert len(set(sources)) == len(sources)
        assert configuration["day_ns"] >= 180_000
        assert configuration["night_ns"] == 20_000
    assert (week.served <= demand).all()
    assert 0 <= week.idle <= 1


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ([[0, 1], [1]], "not square: its rows differ in length"),
        ([[0, 1, 2], [1, 0, 2]], "not square: it is 2 x 3"),
        ([[0, -1], [1, 0]], "from rack 0 to rack 1 is -1: demand is never negative"),
        ([[0, 1], [1, 5]], "rack 1 has demand for itself"),
        ([[0, 0.5], [1, 0]], "from rack 0 to rack 1 is 0.5: it must be whole bytes"),
        ([[0, 1e20], [1, 0]], "from rack 0 to rack 1 is 1e\\+20: it must be below 2\\^63 bytes"),
        ([[0, float("nan")], [1, 0]], "must hold numbers of bytes"),
        ([["a", "b"], ["c", "d"]], "must hold numbers of bytes"),
        ([[0]], "2 to 1024 racks, this has 1"),
    ],
)
def test_what_is_no_demand_matrix_is_said(demand: object, said: str) -> None:
    with pytest.raises(et.PlanError, match=said):
        schedulers.compute("solstice", demand)


def test_what_has_no_week_is_said() -> None:
    with pytest.raises(et.PlanError, match='no scheduler "sostice" computes weeks; there are bvn'):
        schedulers.compute("sostice", RING)
    with pytest.raises(et.PlanError, match="a window of 190us is shorter than one day of 180us"):
        schedulers.compute("solstice", RING, window="190us")


def test_a_plan_computes_its_weeks() -> None:
    net = et.network(racks=4, hosts=2)
    week = et.computed(net, "solstice", estimator="oracle", compute="100us")
    plan = et.experiment(
        net, week, *(et.bulk(src, (src + 1) % 4, cc="reno") for src in range(4)), duration="20ms"
    )
    again = et.Plan.from_toml(plan.to_toml())
    assert again.digest == plan.digest
    run = et.run(plan)
    kept = run.meta["schedule"]
    # At the end of every week, of 2 ms, but the last.
    assert kept["weeks"] == 9
    assert [c["sources"] for c in kept["configurations"]] == [[3, 0, 1, 2]]
    assert np.array(kept["demand"]).nonzero()[1].tolist() == [1, 2, 3, 0]
    assert run.circuit_utilization is not None
    assert run.circuit_utilization > 0.2
    figure = run.plot.demand()
    assert figure.axes
    assert interactive("demand", run).data


def test_perfect_knowledge_is_one_week(tmp_path: Path) -> None:
    net = et.network(racks=4, hosts=2)
    week = et.known(net, RING)
    (configuration,) = week.expand(net)
    assert configuration == {"sources": [3, 0, 1, 2], "day_ns": 1_980_000, "night_ns": 20_000}
    (tmp_path / "demand.txt").write_text("\n".join(" ".join(map(str, row)) for row in RING))
    (tmp_path / "plan.toml").write_text(
        'network.racks = 4\nschedule.kind = "fixed"\nschedule.demand = "demand.txt"\nbulk = [{from = 0, to = 1}]'
    )
    plan = et.Plan.load(tmp_path / "plan.toml")
    assert plan.schedule.expand(net) == [configuration]


def test_a_week_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "original").write_text("2 3600 2/0/1 400 -1/-1/-1")
    (tmp_path / "ours").write_text("180us 20us 2>0 0>1 1>2\n")
    weeks = []
    for name in ("original", "ours"):
        (tmp_path / "plan.toml").write_text(
            f'schedule.kind = "fixed"\nschedule.file = "{name}"\nbulk = [{{from = 0, to = 1}}]'
        )
        plan = et.Plan.load(tmp_path / "plan.toml")
        assert et.Plan.from_toml(plan.to_toml()).digest == plan.digest
        weeks.append(plan.resolve()["schedule"])
    assert weeks[0] == weeks[1]
    assert weeks[0]["configurations"] == [
        {"sources": [2, 0, 1], "day_ns": 180_000, "night_ns": 20_000, "plane": 1}
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('kind = "solstice"\nwindow = "190us"', "schedule.window: .*no room for one day of 180us"),
        (
            'kind = "strobe"\nestimator = "adu"',
            "schedule.estimator: only a schedule that is computed",
        ),
        ('kind = "solstice"\nreport = "1ms"', 'schedule.report: only the estimator "adu"'),
        (
            'kind = "solstice"\nmimic = 25',
            'schedule.mimic: only a schedule of kind "strobe" takes this key',
        ),
        (
            'window = "2ms"',
            'schedule.window: only a schedule of kind "fixed" with a demand or that is computed from demand '
            "or that a function of yours computes takes this key, "
            'not one of kind "strobe"',
        ),
        ('kind = "none"\nday = "180us"', 'schedule.day: only a schedule of kind "strobe" or'),
        (
            'kind = "fixed"\nscheduler = "tms"',
            'of kind "fixed" with a demand takes this key, not one of',
        ),
        (
            'kind = "fixed"\ndemand = [[0, 1], [1, 0]]\nscheduler = "fixed"',
            'schedule.scheduler: "fixed" must be one of "bvn", .*"tms", "tournament"',
        ),
        (
            'kind = "fixed"\ndemand = [[0, 1], [1, 0]]\nconfigurations = []',
            'schedule.configurations: only a schedule of kind "fixed" takes this key, not one of kind "fixed" with a demand',
        ),
        ('kind = "fixed"\ndemand = [[0, 1], [1, 0]]', "is for 2 racks, but the network has 3"),
        ('kind = "fixed"\ndemand = [[0, 1, 0], [1, 0], [0, 0, 0]]', "rows differ in length"),
        (
            'kind = "fixed"\ndemand = "nothing.txt"',
            "schedule.demand: there is no file .*nothing.txt",
        ),
        (
            'kind = "fixed"\nfile = "bad"',
            "schedule.file: bad: line 1 of the schedule: there is no night",
        ),
        ('kind = "strobe"\nfile = "bad"', "schedule.file: only a schedule of kind"),
        ('kind = "solstise"', 'did you mean "solstice"'),
    ],
)
def test_schedules_that_cannot_be(table: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("180us")
    path = tmp_path / "plan.toml"
    path.write_text(f"bulk = [{{from = 0, to = 1}}]\n[schedule]\n{table}")
    with pytest.raises(et.PlanError, match=said):
        et.Plan.load(path)


def test_plans_know_the_schedulers_of_the_core_and_no_other() -> None:
    circuits = {"rotor", "opera", "shale", "round-robin", "static", "file", "asked"}
    assert set(SCHEDULES.classes) == {*schedulers.names(), "none", "FILE.py:NAME", *circuits}
    for name in COMPUTING:
        if SCHEDULES.classes[name] is Computed:
            week = et.computed(et.network(), name)
            assert week.resolve(et.network(), 1)["control"]["scheduler"] == name
            four = et.network(racks=4)
            assert et.known(four, RING, name).expand(four)


def test_the_figure_of_a_week_tells_idle_time() -> None:
    week = schedulers.compute("solstice", RING)
    assert demand_figure._of(week).idle == pytest.approx(week.idle)
    draw("demand", week)
    run = et.run(
        et.experiment(et.network(), et.strobe(et.network()), et.bulk(0, 1), duration="2ms")
    )
    with pytest.raises(et.EtalonError, match="not computed from demand"):
        draw("demand", run)
