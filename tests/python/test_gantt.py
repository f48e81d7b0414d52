# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gantt charts: who waits for which circuit, and what circuits do."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

import etalon as et
from conftest import ROOT
from etalon.figures import gantt


@pytest.mark.parametrize("ranks", [4, 16, 64])
def test_a_gantt_chart_shows_who_waited_for_which_circuit(ranks: int) -> None:
    """Changes of 10 us in an iteration of 4 ms are wide enough to see, and each rank's wait is written beside it."""
    net = et.network(
        racks=ranks,
        hosts=1,
        circuits_only=True,
        circuit=("100Gbps", "500ns"),
        ack_bypass="1us",
        host={"rate": "100Gbps", "delay": "0us"},
        mtu=9000,
        voq=1000,
    )
    job = et.job(
        et.compute("3ms", jitter="100us"), et.all_reduce("1MB", algorithm="swing"), circuits="each"
    )
    done = et.run(net, et.asked(reconfiguration="10us"), job, duration="1s", warmup="0s", tdf=1)
    assert 3000 < done.iterations["end_ns"][0] / 1e3 < 5000
    # What is written on the right, worked out from the tables alone.
    rows = done.steps.filter(pl.col("asked_ns") >= 0)
    rank = int(rows["rank"][0])
    waited = rows.filter(pl.col("rank") == rank)
    alone = waited.unique(["ready_ns", "granted_ns"])
    text = f"{(alone['granted_ns'] - alone['ready_ns']).sum() / 1e3:.4g}"
    figure = gantt.draw(done)
    (ax,) = figure.axes
    assert text in [one.get_text() for one in ax.texts]
    width, height = figure.get_size_inches()
    assert height <= gantt.MOST_INCHES
    black = [one for one in ax.collections if tuple(one.get_facecolor()[0][:3]) == (0, 0, 0)]
    assert black
    for one in black:
        for path in one.get_paths():
            share = path.get_extents().width / (ax.get_xlim()[1] - ax.get_xlim()[0])
            assert share * width * 0.8 * 200 > 1, "at least a pixel"
    # A zoom has the rank to which the circuit leads, and the time.
    first = waited.row(0, named=True)
    begin, end = (
        first[key] / 1e3 - done.iterations["start_ns"][0] / 1e3
        for key in ("ready_ns", "granted_ns")
    )
    zoom = gantt.draw(done, span_us=(begin - 1, end + 1)).axes[0]
    assert zoom.get_xlim() == pytest.approx((begin - 1, end + 1))
    assert f"→{first['peer']}, {end - begin:.3g} µs" in [one.get_text() for one in zoom.texts]


def test_a_gantt_chart_of_one_of_two_jobs_says_which() -> None:
    """Circuits that the other job asked for are hatched; in each job's chart those are the other's."""
    done = et.run(ROOT / "examples" / "two_jobs.toml")
    for job in (0, 1):
        ax = gantt.draw(done, iteration=1, job=job).axes[0]
        assert ax.get_ylabel() == f"circuit, rank of job {job}"
        legend = ax.get_legend()
        assert legend and "for another job" in [one.get_text() for one in legend.get_texts()]
        hatched = [one for one in ax.collections if one.get_hatch()]
        mine = done.iterations.filter((pl.col("job") == job) & (pl.col("iteration") == 1))
        start, end = mine.select("start_ns", "end_ns").row(0)
        theirs = done.cross_connects.filter(pl.col("asked_by") == f"job {1 - job}")
        expected = 0
        for row in theirs.iter_rows(named=True):
            down = row["down_ns"] if row["down_ns"] >= 0 else end
            for begin, until in ((row["asked_ns"], row["granted_ns"]), (row["up_ns"], down)):
                expected += min(until, end) > max(begin, start)
        assert sum(len(one.get_paths()) for one in hatched) == expected > 0
        web = gantt.interactive(done, iteration=1, job=job)
        assert web.layout.yaxis.automargin, "the ranks' names are not cut off"
        assert "circuit asked for by another job" in [bars.name for bars in web.data]


def test_a_gantt_chart_of_the_only_job_names_no_job() -> None:
    ax = gantt.draw(et.run(ROOT / "examples" / "ring.toml")).axes[0]
    assert ax.get_ylabel() == "rank"
    assert not [one for one in ax.collections if one.get_hatch()]


PARALLEL = """
duration = "1s"
warmup = "0s"
tdf = 1
end_when_done = true
network = { kind = "ocs", racks = 4, hosts = 1, host = { rate = "200Gbps" }, circuits = { rate = "100Gbps", switches = 2 } }
schedule = { kind = "asked", reconfiguration = "10us" }
job = [{ circuits = "plan", do = [{ all_reduce = "1MiB", algorithm = "swing" }] }]
"""


@pytest.mark.parametrize("lanes", [32, 1], ids=["a-lane-each", "shared"])
def test_circuits_that_are_up_at_once_have_lanes_of_their_own(
    lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gantt, "MOST_LANES", lanes)
    names, found, _ = gantt.lanes(et.run(et.Plan.from_toml(PARALLEL)), 0, 0)
    assert {"r0→r1", "r0→r1 (2)"} <= set(names) if lanes > 1 else names[:2] == ["r0→", "r0→ (2)"]
    for lane in range(len(names)):
        spans = [*found[gantt.DARK].get(lane, []), *found[gantt.UP].get(lane, [])]
        ends = [(begin, begin + length) for begin, length in sorted(spans)]
        assert all(end <= begin + 1e-9 for (_, end), (begin, _) in itertools.pairwise(ends)), names[
            lane
        ]


def test_a_request_that_was_never_granted_has_no_lane_of_its_own() -> None:
    """It was asked for once the circuit between its racks had gone."""
    run = et.run(et.Plan.from_toml(PARALLEL.replace("switches = 2", "switches = 1")))
    _, end = run.iterations.select("start_ns", "end_ns").row(0)
    first = run.cross_connects.sort("src", "dst", "granted_ns").head(1)
    first = first.with_columns(down_ns=pl.lit(end - 2_000, pl.Int64))
    late = first.with_columns(
        asked_ns=pl.lit(end - 1_000, pl.Int64),
        **dict.fromkeys(("granted_ns", "up_ns", "down_ns"), pl.lit(-1, pl.Int64)),
    )
    shown = SimpleNamespace(iterations=run.iterations, cross_connects=pl.concat([late, first]))
    names, found, _ = gantt.lanes(cast(Any, shown), 0, 0)
    assert len(names) == 1
    assert found[gantt.ASKED][0][-1][1] == pytest.approx(1.0)
