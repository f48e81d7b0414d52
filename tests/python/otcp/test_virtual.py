# SPDX-License-Identifier: MIT OR Apache-2.0
"""The whole system in virtual time: Open vSwitch, controller and agents on an emulated host, the same to the byte each time."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Answer, need, need_kernel, need_module

need_module("os_ken", "otcp")
need_module("fastapi", "otcp")

import etalon as et
from etalon.errors import EtalonError
from etalon_otcp.demo import outside, virtual
from etalon_otcp.demo.layout import Layout
from etalon_otcp.demo.outside import Options

pytestmark = pytest.mark.alone


def ready() -> None:
    need_kernel()
    if lacking := outside.missing(emulated=True):
        need(False, "what the demonstration runs", "; ".join(lacking))


def show() -> tuple[str, dict[str, Any]]:
    """What the demonstration says, and its numbers."""
    shown = io.StringIO()
    told = virtual.run(Options(samples=10), shown)
    return shown.getvalue(), told


@pytest.fixture(scope="module")
def first() -> Iterator[tuple[str, dict[str, Any]]]:
    """The demonstration, once."""
    ready()
    try:
        found = outside.programs("quick").values()
    except EtalonError as error:
        need(False, "what the demonstration runs", str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(outside.FOLDER, str(Path(next(iter(found))).parent))
        yield show()


@pytest.mark.slow
def test_the_whole_system_in_virtual_time(first: tuple[str, dict[str, Any]]) -> None:
    shown, told = first
    assert len(told["delays"]) == 12
    for link in told["delays"]:
        assert abs(link["measured_us"] - link["configured_us"]) <= 25, link
    for look in told["without"].values():
        assert look[0]["cwnd"] == "10" and float(look[0]["rto"]) >= 200
    for name, look in told["with"].items():
        assert int(look[0]["cwnd"]) <= 2, name
        assert float(look[0]["rto"]) < 20, name
        assert int(look[0]["ssthresh"]) < 200, name  # BPF's clamp
    for failure in told["failures"]:
        for times in (failure["down"]["applied_ms"], failure["up"]["applied_ms"]):
            assert len(times) == 4
            assert max(times) <= 50
    assert told["restart"]["same"]
    assert told["restart"]["served_s"] <= 3
    assert "agents put back what they set" in shown


@pytest.mark.slow
def test_the_same_to_the_byte(
    first: tuple[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else the machine does, wherever it is called, and whatever happens there."""
    monkeypatch.chdir(tmp_path)
    done, churned = threading.Event(), tmp_path / "file"

    def churn() -> None:
        while not done.wait(0.05):
            churned.touch()
            churned.unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        again = show()
    finally:
        hog.kill()
        hog.wait()
        done.set()
        thread.join()
    assert not (found := difference(again, first)), found


def difference(one: Any, other: Any, where: str = "") -> str:
    """The first place in which two results differ, with both values; empty if there is none."""
    if isinstance(one, str) and isinstance(other, str) and "\n" in one + other:
        one, other = one.splitlines(), other.splitlines()
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    if not isinstance(one, dict) or not isinstance(other, dict):
        return "" if one == other else f"at {where or 'the top'}: {one!r}, and {other!r} before"
    places = [*one, *(key for key in other if key not in one)]
    parts = (difference(one.get(key), other.get(key), f"{where}[{key!r}]") for key in places)
    return next(filter(None, parts), "")


def test_the_first_difference_is_named() -> None:
    assert difference(("a\nb\n", {"x": [1, 2]}), ("a\nb\n", {"x": [1, 2]})) == ""
    assert difference(("a\nb\n", {}), ("a\nc\n", {})) == "at [0][1]: 'b', and 'c' before"
    assert difference({"x": [1, 2]}, {"x": [1, 3]}) == "at ['x'][1]: 2, and 3 before"
    assert difference({"x": 1}, {}) == "at ['x']: 1, and None before"


def test_only_an_emulated_host_is_taken_as_it_is(etalon: Callable[..., Answer]) -> None:
    answer = etalon("otcp", "demo", "--here")
    assert answer.code == 1
    assert "this is not an emulated host" in answer.err


def test_a_tree_of_three_layers_is_the_papers() -> None:
    layout = Layout(racks=4, layers=3, apart=True)
    assert {layer: us for layer, (_, us) in layout.peers().items()} == {
        "rack": 400,
        "pod": 1200,
        "core": 5200,
    }
    assert layout.ports("c1") == ["c1-a1", "c1-a2"]
    with pytest.raises(EtalonError, match="as many in each of its two pods"):
        Layout(racks=3, layers=3)


def test_the_papers_plan_is_one_of_programs() -> None:
    plan = et.Plan.load(ROOT / "papers/cnsm16/plans/delays.toml")
    assert [program.command[0] for program in plan.program] == ["etalon"]
