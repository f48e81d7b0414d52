# SPDX-License-Identifier: MIT OR Apache-2.0
"""Senders over time: cwnd, ssthresh, RTT and pipe of the flows that `measure.flows` names."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import need_kernel
from etalon import report
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.results import Run

STATES = {"open", "disorder", "cwr", "recovery", "loss"}
TOO_SMALL = 16
"""Packets in a VOQ: the flows of this file lose many."""


def experiment(**measure: Any) -> Plan:
    """Bulk flows that fill a small VOQ, and two flows of a class."""
    classes = [
        {"from": "r1h0", "to": "r2h0", "size": "300kB", "start": "2ms", "class": "small"},
        {"from": "r1h1", "to": "r2h1", "size": "300kB", "start": "4ms", "class": "small"},
    ]
    return Plan.from_dict(
        {
            "name": "senders",
            "duration": "12ms",
            "warmup": "3ms",
            "network": {"racks": 3, "hosts": 2, "voq": TOO_SMALL},
            "bulk": [{"from": 0, "to": 1}],
            "flow": classes,
            "measure": measure,
        }
    )


@pytest.fixture(scope="module", params=["sim", "linux"])
def run(request: pytest.FixtureRequest) -> Run:
    if request.param == "linux":
        need_kernel()
    return et.run(experiment(flows=[0, "small"]), engine=request.param)


def of(run: Run, flow: int) -> pl.DataFrame:
    return run.tcp.filter(pl.col("flow") == flow)


def test_flows_are_named_by_number_or_class(run: Run) -> None:
    assert run.tcp["flow"].unique().sort().to_list() == [0, 2, 3]
    assert run.tcp.columns == [
        "t_ns",
        "flow",
        "path",
        "cwnd",
        "ssthresh",
        "srtt_ns",
        "pipe",
        "state",
    ]


def test_rows_are_changes_in_order_of_time_from_the_start_on(run: Run) -> None:
    assert run.tcp["t_ns"].is_sorted()
    values = ("path", "cwnd", "ssthresh", "srtt_ns", "pipe", "state")
    for flow in (0, 2, 3):
        rows = of(run, flow).select(values).rows()
        assert all(a != b for a, b in pairwise(rows)), flow
    # The warm-up is there too, and no flow is before its start.
    assert of(run, 0)["t_ns"][0] < 1_000_000
    assert of(run, 2)["t_ns"][0] > 2_000_000
    assert run.tcp["t_ns"][-1] < 12_000_000


def test_a_sender_begins_as_rfc_6928_says_and_ends_as_the_table_of_flows_says(run: Run) -> None:
    for flow in (0, 2, 3):
        assert of(run, flow).select("cwnd", "ssthresh", "state").row(0) == (10, -1, "open")
        row = run.flows.row(flow, named=True)
        last = of(run, flow).row(-1, named=True)
        assert {key: last[key] for key in ("cwnd", "ssthresh", "srtt_ns")} == {
            key: row[key] for key in ("cwnd", "ssthresh", "srtt_ns")
        }, flow


def test_values_are_such_as_there_can_be(run: Run) -> None:
    assert set(run.tcp["state"]) <= STATES
    # A small VOQ: the bulk flow has lost packets, repaired them, and halved its window for that.
    bulk = of(run, 0)
    assert {"open", "disorder", "recovery"} <= set(bulk["state"])
    recovering = bulk.filter(pl.col("state") == "recovery")
    assert (recovering["ssthresh"] >= 2).all()
    # No round trip is shorter than that of an empty network: 30 us over a circuit and the hosts' links.
    assert bulk["srtt_ns"].min() > 30_000  # type: ignore[operator]
    # New data is sent only within the window. Outside of loss recovery pipe is no more than the window that has been, or
    # the congestion control has just lowered it.
    steady = bulk.filter(pl.col("state") == "open")
    assert (steady["pipe"] <= steady["cwnd"] + 3).mean() > 0.95  # type: ignore[operator]
    assert run.tcp["path"].unique().to_list() == [0]


def test_to_look_changes_nothing(run: Run) -> None:
    alone = et.run(experiment(), engine=run.meta["engine"])
    assert alone.meta["digest"] == run.meta["digest"]
    assert alone.tcp.is_empty()


def test_the_table_is_kept_and_drawn(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "run")
    again = Run.load(folder)
    assert again.tcp.equals(run.tcp)
    assert "SRTT" in report.write_run(again, folder).read_text()
    assert (folder / "figures" / "cwnd.png").is_file()


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        ([18], "there is no flow 18: they are numbered 0..3"),
        (["big"], 'no flow is of class "big": there are small'),
        ([-1], "measure.flows.0: -1 is not a flow: choose one by its number, from 0, or by"),
        ([True], "true is not a flow"),
        ([""], "is not a flow"),
    ],
)
def test_flows_that_there_are_not(flows: list[Any], why: str) -> None:
    with pytest.raises(PlanError, match=r"measure\.flows"):
        experiment(flows=flows)
    with pytest.raises(PlanError) as error:
        experiment(flows=flows)
    assert why in str(error.value)
