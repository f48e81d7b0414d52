# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers read off a run."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalon as et
from etalon.errors import EtalonError, PlanError, PlanWarning
from etalon.plan import Plan
from etalon.results import TABLES, Run
from etalon.results.highlights import rows_of
from etalon.results.metrics import METRICS


@pytest.fixture(scope="module")
def run() -> Run:
    net = et.network(racks=3, hosts=2)
    flows = [
        et.flow("r1h0", "r2h0", size="100kB", start="12ms"),
        et.flow("r1h1", "r2h1", size="900GB"),
    ]
    return et.run(net, et.strobe(net), et.bulk(0, 1), *flows, duration="30ms", warmup="10ms")


def with_histogram(run: Run, rows: list[tuple[str, int, int, int]]) -> Run:
    """The run with other latencies for its measured pair: network, bin, count."""
    table = pl.DataFrame(
        [
            {"src": 0, "dst": 1, "network": n, "lower_ns": a, "upper_ns": b, "count": c}
            for n, a, b, c in rows
        ],
        schema=run.latency_histogram.schema,
    )
    return dataclasses.replace(run, latency_histogram=table)


def test_the_measured_pair_has_results(run: Run) -> None:
    assert run.circuit_utilization is not None
    assert 0 < run.circuit_utilization <= 1
    assert run.packet_utilization is not None
    assert 0 < run.packet_utilization <= 1
    assert 10 < run.latency(50) <= run.latency(99) < 10_000
    assert run.latency(0, "circuit") >= 30, "no packet is faster than the circuit's 30 us"


def test_goodput_is_what_the_flows_delivered_in_the_measured_time(run: Run) -> None:
    assert run.measured_ns == 20_000_000
    assert run.goodput == pytest.approx(run.flows["bytes_delivered"].sum() * 8 / 0.020)


def test_percentiles_are_interpolated_within_a_bin(run: Run) -> None:
    one = with_histogram(run, [("packet", 1000, 2000, 100)])
    assert one.latency(0) == pytest.approx(1.0)
    assert one.latency(50) == pytest.approx(1.5)
    assert one.latency(100) == pytest.approx(2.0)


def test_both_networks_together_are_one_distribution(run: Run) -> None:
    two = with_histogram(
        run, [("circuit", 3000, 3010, 10), ("packet", 1000, 1010, 90), ("packet", 3000, 3010, 10)]
    )
    assert two.latency(50) == pytest.approx(1.0, rel=0.02)
    assert two.latency(50, "circuit") == pytest.approx(3.0, rel=0.01)
    assert two.latency(99) == pytest.approx(3.0, rel=0.01)


