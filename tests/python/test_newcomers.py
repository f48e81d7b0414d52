# SPDX-License-Identifier: MIT OR Apache-2.0
"""What people try first: other words for things, keys that go together, plans that mislead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import etalon as et
from conftest import Answer
from etalon.errors import PlanError
from etalon.figures import draw
from etalon.plan import Plan

Command = Callable[..., Answer]


def test_other_words_for_schedules_are_understood(etalon: Command) -> None:
    with pytest.raises(PlanError, match='did you mean "strobe"'):
        Plan.from_dict({"schedule": {"kind": "rotation"}})
    with pytest.raises(PlanError, match='did you mean "strobe"'):
        Plan.from_dict({"schedule": {"kind": "Rotation"}})
    with pytest.raises(PlanError, match='one circuit switch: take "strobe"'):
        Plan.from_dict({"schedule": {"kind": "round-robin"}})
    with pytest.raises(PlanError, match='did you mean "round-robin"'):
        Plan.from_dict({"schedule": {"kind": "RoundRobin"}})
    with pytest.raises(PlanError, match='"rotor", which is for networks of kind "ocs"'):
        Plan.from_dict({"schedule": {"kind": "rotor", "day": "90us"}})
    answer = etalon("list", "rotation")
    assert answer.code == 2
    assert '"strobe"' in answer.err
    assert "`etalon list schedulers` has it" in etalon("list", "rotor").err


def test_every_other_word_leads_to_a_kind() -> None:
    from etalon.plan.schedules import SCHEDULES

    assert set(SCHEDULES.also.values()) <= set(SCHEDULES.classes)
    assert not set(SCHEDULES.also) & set(SCHEDULES.classes)


@pytest.mark.parametrize("key", ["voq.resize", "ece"])
def test_what_is_announced_a_week_ahead_is_warned_about(key: str) -> None:
    values = {"schedule": {"mimic": 25}, "bulk": [{"from": 0, "to": 1}]}
    plan = Plan.from_dict(values).replace({f"network.{key}.before": "4799us"})
    assert plan.warnings == []
    (sentence,) = plan.replace({f"network.{key}.before": "4.8ms"}).warnings
    assert f"network.{key}.before is 4.8 ms, as long as the week" in sentence


def test_another_file_replaces_the_week_of_a_plan(tmp_path: Path) -> None:
    for name, line in (("a", "180us 20us 0>1 1>0"), ("b", "90us 10us 0>1 1>0")):
        (tmp_path / name).write_text(f"{line}\n")
    text = (
        'network.racks = 2\nschedule = {kind = "fixed", file = "a"}\nbulk = [{from = 0, to = 1}]\n'
    )
    (tmp_path / "plan.toml").write_text(text)
    plan = Plan.load(tmp_path / "plan.toml")
    other = plan.replace({"schedule.file": str(tmp_path / "b")})
    assert (plan.week_ns, other.week_ns) == (200_000, 100_000)


def test_flows_between_all_racks_are_summed_up_for_all_pairs(
    etalon: Command, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'duration = "4ms"\nwarmup = "0ms"\ntdf = 1\nschedule = {kind = "none"}\nnetwork = {racks = 3, hosts = 2}\n'
        '[[poisson]]\nsizes = [["100B", 0.0], ["20kB", 1.0]]\nload = 0.3\n'
    )
    shown = etalon("run", plan, "--no-figures", "--out", tmp_path / "run").out
    assert shown.startswith("all rack pairs")
    run = et.Run.load(tmp_path / "run")
    rate = sum(run.payload(pair=(a, b)) or 0 for a in range(3) for b in range(3) if a != b)
    assert run.payload(pair="all") == pytest.approx(rate)
    assert f"{rate / 1e9:.2f} Gb/s" in shown
    assert etalon(
        "run", plan, "--set", "measure.pair=[0,1]", "--no-figures", "--out", tmp_path / "b"
    ).out.startswith("rack 0 -> 1")


def test_percentiles_say_what_they_leave_out(etalon: Command, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'duration = "2ms"\nwarmup = "0ms"\ntdf = 1\nschedule = {kind = "none"}\n'
        '[[flow]]\nfrom = "r0h0"\nto = "r1h0"\nsize = "20kB"\n'
        '[[flow]]\nfrom = "r0h1"\nto = "r1h1"\nsize = "3303362088B"\nclass = "long"\n'
    )
    shown = etalon("run", plan, "--no-figures", "--out", tmp_path / "run").out
    assert "percentiles exclude 1 unfinished flow, and so are too low" in shown
    assert "kB" not in shown
    assert " GB" in shown


def test_keys_that_go_together_from_the_shell(etalon: Command, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('duration = "5ms"\nwarmup = "1ms"\n[[bulk]]\nfrom = 0\nto = 1\n')
    together = ("--zip", "network.voq.packets=4,8", "--zip", "seed=3,4")
    answer = etalon(
        "sweep", plan, *together, "--set", "tdf=1,20", "--no-figures", "--out", tmp_path / "s"
    )
    assert "4 runs" in answer.out
    wrong = etalon("sweep", plan, "--zip", "tdf=1,2", "--zip", "seed=3")
    assert (wrong.code, wrong.err) == (
        2,
        "error: --zip: all keys need the same number of values; tdf has 2, seed has 1\n",
    )


def test_what_to_cite(etalon: Command, tmp_path: Path) -> None:
    everything = etalon("cite").out
    assert re.findall(r"@\w+\{([\w-]+),", everything) == [
        "etalon",
        "cnsm16",
        "etalon18",
        "harvest",
        "nsdi20",
        "opera",
        "powertcp",
        "rotornet",
        "sigcomm22",
    ]
    week = et.strobe(et.network(racks=2, hosts=1), day="180us", night="20us")
    net = et.network(racks=2, hosts=1, ece={"before": "150us"})
    et.run(net, week, et.bulk(0, 1, cc="retcp"), duration="4ms", warmup="1ms").save(
        tmp_path / "run"
    )
    assert re.findall(r"@\w+\{([\w-]+),", etalon("cite", tmp_path / "run").out) == [
        "etalon",
        "nsdi20",
    ]


@pytest.mark.parametrize("told", ["", "0", "-3", "²", "9" * 5000, "80.5"])
def test_a_width_that_is_none_leaves_tables_as_wide_as_they_need_to_be(
    etalon: Command, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    expected = etalon("list", "papers").out
    monkeypatch.setenv("COLUMNS", told)
    assert etalon("list", "papers").out == expected


def test_what_papers_introduced_is_there_to_be_cited(etalon: Command) -> None:
    """A misspelt name in a `paper.toml` would cite nothing."""
    listed = etalon("list", "--json").json
    known = {one["name"] for kind in ("cc", "schedulers", "routings") for one in listed[kind]}
    assert {*et.reproduce.origins()} - {"tdtcp"} <= known


def test_tables_as_csv(etalon: Command, tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.toml", tmp_path / "run"
    plan.write_text('duration = "5ms"\nwarmup = "1ms"\n[[bulk]]\nfrom = 0\nto = 1\n')
    etalon("run", plan, "--no-figures", "--out", folder)
    assert not list(folder.glob("*.csv"))
    assert etalon("run", plan, "--no-figures", "--csv", "--out", folder).code == 0
    assert pl.read_csv(folder / "flows.csv").height == 16
    names = [{path.stem for path in folder.glob(f"*.{end}")} for end in ("csv", "parquet")]
    assert names[0] == names[1]
    assert et.Run.load(folder).flows.height == 16


def test_many_lines_are_told_apart() -> None:
    points = {f"line {number}": {1: number, 2: number} for number in range(12)}
    (axes,) = draw("lines", points).get_axes()
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 12


def test_a_run_that_is_shorter_than_its_timeouts_says_so(small: Plan) -> None:
    short = small.replace({"duration": "15ms", "warmup": "6ms", "network.voq": 1})
    with pytest.warns(
        et.errors.PlanWarning,
        match=r"1 timeout occurred, and the measured time of 9 ms is shorter than one timeout \(10 ms\)",
    ):
        run = et.run(short)
    assert run.counted("rtos")


def test_a_plan_or_a_paper_is_cited_too(etalon: Command, tmp_path: Path) -> None:
    def cited(*what: object) -> set[str]:
        return set(re.findall(r"@\w+{(\w+),", etalon("cite", *what).out))

    assert cited("opera") == {"etalon", "opera"}
    etalon("examples", "--copy", ".")
    assert cited("rotornet.toml") == {"etalon", "rotornet"}
    assert cited("powertcp.toml", "tdtcp.toml") == {"etalon", "nsdi20", "powertcp", "sigcomm22"}
    assert etalon("cite", "nowhere").code == 2
