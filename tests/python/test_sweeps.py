# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: the grid, the tidy table, going on after an interruption."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import etalon as et
from conftest import Answer
from etalon.campaign import sweeps
from etalon.campaign.executors.local import Local
from etalon.engine import sim
from etalon.errors import EtalonError, Interrupted, PlanError
from etalon.plan import Plan

Command = Callable[..., Answer]

GRID = {"network.voq": [4, 8], "bulk.cc": ["reno", "cubic"]}


def test_the_grid_is_walked_in_order_and_seeds_vary_fastest(small: Plan) -> None:
    points = sweeps.points_of(small, GRID, seeds=2)
    walked = [(*point.values.values(), point.plan.seed) for point in points]
    assert walked == [
        (voq, cc, seed) for voq in (4, 8) for cc in ("reno", "cubic") for seed in (1, 2)
    ]


def test_seeds_may_be_chosen_or_be_part_of_the_grid(small: Plan) -> None:
    assert [p.plan.seed for p in sweeps.points_of(small, {}, seeds=[7, 9])] == [7, 9]
    assert [p.plan.seed for p in sweeps.points_of(small, {"seed": [3, 4]})] == [3, 4]


def test_the_table_has_a_row_a_run(small: Plan) -> None:
    sweep = et.sweep(small, GRID, seeds=2)
    assert len(sweep.table) == 8
    assert sweep.table.columns[:3] == ["network.voq", "bulk.cc", "seed"]
    assert {"circuit_utilization", "latency_p99", "drops", "partial"} <= set(sweep.table.columns)
    row = sweep.table.row(5, named=True)
    run = sweep.runs[5]
    assert row["network.voq"] == run.plan.network.voq.packets == 8  # type: ignore[union-attr]
    assert row["goodput"] == run.goodput


def test_runs_are_selected_by_value(small: Plan) -> None:
    sweep = et.sweep(small, GRID)
    assert [run.plan.bulk[0].cc for run in sweep.select({"network.voq": 4}).runs] == [
        "reno",
        "cubic",
    ]
    with pytest.raises(PlanError, match='does not vary "tdf"'):
        sweep.select({"tdf": 1})
    with pytest.raises(PlanError, match=r"network\.voq: the sweep has no 5; it has 4, 8"):
        sweep.select({"network.voq": 5})


def test_a_sweep_is_drawn_over_its_keys(small: Plan) -> None:
    sweep = et.sweep(small, GRID, seeds=2)
    (axes,) = sweep.plot.utilization().get_axes()
    assert axes.get_xlabel() == "network.voq"
    _, names = axes.get_legend_handles_labels()
    assert names == ["reno", "cubic"]
    middle = axes.containers[1].lines[0].get_ydata()  # type: ignore[attr-defined]
    cubic = sweep.table.filter(pl.col("bulk.cc") == "cubic")
    grouped = cubic.group_by("network.voq", maintain_order=True)
    means = grouped.agg(pl.col("circuit_utilization").mean())["circuit_utilization"]
    assert list(middle) == pytest.approx([100 * mean for mean in means])
    (axes,) = sweep.plot.congestion_controls().get_axes()
    assert {label.get_text() for label in axes.get_xticklabels()} == {"reno", "cubic"}


def test_times_along_the_axis_are_numbers(small: Plan) -> None:
    sweep = et.sweep(small, {"schedule.day": ["90us", "0.18ms"]})
    (axes,) = sweep.plot.latency(percentiles=(50,)).get_axes()
    assert axes.get_xlabel() == "schedule.day (µs)"
    assert list(axes.containers[0].lines[0].get_xdata()) == [90, 180]  # type: ignore[attr-defined]


def test_what_cannot_be_drawn_gets_a_sentence(small: Plan) -> None:
    sweep = et.sweep(small, GRID)
    for draw, sentence in (
        (lambda: sweep.plot.utilization("tdf"), 'not vary "tdf"; it varies network.voq, bulk.cc'),
        (lambda: sweep.plot.utilization("bulk.cc", "bulk.cc"), "must be different keys"),
        (lambda: sweep.plot.utilization(y="bulk.cc"), 'plot.utilization has no argument "y"'),
        (lambda: sweep.plot.lines("godput"), 'there is no metric "godput"; there are circuit'),
        (lambda: sweep.plot.lines("fct_p50"), "no run of this sweep has the metric fct_p50"),
    ):
        with pytest.raises(PlanError, match=sentence):
            draw()
    with pytest.raises(AttributeError, match="did you mean utilization"):
        _ = sweep.plot.utilisation
    with pytest.raises(PlanError, match="needs a key that varies; the sweep varies the seed alone"):
        et.sweep(small, seeds=2).plot.utilization()


