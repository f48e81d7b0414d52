# SPDX-License-Identifier: MIT OR Apache-2.0
"""One grammar: what Python offers says what it takes, refuses the rest in a sentence, and shows itself in few words."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import ROOT
from etalon import amounts
from etalon.arguments import checked
from etalon.campaign.plots import SweepPlots
from etalon.errors import EtalonError, PlanError
from etalon.figures import Plots
from etalon.plan import Plan

GRID = {"network.voq.packets": [4, 8], "bulk.cc": ["reno", "cubic"]}
FUNCTIONS = [name for name in et.__all__ if inspect.isfunction(getattr(et, name))]
JUNK: tuple[Any, ...] = (
    *(None, True, 5, -1, 0.5, float("nan"), "", "x", b"x", [], [5], [[5]], (), {}, {"x": 1}, {5: 5}),
    *(object(), object, print, Path("x"), {1}, "10Gbps", "5us", 10**30),
)  # fmt: skip


def test_unknown_keys_of_a_part_are_those_of_the_part() -> None:
    with pytest.raises(PlanError, match=r'network\.rack: unknown key; did you mean "racks"'):
        et.network(rack=3)


@pytest.fixture(scope="module")
def run() -> et.Run:
    net = et.network(racks=3, hosts=2)
    return et.run(net, et.strobe(net), et.bulk(0, 1), duration="30ms", warmup="10ms")


def test_a_plan_is_saved_and_loaded(small: Plan, tmp_path: Path) -> None:
    path = small.save(tmp_path / "here" / "p.toml")
    again = et.load(path)
    assert isinstance(again, Plan)
    assert again.replace(name=small.name).digest == small.digest
    assert "tdf" not in path.read_text(), "defaults are not written"
    with pytest.raises(PlanError, match="already holds a file; force=True replaces it"):
        small.save(path)
    small.save(path, force=True)
    with pytest.raises(PlanError, match="is a folder"):
        small.save(tmp_path)


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_plan_that_is_saved_is_the_same(example: Path, tmp_path: Path) -> None:
    plan = Plan.load(example)
    assert Plan.load(plan.save(tmp_path / example.name)).digest == plan.digest


def test_what_is_at_a_path_is_loaded(small: Plan, tmp_path: Path) -> None:
    sweep = et.sweep(small, {"tdf": [1, 20]}, folder=tmp_path / "sweep")
    run = et.run(small)
    run.save(tmp_path / "run")
    loaded = et.load(tmp_path / "sweep")
    assert isinstance(loaded, et.Sweep)
    assert loaded.table.equals(sweep.table)
    assert isinstance(et.load(tmp_path / "run"), et.Run)
    with pytest.raises(PlanError, match="there is no such file"):
        et.load(tmp_path / "nothing")


def test_a_plan_file_is_run_by_its_name(small: Plan, tmp_path: Path) -> None:
    path = small.save(tmp_path / "small.toml")
    assert et.run(path).meta["digest"] == et.run(str(path)).meta["digest"]
    assert et.run(path, seed=2).plan.seed == 2
    with pytest.raises(PlanError, match="a plan already has its schedule and workloads"):
        et.run(path, et.bulk(0, 1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_signatures_and_docstrings(name: str) -> None:
    function = getattr(et, name)
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}({next(iter(inspect.signature(function).parameters))}" in text.replace("(*", "(")
    assert len(inspect.getdoc(function) or "") > 30


@pytest.mark.parametrize("plots", [Plots, SweepPlots])
def test_figures_are_methods_with_help(plots: type) -> None:
    text = pydoc.plain(pydoc.render_doc(plots))
    for name in dir(plots(None)):
        assert f" {name}(" in text
        assert len(inspect.getdoc(getattr(plots, name)) or "") > 40
    assert "args, **kwargs" not in text


def test_a_method_has_the_signature_of_its_figure(run: et.Run) -> None:
    shown = inspect.signature(run.plot.sequence)
    assert list(shown.parameters) == ["ax", "span_us", "with_baselines"]
    assert "runs:" not in (run.plot.sequence.__doc__ or "")
    assert list(inspect.signature(SweepPlots(None).lines).parameters)[:4] == ["metric", "x", "hue", "facet"]  # type: ignore[arg-type]  # fmt: skip


def calls(run: et.Run, sweep: et.Sweep) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """What is called with junk, and arguments with which it would work."""
    net = et.network(racks=3, hosts=2)
    plan = run.plan
    known = {"net": net, "src": 0, "dst": 1, "what": plan, "host": "r0h0", "command": "true"}
    for name in FUNCTIONS:
        function = getattr(et, name)
        own = inspect.signature(function).parameters
        good = {key: value for key, value in known.items() if key in own}
        if name == "flow":
            good |= {"src": "r0h0", "dst": "r1h0", "size": "1MB"}
        good |= {"configurations": [[(0, 1)]]} if name == "fixed" else {}
        good |= {"demand": [[0, 1, 0]] * 3} if name == "known" else {}
        yield name, function, good
    for name in ("latency", "utilization", "payload", "fct_percentile", "slowdown", "by_day"):
        good = {"percentile": 50, "quantity": "events"}
        function = getattr(run, name)
        own = inspect.signature(function).parameters
        yield name, function, {key: value for key, value in good.items() if key in own}
    yield "replace", plan.replace, {}
    yield "select", sweep.select, {"values": {}}
    yield "sequence", run.plot.sequence, {}
    yield "utilization", sweep.plot.utilization, {}
    yield "lines", sweep.plot.lines, {"metric": "goodput"}


@pytest.mark.filterwarnings("ignore:percentile 0.5")
def test_wrong_arguments_are_plan_errors_and_never_type_errors(
    run: et.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Nothing is run: what is wrong is said before.
    monkeypatch.setattr("etalon.api.run_all", lambda plans, *_, **__: [run for _ in plans])
    monkeypatch.setattr("etalon.api.run_sweep", lambda plan, *_, **__: None)
    monkeypatch.setattr("etalon.tracing.write", lambda *_, **__: [])
    sweep = et.Sweep(run.plan, [], [])
    refused, others = 0, []
    for name, function, good in calls(run, sweep):
        for key in [*inspect.signature(function).parameters, "no_such_argument"]:
            for junk in JUNK:
                given = {**good, key: junk}
                try:
                    function(**given)
                except EtalonError:
                    refused += 1
                except Exception as error:
                    others.append(f"{name}({key}={junk!r}): {type(error).__name__}: {error}")
        for places in ((), (None,) * 12):
            try:
                function(*places)
            except EtalonError:
                refused += 1
    assert not others, "\n".join(others)
    assert refused > 1000


def test_misfits_are_told_apart() -> None:
    @checked
    def paint(wall: str, colour: str = "red", *, twice: bool = False) -> str:
        return f"{wall} {colour} {twice}"

    for call, sentence in (
        (lambda: paint(), "wall must be given"),
        (lambda: paint("a", color="b"), 'has no argument "color"; did you mean "colour"?'),
        (lambda: paint("a", "b", True), "at most 2 without a name, and 3 are given"),
        (lambda: paint("a", wall="b"), "wall is given twice"),
        (lambda: paint(4), "wall must be text, not 4"),
        (lambda: paint("a", twice=1), "twice must be True or False, not 1"),
    ):
        with pytest.raises(PlanError, match=sentence.replace("?", r"\?")):
            call()
    assert paint("a", twice=True) == "a red True"


def test_what_is_shown_is_short_and_has_no_nanoseconds(small: Plan, run: et.Run) -> None:
    sweep = et.sweep(small, {**GRID, "tdf": [1, 20]}, seeds=2)
    tournament = et.tournament(small, ["cubic", "reno"])
    shown = [run, sweep, small, tournament, small.network, small.schedule, small.bulk[0], small.tcp]
    for one in shown:
        assert len(repr(one)) < 300
        assert "\n" not in repr(one)
        assert "000000" not in repr(one)
    assert repr(sweep) == (
        "<Sweep small: 16 runs over network.voq.packets (4, 8) and bulk.cc (reno, cubic) and tdf (1, 20), 2 seeds>"
    )
    assert repr(small) == "<Plan small: 3 racks of 2 hosts, 2 flows, 30ms, seed 1>"
    for one in (run, sweep, small, tournament):
        page = one._repr_html_()  # type: ignore[attr-defined]
        assert "<table>" in page
        assert ("<img" in page) == (one is not small)
        assert not re.search(r"_ns\b", page)


def test_a_figure_shows_itself_in_a_notebook(run: et.Run) -> None:
    content, meta = run.plot.schedule()._repr_png_()  # type: ignore[attr-defined]
    assert content.startswith(b"\x89PNG")
    assert 300 < meta["width"] < 600


def test_a_tournament_is_fair(small: Plan) -> None:
    names = ["cubic", "reno", "scalable"]
    tournament = et.tournament(small.replace({"bulk.flows": 4}), names)
    assert len(tournament.runs) == 9
    shares = tournament.shares()
    for one in names:
        assert shares[one][one] == pytest.approx(0.5)
        for other in names:
            assert shares[one][other] + shares[other][one] == pytest.approx(1)
    assert set(tournament.standings["cc"]) == set(names)
    (run,) = [
        run
        for point, run in zip(tournament.points, tournament.runs, strict=True)
        if point.values == {"cc": "cubic", "against": "scalable"}
    ]
    assert run.flows["cc"].to_list() == ["cubic"] * 2 + ["scalable"] * 2
    with pytest.raises(PlanError, match=r'"cubi" is not a congestion control'):
        et.tournament(small, ["cubic", "cubi"])
    with pytest.raises(PlanError, match="one flow cannot be shared"):
        et.tournament(small.replace({"bulk.flows": 1}), names)


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (0.479, "0..1", "47.90 %"),
        (1234.5, "us", "1.234 ms"),
        (0.4567, "ms", "456.7 µs"),
        (0.0, "us", "0 µs"),
        (10.87e9, "bit/s", "10.87 Gb/s"),
        (0.99999e9, "bit/s", "1.000 Gb/s"),
        (685, "packets", "685 packets"),
        (1_234_567, "packets", "1\u202f234\u202f567 packets"),
        (None, "us", "-"),
        (float("nan"), "us", "-"),
    ],
)
def test_amounts_have_the_unit_that_suits_them(amount: float | None, unit: str, text: str) -> None:
    assert amounts.humane(amount, unit) == text


def test_a_column_has_one_unit_and_one_number_of_decimals() -> None:
    assert amounts.column([1.5, 1200.0, None], "us") == (["0.002", "1.200", "-"], "ms")
    assert amounts.column([3, 70_000], "packets") == (["3", "70\u202f000"], "packets")
    scales = amounts.units_of([("us", 300.0), ("ms", 12.0), ("bit/s", 5e6)])
    assert (scales("us", [300.0]).full(300.0), scales("ms", [12.0]).full(12.0)) == ("0.3000 ms", "12 ms")  # fmt: skip
