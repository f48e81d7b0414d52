# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison of engines: what is compared, the numbers of a row, and the page."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import etalon as et
from conftest import Answer
from etalon import controls, engine, pages, validation
from etalon.errors import PlanError
from etalon.validation import Comparison, Experiment, page
from etalon.validation.comparison import Compared, gains
from etalon.validation.experiments import FINITE, UNDILATED
from etalon.validation.quantities import Quantity, retransmissions, utilization

NET = et.network(voq=16)
SHORT = et.experiment(
    NET, et.strobe(NET, mimic=25), et.bulk(0, 1), duration="96ms", warmup="9.6ms", name="short"
)


@pytest.fixture(scope="module")
def row() -> Comparison:
    """One experiment; another seed of the simulator stands for Linux."""
    sim, other = et.run_many([SHORT, SHORT.replace(seed=2)])
    return Comparison(Experiment("short, <16>", SHORT), sim, other)


def test_both_engines_take_all_that_is_compared() -> None:
    for experiment in validation.all_experiments():
        for name in ("sim", "linux"):
            assert not engine.named(name).problems(experiment.plan), experiment.name


def test_every_control_of_both_engines_is_compared_everywhere() -> None:
    names = [experiment.name for experiment in validation.all_experiments()]
    known = controls.controls().items()
    both = {name for name, control in known if {"sim", "linux"} <= {*control.engines}}
    assert {"reno", "cubic", "dctcp", "retcp", "scalable", "bbr"} <= both
    for cc, voq in product(both, ("static 16", "static 64")):
        assert f"{cc}, {voq}" in names
    for cc, tau in product(both - {"retcp"}, ("tau 600", "tau 1800")):
        assert f"{cc}, {tau}" in names
    assert sum(name.startswith("retcp, tau") for name in names) >= 3
    assert any("dumbbell" in name for name in names)
    assert len(set(names)) == len(names)


def test_hosts_without_dilation_mixed_controls_and_flows_that_end_are_compared() -> None:
    experiments = list(validation.all_experiments())
    undilated = [e for e in experiments if e.section is UNDILATED]
    assert {(e.plan.tdf, e.plan.tcp.hz) for e in undilated} == {(1, 250), (1, 1000), (5, 250)}
    assert {e.plan.bulk[0].cc for e in undilated} == {"cubic", "reno", "dctcp", "retcp"}
    finite = [e for e in experiments if e.section is FINITE]
    assert all(e.plan.poisson for e in finite) and len({e.plan.tdf for e in finite}) == 2
    names = {e.name for e in experiments}
    assert all(e.over in names for e in experiments if e.over)
    assert any(len({bulk.cc for bulk in e.plan.bulk}) == 2 for e in experiments)


def test_a_seed_is_that_of_every_run(
    etalon: Callable[..., Answer], row: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []

    def compare(chosen: list[Experiment], **_: object) -> list[Comparison]:
        seeds.extend(experiment.plan.seed for experiment in chosen)
        return [row]

    monkeypatch.setattr(validation, "compare", compare)
    for options in ([], ["--seed", 5]):
        assert etalon("validate", "--only", "web search", "--json", *options).code == 0
    assert seeds == [1] * 4 + [5] * 4


def test_a_row_says_how_far_the_simulator_is_off(row: Comparison) -> None:
    sim, linux = row.sim, row.linux
    assert sim.circuit_utilization and linux.circuit_utilization
    assert sim.meta["digest"] != linux.meta["digest"]
    numbers = {number.quantity.key: number for number in row.numbers}
    expected = 100 * (sim.circuit_utilization - linux.circuit_utilization)
    assert numbers["utilization"].difference == pytest.approx(expected)
    expected = 100 * (sim.latency(99) / linux.latency(99) - 1)
    assert numbers["latency_p99"].difference == pytest.approx(expected)
    pairs = sim.pairs
    packets = int(pairs["circuit_packets"].sum() + pairs["packet_packets"].sum())
    assert retransmissions(sim) == pytest.approx(
        1000 * int(sim.flows["retransmits"].sum()) / packets
    )
    assert row.as_dict()["utilization"]["sim"] == utilization(sim)


def test_a_number_holds_within_its_bound_only() -> None:
    def holds(sim: float, linux: float, *, relative: bool, bound: float | None) -> bool:
        quantity = Quantity("x", "x", "%", lambda run: 0.0, relative=relative, bound=bound)
        return Compared(quantity, sim, linux).holds

    assert holds(55, 50, relative=False, bound=5) and not holds(55.1, 50, relative=False, bound=5)
    assert holds(45, 50, relative=True, bound=10) and not holds(44, 50, relative=True, bound=10)
    assert holds(1, 99, relative=True, bound=None)
    nothing = float("nan")
    assert not holds(nothing, 50, relative=True, bound=10)
    assert not holds(50, 0, relative=True, bound=10)


def test_a_row_holds_if_all_its_numbers_do(row: Comparison) -> None:
    assert row.holds
    assert not Comparison(row.experiment, row.sim, et.run(SHORT.replace(network={"voq": 64}))).holds


def test_how_much_faster_one_is_than_another_is_compared(row: Comparison) -> None:
    other = Comparison(Experiment("slow", SHORT), row.linux, row.sim)
    fast = Comparison(Experiment("fast", SHORT, over="slow"), row.sim, row.sim)
    (gain,) = gains([other, fast])
    assert row.sim.goodput and row.linux.goodput
    assert gain.sim == pytest.approx(row.sim.goodput / row.linux.goodput)
    assert gain.linux == 1 and gain.points == pytest.approx(100 * (gain.sim - 1))
    assert not list(gains([fast]))


def test_a_dumbbell_is_judged_by_its_packet_network() -> None:
    plan = validation.experiments.dumbbell().plan.replace(duration="40ms", warmup="10ms")
    run = et.run(plan)
    assert run.packet_utilization
    assert utilization(run) == pytest.approx(100 * run.packet_utilization)


def test_the_page_keeps_what_people_wrote(row: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "validation.md"
    path.write_text(f"# Title\n\nBefore.\n\n{pages.BEGIN}\nold\n{pages.END}\n\nBehind.\n")
    written = page.write([row], path)
    text = path.read_text()
    assert text.startswith("# Title\n\nBefore.\n\n") and text.endswith("\n\nBehind.\n")
    assert "old" not in text and "| short, <16> |" in text
    assert [p.name for p in written[1:]] == ["validation-sequence.png", "validation-cwnd.png"]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in written[1:])
    again = text
    page.write([row], path)
    assert path.read_text() == again


def test_a_new_page_is_whole(row: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "new.md"
    page.write([row], path)
    assert path.read_text().count("| short, <16> |") == 1


def test_a_page_without_marks_is_left_alone(row: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("mine\n")
    with pytest.raises(PlanError, match="has no line"):
        page.write([row], path)
    assert path.read_text() == "mine\n"
    assert not (tmp_path / "images").exists()