def test_three_keys_are_panels_with_one_legend_and_the_same_limits(small: Plan) -> None:
    sweep = et.sweep(small, {**GRID, "tdf": [1, 20]}, seeds=2)
    figure = sweep.plot.utilization()
    assert [ax.get_title() for ax in figure.axes] == ["tdf 1", "tdf 20"]
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["reno", "cubic"]
    chosen = sweep.plot.latency(x="tdf", hue="network.voq", facet="bulk.cc", percentiles=(50,))
    assert [ax.get_title() for ax in chosen.axes] == ["bulk.cc reno", "bulk.cc cubic"]
    (reno, _) = chosen.axes
    runs = sweep.select({"bulk.cc": "reno", "network.voq": 8, "tdf": 20}).runs
    drawn = reno.containers[1].lines[0].get_ydata()[1]  # type: ignore[attr-defined]
    assert drawn == pytest.approx(sum(run.latency(50) for run in runs) / 2)


def test_names_along_the_axis_are_not_joined_by_lines(small: Plan) -> None:
    sweep = et.sweep(small, {"bulk.cc": ["reno", "cubic"]}, seeds=2)
    (axes,) = sweep.plot.lines("goodput").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["reno", "cubic"]
    assert axes.get_ylabel() == "goodput (Gb/s)"
    assert {line.get_linestyle() for line in axes.containers[0].lines[:1]} == {"None"}  # type: ignore[attr-defined]


def test_figures_of_runs_compare_the_runs_of_a_sweep(small: Plan) -> None:
    figure = et.sweep(small, GRID).plot.latency_cdf(hue="bulk.cc")
    assert [ax.get_title() for ax in figure.axes] == ["network.voq 4", "network.voq 8"]


def test_percentiles_that_leave_flows_out_are_named(etalon: Command, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'duration = "4ms"\nwarmup = "0s"\ntdf = 1\nend_when_done = true\n[network]\nkind = "leaf-spine"\nracks = 2\nhosts = 1\n'
        '[[shuffle]]\nsize = "10kB"\n'
    )
    sizes = ["--set", "shuffle.size=10kB,10MB", "--out", "out"]
    said = "1 of 2 runs ended before all finite flows: percentiles of completion times exclude"
    answer = etalon("sweep", plan, *sizes)
    assert said in answer.out
    assert "  unfinished (MB)" in answer.out
    assert said in (tmp_path / "out/report.html").read_text()
    answer = etalon("sweep", plan, "--set", "shuffle.size=10kB,12kB", "--out", "small")
    assert "unfinished" not in answer.out


def test_too_many_panels_are_refused(small: Plan) -> None:
    plan = small.replace({"duration": "1ms", "warmup": "0us"})
    sweep = et.sweep(plan, {"network.voq": [4, 8], "tdf": [1, 2], "seed": [1], "tcp.hz": list(range(100, 126))})  # fmt: skip
    with pytest.raises(PlanError, match=r"26 panels, one for each of tcp\.hz; at most 24"):
        sweep.plot.latency(x="network.voq", hue="tdf")


def test_a_sweep_of_parts_is_that_of_their_plan(small: Plan) -> None:
    net = et.network(racks=3, hosts=2)
    grid = {"network.voq": [4, 8]}
    parts = et.sweep(net, et.strobe(net), et.bulk(0, 1), grid, duration="30ms", warmup="10ms")
    assert [run.plan.digest for run in parts.runs] == [
        run.plan.digest for run in et.sweep(small, grid).runs
    ]
    with pytest.raises(PlanError, match="the grid comes last"):
        et.sweep(net, grid, et.bulk(0, 1))


def test_the_table_does_not_depend_on_the_number_of_workers(small: Plan) -> None:
    assert et.sweep(small, GRID, jobs=1).table.equals(et.sweep(small, GRID, jobs=3).table)


