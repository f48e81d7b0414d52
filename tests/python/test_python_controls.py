# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls that users write in Python: beside built-in ones, with parameters, in files, sweeps and folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import ROOT, Answer
from etalon.errors import EtalonError, PlanError
from etalon.results import Run
from etalon.testing import CheckFailed
from written_controls import Cubic, Halving, Reno

sys.path.insert(0, str(ROOT / "benches"))
import hooks

WRITTEN = Path(__file__).with_name("written_controls.py")


pytestmark = pytest.mark.usefixtures("nothing_stays_allowed")


def line(queue: int = 40) -> Any:
    return et.dumbbell("10Gbps", "30us", queue, hosts=2)


def run(*work: Any, net: Any = None, **more: Any) -> Run:
    return et.run(
        net or line(), *work, **{"duration": "60ms", "tdf": 20, "measure": {"flows": [0]}, **more}
    )


class Default(et.CongestionControl):
    """All hooks as they are."""


@pytest.mark.parametrize("control", [Default, Reno])
def test_reno_in_python_is_the_built_in_one(control: Any) -> None:
    for net in (line(16), et.network(racks=3, hosts=2)):
        ours = run(et.bulk(0, 1, cc=control), net=net)
        theirs = run(et.bulk(0, 1, cc="reno"), net=net)
        assert ours.meta["digest"] == theirs.meta["digest"]
        assert ours.tcp.equals(theirs.tcp)


@pytest.mark.parametrize("queue", [16, 40])
def test_cubic_in_python_is_the_built_in_one_within_a_segment(queue: int) -> None:
    ours = run(et.bulk(0, 1, cc=Cubic, flows=1), net=line(queue), duration="300ms")
    theirs = run(et.bulk(0, 1, cc="cubic", flows=1, hystart=0), net=line(queue), duration="300ms")
    both = ours.tcp.join_asof(theirs.tcp, on="t_ns", suffix="_theirs")
    apart = (both["cwnd"] - both["cwnd_theirs"]).abs()
    assert theirs.tcp["cwnd"].n_unique() > 20
    assert apart.max() <= 1


def test_it_stands_beside_built_in_ones() -> None:
    made = run(et.bulk(0, 1, cc=Halving, flows=1, beta=0.7), et.bulk(0, 1, cc="cubic", flows=1))
    assert made.flows["cc"].to_list() == ["Halving.py:Halving", "cubic"]
    assert (made.flows["bytes_delivered"] > 1_000_000).all()
    assert made.plan.bulk[0].params == {"beta": 0.7}
    again = run(et.bulk(0, 1, cc=Halving, flows=1, beta=0.7), et.bulk(0, 1, cc="cubic", flows=1))
    assert again.meta["digest"] == made.meta["digest"]


def test_parameters_have_ranges() -> None:
    with pytest.raises(
        PlanError, match=r"bulk\.cc: beta of .*Halving must be a number from 0\.1 to 0\.9, not 2"
    ):
        run(et.bulk(0, 1, cc=Halving, beta=2))
    with pytest.raises(PlanError, match='has no parameter "gamma"; it has beta'):
        run(et.bulk(0, 1, cc=Halving, gamma=0.5))
    with pytest.raises(PlanError, match="the default 2 must lie between 0 and 1"):
        et.Parameter(2, min=0, max=1)


def test_sweeps_and_tournaments_take_classes(tmp_path: Path) -> None:
    made = et.sweep(
        line(), et.bulk(0, 1), {"bulk.cc": ["reno", Halving]}, duration="20ms", tdf=20, folder=tmp_path / "s"
    )  # fmt: skip
    assert made.table["bulk.cc"].to_list() == ["reno", "Halving.py:Halving"]
    loaded: Any = et.load(tmp_path / "s")
    assert loaded.runs[1].plan.sources.keys() == {"Halving.py"}
    assert (loaded.table["goodput"] > 1e9).all()
    table = et.tournament(line(), et.bulk(0, 1), ["cubic", Halving], duration="20ms", tdf=20).table
    assert set(table["cc"]) == {"cubic", "Halving.py:Halving"}