@pytest.mark.filterwarnings("ignore:percentile ")
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=200), st.floats(0, 100))
def test_a_percentile_is_within_a_bin_of_the_exact_one(
    samples: list[int], percentile: float
) -> None:
    width = 1000
    base = (
        pl.DataFrame({"bin": [sample // width for sample in samples]})
        .group_by("bin")
        .len()
        .sort("bin")
    )
    rows = [("packet", b * width, (b + 1) * width, n) for b, n in base.rows()]
    net = et.network()
    plan = et.experiment(net, et.bulk(0, 1))
    empty = pl.DataFrame()
    schema = {"src": pl.Int64, "dst": pl.Int64, "network": pl.String} | dict.fromkeys(
        ("lower_ns", "upper_ns", "count"), pl.Int64
    )
    histogram = pl.DataFrame(schema=schema)
    bare = Run(
        plan,
        {"partial": False, "planes": ["packet", "circuit"]},
        empty,
        empty,
        histogram,
        empty,
        empty,
    )
    exact = sorted(samples)[max(math.ceil(percentile / 100 * len(samples)), 1) - 1]
    assert with_histogram(bare, rows).latency(percentile) * 1000 == pytest.approx(exact, abs=width)


def test_where_nothing_was_measured_there_is_no_number(run: Run) -> None:
    assert math.isnan(run.latency(50, pair=(2, 0)))
    assert with_histogram(run, []).summary()["latency_p50"] is None


def test_amounts_much_smaller_than_others_have_a_unit_of_their_own() -> None:
    rows = rows_of({"latency_p50": 2.0, "latency_p99": 140.0, "fct_p99": 100_000.0})
    amounts = [(value, unit) for _, value, unit, _ in rows]
    assert amounts == [("2", "µs"), ("0.1400", "ms"), ("100", "ms")]


def test_a_percentile_is_no_share(run: Run) -> None:
    with pytest.warns(PlanWarning, match="percentile 0.99 is among the lowest 1 %") as caught:
        run.latency(0.99)
    assert [warning.filename for warning in caught] == [__file__], "the line of whoever called"


def test_nonsense_is_refused(run: Run) -> None:
    with pytest.raises(EtalonError, match="percentile 101 must lie between 0 and 100"):
        run.latency(101)
    with pytest.raises(EtalonError, match=r"pair \(5, 0\): racks are 0 to 2"):
        run.latency(50, pair=(5, 0))
    with pytest.raises(EtalonError, match='there is no network "wifi"'):
        run.latency(50, "wifi")
    with pytest.raises(AttributeError, match=r"a run has no figure 'cake'; it has .*sequence,"):
        run.plot.cake()


def test_completion_times_are_of_finite_flows_only(run: Run) -> None:
    done = run.fct()
    assert done["bytes"].to_list() == [100_000, 900_000_000_000]
    first, second = done["fct_us"]
    assert second is None, "900 GB do not fit into 30 ms"
    assert first is not None
    assert first > 100_000 * 8 / 40e9 * 1e6, "not faster than the host's link"
    assert run.fct_percentile(50) == pytest.approx(first)


def test_the_summary_has_every_metric(run: Run) -> None:
    assert list(run.summary()) == list(METRICS)
    nothing = {name for name, value in run.summary().items() if value is None}
    assert nothing == {
        *("write_p50", "write_p99", "job_time", "write_throughput", "spurious", "days_in_order"),
        *("iteration_p50", "iteration_p99", "algbw", "busbw", "exposed_share", "straggler_wait"),
        "circuit_wait",
    }


def test_reordering_is_counted_by_days_if_it_is_asked_for(small: Plan) -> None:
    run = et.run(small.replace({"measure.reordering": True}))
    assert run.spurious is not None
    for of, flows in (("flow", 2), ("pair", 1)):
        for quantity in ("events", "missing", "spurious"):
            rows = run.reordering.filter(quantity=quantity, of=of)
            assert rows["count"].sum() % flows == 0
            assert rows["count"].sum() > 0
    days = pl.DataFrame(
        [("flow", "missing", 0, 6), ("flow", "missing", 1, 3), ("flow", "missing", 9, 1)],
        schema=run.reordering.schema,
        orient="row",
    )
    made_up = dataclasses.replace(run, reordering=days)
    assert made_up.days_without("missing") == pytest.approx(0.6)
    assert [made_up.by_day("missing", p) for p in (0, 60, 61, 90, 91, 100)] == [0, 0, 1, 1, 9, 9]
    assert made_up.by_day("events", 50) is None


def test_without_circuits_there_is_no_circuit_utilisation() -> None:
    run = et.run(et.dumbbell(hosts=2), et.bulk(0, 1, cc="reno"), duration="20ms")
    assert run.circuit_utilization is None
    assert run.packet_utilization is not None
    assert run.packet_utilization > 0.5


def test_a_run_says_who_made_it(run: Run) -> None:
    assert run.meta["engine"] == "sim"
    assert run.meta["version"] == et.__version__
    assert run.meta["plan_digest"] == run.plan.digest
    assert not run.partial


def test_every_table_has_rows(run: Run, small: Plan) -> None:
    for name in TABLES:
        assert len(getattr(run, name)), name


def test_a_run_in_which_nothing_arrives_is_warned_about(small: Plan) -> None:
    late = small.replace({"bulk.start": "29999us"})
    with pytest.warns(et.PlanWarning, match="nothing was delivered in the measured time") as caught:
        et.run(late)
    assert [warning.filename for warning in caught] == [__file__], "the line of whoever called"


def test_payload_is_over_the_measured_time_and_utilisation_over_what_there_was(run: Run) -> None:
    packet, circuit = run.payload("packet"), run.payload("circuit")
    assert packet is not None and circuit is not None
    assert run.payload() == pytest.approx(packet + circuit)
    row = run.pairs.filter((pl.col("src") == 0) & (pl.col("dst") == 1)).row(0, named=True)
    seconds = run.measured_ns / 1e9
    assert packet == pytest.approx(row["packet_payload_bytes"] * 8 / seconds)
    for plane, used in (("packet", packet), ("circuit", circuit)):
        share = used * seconds / 8 / row[f"{plane}_capacity_bytes"]
        assert run.utilization(plane) == pytest.approx(share)


def test_nothing_carried_is_nothing_and_never_a_division(small: Plan) -> None:
    late = small.replace({"bulk.start": "29999us"})
    with pytest.warns(et.PlanWarning, match="nothing was delivered"):
        run = et.run(late)
    assert (run.circuit_utilization, run.packet_utilization, run.payload()) == (0, 0, 0)


def test_ports_are_kept_if_they_are_asked_for(tmp_path: Path) -> None:
    plan = Plan.from_dict(
        {
            "network": {"kind": "leaf-spine", "racks": 2, "hosts": 1},
            "duration": "2ms",
            "flow": [{"from": "r0h0", "to": "r1h0", "size": "100kB"}],
        }
    )
    run = et.run(plan.replace({"measure.ports": True}))
    assert run.ports.filter(**{"from": "r0", "to": "s0"}).height == 1
    again = Run.load(run.save(tmp_path / "run"))
    assert again.ports.equals(run.ports)
    assert again.plot.ports().get_axes()
    with pytest.raises(EtalonError, match=r"the plan needs measure\.ports = true"):
        et.run(plan).plot.ports()
    with pytest.raises(PlanError, match="which the table pairs has"):
        et.Plan.from_dict({"measure": {"ports": True}})


def test_figures_are_at_hand(run: Run) -> None:
    assert "sequence" in dir(run.plot)
    for name in set(dir(run.plot)) - {"demand", "ports", "links", "gantt"}:
        assert getattr(run.plot, name)().get_axes(), name
    with pytest.raises(EtalonError, match="not computed from demand"):
        run.plot.demand()