def test_a_sweep_goes_on_where_it_stopped(
    small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sweep"
    ran: list[sim._core.Scenario] = []
    real = sim._core.run

    def counting(scenario: sim._core.Scenario, control: sim._core.Control, *more: object) -> object:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(scenario)
        return real(scenario, control, *more)

    monkeypatch.setattr(sim._core, "run", counting)
    with pytest.raises(Interrupted) as stop:
        et.sweep(small, GRID, jobs=1, folder=folder)
    assert len(stop.value.runs) == 2
    assert len(pl.read_parquet(folder / "table.partial.parquet")) == 2
    assert not (folder / "table.parquet").exists()
    monkeypatch.setattr(sim._core, "run", real)

    shares: list[float] = []
    whole = et.sweep(small, GRID, folder=folder, progress=shares.append)
    assert shares[0] >= 0.5, "half of it was there"
    assert whole.table.equals(et.sweep(small, GRID).table)
    assert pl.read_parquet(folder / "table.parquet").equals(whole.table)
    assert (folder / "table.csv").read_text().startswith("network.voq,bulk.cc,seed,")
    assert not list(folder.glob("table.partial.*"))

    monkeypatch.setattr(sim._core, "run", None)
    assert et.sweep(small, GRID, folder=folder).table.equals(whole.table), "nothing is run again"


def test_ctrl_c_does_not_cost_a_complete_sweep(
    small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = et.sweep(small, GRID, folder=tmp_path / "sweep")

    def stopped(*_: object, **__: object) -> None:
        raise Interrupted([])

    monkeypatch.setattr(Local, "execute", stopped)
    with pytest.raises(Interrupted):
        et.sweep(small, GRID, folder=tmp_path / "sweep", fresh=True)
    assert pl.read_parquet(tmp_path / "sweep/table.parquet").equals(whole.table)
    with pytest.raises(Interrupted):
        et.sweep(small, {"network.voq": [5]}, folder=tmp_path / "sweep", fresh=True)
    assert not list((tmp_path / "sweep").glob("table.*")), "that was another sweep's"


def test_a_point_that_was_cut_short_is_run_again(small: Plan, tmp_path: Path) -> None:
    first = et.sweep(small, {"network.voq": [4]}, folder=tmp_path / "sweep")
    run_json = tmp_path / "sweep" / first.points[0].folder / "run.json"
    run_json.write_text(run_json.read_text().replace('"partial": false', '"partial": true'))
    et.sweep(small, {"network.voq": [4, 8]}, folder=tmp_path / "sweep")
    assert '"partial": false' in run_json.read_text()


def test_the_folder_of_something_else_is_refused(small: Plan, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(PlanError, match="is not empty"):
        et.sweep(small, GRID, folder=tmp_path)
    run_folder = et.run(small).save(tmp_path / "run")
    with pytest.raises(PlanError, match="a sweep needs a folder of its own"):
        et.sweep(small, GRID, folder=run_folder)


def test_another_sweep_is_not_overwritten_unasked(small: Plan, tmp_path: Path) -> None:
    et.sweep(small, {"network.voq": [4, 8]}, folder=tmp_path / "sweep")
    for plan, grid in (
        (small, {"network.voq": [4, 16]}),
        (small, {"bulk.cc": ["reno"]}),
        (small.replace({"tdf": 1}), {"network.voq": [4, 8]}),
    ):
        with pytest.raises(PlanError, match="already holds another sweep"):
            et.sweep(plan, grid, folder=tmp_path / "sweep")
    assert len(pl.read_parquet(tmp_path / "sweep/table.parquet")) == 2
    et.sweep(small, {"network.voq": [4, 16]}, folder=tmp_path / "sweep", fresh=True)
    table = pl.read_parquet(tmp_path / "sweep/table.parquet")
    assert table["network.voq"].to_list() == [4, 16]


def test_a_sweep_over_seed_is_read_back(small: Plan, tmp_path: Path) -> None:
    table = et.sweep(small, {"seed": [3, 4]}, folder=tmp_path / "sweep").table
    assert sweeps.Sweep.load(tmp_path / "sweep").table.equals(table)


@pytest.mark.parametrize("key", ["version", "engine", "plan", "grid", "seeds"])
@pytest.mark.parametrize("damage", ["missing", "wrong"])
def test_a_damaged_description_gets_a_sentence(
    small: Plan, tmp_path: Path, key: str, damage: str
) -> None:
    folder = tmp_path / "sweep"
    et.sweep(small, {"network.voq": [4]}, folder=folder)
    path = folder / "sweep.json"
    said = json.loads(path.read_text())
    if damage == "missing":
        del said[key]
    else:
        said[key] = None
    path.write_text(json.dumps(said))
    sentence = f"sweep.json: does not describe a sweep: {key} is missing or not of type"
    with pytest.raises(EtalonError, match=sentence):
        sweeps.Sweep.load(folder)
    with pytest.raises(EtalonError, match=sentence):
        et.sweep(small, {"network.voq": [4]}, folder=folder)


@pytest.mark.parametrize(
    ("grid", "seeds", "sentence"),
    [
        ({"network.voq": 4}, 1, "network.voq: a sweep takes a list of values, not 4"),
        ({"bulk.cc": "cubic"}, 1, "bulk.cc: a sweep takes a list of values, not 'cubic'"),
        ({"network.voq": []}, 1, "network.voq: the list of values is empty"),
        ({"network.voq": [4, -4]}, 1, "network.voq.packets: -4 must be at least 1"),
        ({"network.voq": [4]}, 0, "seeds: 0 must be at least 1"),
        ({"network.voq": [8, 4, 8]}, 1, "network.voq: 8 is given twice"),
        (
            {"seed": [3, 4]},
            5,
            "seeds: the grid varies seed; give its values there or seeds, not both",
        ),
    ],
)
def test_a_bad_grid_is_refused_before_anything_runs(
    small: Plan, grid: dict[str, list[object]], seeds: int, sentence: str
) -> None:
    with pytest.raises(PlanError) as error:
        et.sweep(small, grid, seeds=seeds)
    assert str(error.value) == sentence


def test_keys_that_are_written_as_one_vary_together(small: Plan, tmp_path: Path) -> None:
    grid = {"network.voq, tdf": [[4, 1], [8, 20]], "bulk.cc": ["reno", "cubic"]}
    sweep = et.sweep(small, grid, folder=tmp_path / "sweep")
    walked = [(row["network.voq"], row["tdf"]) for row in sweep.table.to_dicts()]
    assert walked == [(4, 1), (4, 1), (8, 20), (8, 20)]
    assert sweeps.Sweep.load(tmp_path / "sweep").table.equals(sweep.table)
    (axes,) = sweep.plot.utilization().get_axes()
    assert [len(line.get_xdata()) for line in axes.get_lines() if line.get_label()[0] != "_"] == []
    assert len(axes.containers) == 2, "a line for each control, over both queues"
    with pytest.raises(PlanError, match="must be a list of 2 values, one for each key"):
        et.sweep(small, {"network.voq, tdf": [[4]]})
    with pytest.raises(PlanError, match=r"network\.voq: is given twice in the grid"):
        et.sweep(small, {"network.voq, tdf": [[4, 1]], "network.voq": [4]})


def test_a_report_shows_the_plan_that_all_runs_share(small: Plan) -> None:
    sweep = et.sweep(small, {"duration": ["20ms"], "network.voq": [4, 8]})
    assert sweep.plan.duration != 20_000_000
    assert sweep.shared_plan.duration == 20_000_000
    assert sweep.shared_plan.network == small.network


def test_a_sweep_without_a_metric_that_was_asked_for_has_a_report(
    etalon: Command, small_file: Path
) -> None:
    command = ("sweep", small_file, "--set", "network.voq=4,8", "--out", "out")
    assert etalon(*command, "--no-figures").code == 0
    answer = etalon("report", "out", "--metric", "fct_p50", "--metric", "drops")
    assert answer.code == 0
    assert "warning: no run of this sweep has the metric fct_p50" in answer.err
    report = (small_file.parent / "out/report.html").read_text()
    assert "No run of this sweep has the metric fct_p50." in report
    assert (small_file.parent / "out/figures/drops.png").exists()
    assert not (small_file.parent / "out/figures/fct_p50.png").exists()


def test_ctrl_c_is_never_without_a_word(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    command = ("sweep", small_file, "--set", "seed=1,2", "--no-figures", "--out", "out")
    with monkeypatch.context() as patch:
        patch.setattr("etalon.campaign.sweeps.tabulate", interrupted)
        answer = etalon(*command)
    assert answer.code == 130
    assert "interrupted: out keeps 2 complete runs; the same command resumes" in answer.err
    monkeypatch.setattr("etalon.campaign.executors.named", interrupted)
    answer = etalon(*command)
    assert (answer.code, answer.err.strip()) == (130, "error: interrupted")