SCRIPT = """
import etalon as et

SHARE = 0.7


class Mine(et.CongestionControl):
    def on_loss(self, window):
        window.ssthresh = max(2, window.cwnd * SHARE)


if __name__ == "__main__":
    net = et.network(racks=3, hosts=2)
    grid = {"bulk.cc": [Mine, "reno"]}
    made = et.sweep(net, et.strobe(net), et.bulk(0, 1), grid, duration="20ms", tdf=20, jobs=2)
    print(*(run.plan.digest for run in made.runs))
"""


def test_a_script_hands_its_own_class_to_processes_and_each_line_counts(tmp_path: Path) -> None:
    def digests(text: str) -> list[str]:
        (tmp_path / "script.py").write_text(text)
        script = [sys.executable, str(tmp_path / "script.py")]
        return subprocess.run(script, capture_output=True, text=True, check=True).stdout.split()

    before = digests(SCRIPT)
    code = digests(SCRIPT.replace("max(2, ", "max(2.0, "))
    outside = digests(SCRIPT.replace("SHARE = 0.7", "SHARE = 0.8"))
    assert len({before[0], code[0], outside[0]}) == 3
    assert before[1] == code[1] == outside[1], "reno's"


def plan_with(folder: Path, cc: str) -> Path:
    (folder / "my.py").write_text(WRITTEN.read_text())
    plan = folder / "plan.toml"
    plan.write_text(
        f'duration = "10ms"\n[network]\nkind = "dumbbell"\nhosts = 1\n[[bulk]]\nfrom = 0\nto = 1\ncc = "{cc}"\n'
    )
    return plan


def test_plan_files_name_it(tmp_path: Path, etalon: Callable[..., Answer]) -> None:
    plan = plan_with(tmp_path, "my.py:Halving")
    refused = etalon("run", plan, "--out", tmp_path / "run", "--no-figures")
    assert refused.code == 2
    assert "my.py; read it, then allow it with --code" in refused.err
    made = etalon(
        "run",
        plan,
        "--out",
        tmp_path / "run",
        "--no-figures",
        "--code",
        "--set",
        "bulk.params.beta=0.6",
    )
    assert made.code == 0, made.err
    assert (tmp_path / "run" / "my.py").read_text() == WRITTEN.read_text()
    wrong = etalon("run", plan, "--code", "--set", "bulk.params.beta=3")
    assert (wrong.code, "must be a number from 0.1 to 0.9" in wrong.err) == (2, True)
    unknown = etalon("run", plan_with(tmp_path, "my.py:Halfing"), "--code")
    assert 'my.py defines no "Halfing"; it defines Cubic, Halving, Reno' in unknown.err
    linux = etalon("run", plan_with(tmp_path, "my.py:Halving"), "--code", "--engine", "linux")
    assert "congestion controls in Python run on the simulator only" in linux.err


def test_the_list_shows_those_of_a_file(etalon: Callable[..., Answer]) -> None:
    answer = etalon("list", "cc", "--from", WRITTEN)
    assert answer.code == 0
    assert "written_controls.py:Halving" in answer.out
    lines = " ".join(answer.out.split())
    assert "beta = 0.5 (0.1 to 0.9): share of the window that a reduction leaves" in lines
    assert "c = 0.400391 (0.01 to 10)" in lines
    built_in = " ".join(etalon("list", "cc").out.split())
    assert "low_window = 14 (whole, 1 to 1048576): window below which" in built_in
    assert "fast_convergence = 1 (0 or 1)" in built_in
    assert [one["name"] for one in etalon("list", "cc", "--from", WRITTEN, "--json").json] == [
        f"written_controls.py:{name}" for name in ("Cubic", "Halving", "Reno")
    ]
    assert "--from is for `etalon list cc`" in etalon("list", "engines", "--from", WRITTEN).err


class Fails(et.CongestionControl):
    """Fails at its hundredth ACK."""

    def __init__(self) -> None:
        self.left = 100

    def on_ack(self, window: Any, ack: Any) -> None:
        self.left -= 1
        window.cwnd += 1 / self.left


class Nothing(et.CongestionControl):
    """Leaves no number."""

    def on_ack(self, window: Any, ack: Any) -> None:
        window.cwnd = float("nan")


def test_an_exception_ends_the_run_with_file_line_and_flow() -> None:
    number = Fails.on_ack.__code__.co_firstlineno + 2
    said = rf"test_python_controls\.py:{number}: Fails\.on_ack raised ZeroDivisionError: .*it was flow 1's"
    with pytest.raises(EtalonError, match=said) as raised:
        run(et.bulk(0, 1, flows=1), et.bulk(0, 1, cc=Fails, flows=1))
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(
        EtalonError, match=r"Nothing\.on_ack raised ValueError: it leaves a window of NaN"
    ):
        run(et.bulk(0, 1, cc=Nothing))


class Paced(et.CongestionControl):
    """Holds its own rate: a quarter of the link's."""

    wants_pacing = True
    wants_rate_samples = True

    def __init__(self) -> None:
        self.samples = 0

    def on_rate_sample(self, window: Any, sample: Any) -> None:
        self.samples += 1
        assert sample.interval_ns > 0
        assert sample.segments_per_second > 0

    def on_ack(self, window: Any, ack: Any) -> None:
        assert self.samples
        window.cwnd = 64

    def pacing_rate(self, window: Any, mss: int) -> float:
        return 2.5e9 / 8 / 20  # on hosts' clocks, which run 20 times as fast


def test_a_pacing_rate_is_kept() -> None:
    made = run(et.bulk(0, 1, cc=Paced, flows=1), duration="100ms")
    assert made.goodput == pytest.approx(2.5e9, rel=0.05)


class Told(et.CongestionControl):
    """A window of 40 segments while there is a circuit, else of 10."""

    def on_ack(self, window: Any, ack: Any) -> None:
        pass

    def on_tdn(self, window: Any, tdn: int) -> None:
        window.cwnd = 40 if tdn else 10


def test_it_hears_of_circuits() -> None:
    net = et.network(racks=2, hosts=1, voq=100, notify={"before": "0us"})
    week = et.fixed(net, [[(0, 1), (1, 0)], []], day="900us", night="100us")
    work = et.bulk(0, 1, cc=Told)
    table = et.run(net, week, work, duration="20ms", tdf=20, measure={"flows": [0]}).tcp
    assert {10, 40} <= set(table["cwnd"])
    table = table.with_columns(pl.col("cwnd").diff().alias("step"))
    grown = table.filter(pl.col("step") == 30)["t_ns"] % 2_000_000
    shrunk = table.filter(pl.col("step") == -30)["t_ns"] % 2_000_000
    assert len(grown) >= 8
    assert len(shrunk) >= 8
    # As a day begins and as it ends; the sender is looked at with its next packet.
    assert (grown < 100_000).all()
    assert ((shrunk >= 900_000) & (shrunk < 1_000_000)).all()


def test_the_shared_model() -> None:
    checked = et.testing.check(Halving, cases=30)
    assert "3 properties hold" in repr(checked)


class Grows(et.CongestionControl):
    """Grows when it should not."""

    def on_loss(self, window: Any) -> None:
        window.ssthresh = window.cwnd + 1


class Timid(et.CongestionControl):
    """Uses little."""

    def on_ack(self, window: Any, ack: Any) -> None:
        window.cwnd = 2


@pytest.mark.parametrize(
    ("control", "said"),
    [
        (Grows, r"Grows\.on_loss sets ssthresh to \d+ at a window of \d+: a reduction must not grow the window"),
        (Timid, r"Timid uses \d+ % of a path of 1 ms"),
        (Nothing, "its window becomes nan, and must be a number of segments"),
    ],
)  # fmt: skip
def test_what_the_model_forbids_is_found(control: Any, said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        et.testing.check(control, cases=5)


def test_a_hook_costs_less_than_two_microseconds() -> None:
    """In processor time. `pytest -s` prints it."""
    hooks.cost(hooks.Reno, 1, "10ms")
    each, call, _ = hooks.cost(hooks.Reno, 2, "200ms")
    print(f"{call:.2f} us a call, {each:.2f} calls a packet")
    assert each > 0.5
    assert call < 2
