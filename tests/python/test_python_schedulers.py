# SPDX-License-Identifier: MIT OR Apache-2.0
"""Schedulers that users write in Python: in runs, files, sweeps and folders, and what goes wrong with them."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etalon as et
from conftest import Answer
from etalon.custom.scheduler import Demand, Surroundings
from etalon.errors import EtalonError, PlanError
from etalon.results import Run
from etalon.schedulers import heaviest_matching
from etalon.testing import CheckFailed

SHARE = 1
"""What the scheduler below uses from around it."""
TABLE = np.array([3, 1, 4])


def column(row: Any) -> int:
    """A helper: the fullest column."""
    return int(row.argmax()) * SHARE


@et.scheduler
def fullest(demand: Demand, network: Surroundings) -> Any:
    """One circuit, of the pair with most demand."""
    if not demand.any():
        return []
    src = int(demand.max(axis=1).argmax())
    return [([(src, column(demand[src]))], "180us")]


@et.scheduler
def heaviest(demand: Demand, network: Surroundings) -> Any:
    """What max-weight does: the heaviest assignment, as far as it has demand, for a whole window."""
    matching = heaviest_matching(demand)
    chosen = [(src, dst) for src, dst in enumerate(matching) if src != dst and demand[src, dst] > 0]
    return [(chosen, network.window_ns - network.night_ns)]


def net() -> Any:
    return et.network(racks=4, hosts=2)


def run(week: Any, **more: Any) -> Run:
    flows = [et.bulk(0, 1), et.bulk(2, 3), et.bulk(1, 3)]
    return et.run(net(), week, *flows, **{"duration": "12ms", "tdf": 1, **more})


def test_a_scheduler_written_again_in_python_gives_the_same_run() -> None:
    theirs = run(et.computed(net(), "max-weight"))
    ours = run(et.computed(net(), heaviest))
    assert ours.meta["digest"] == theirs.meta["digest"]
    assert ours.meta["schedule"] == theirs.meta["schedule"]
    assert ours.plan.digest != theirs.plan.digest


def test_weeks_are_as_long_as_the_answer() -> None:
    made = run(et.computed(net(), fullest))
    assert made.meta["schedule"]["weeks"] > 40  # of 200 us, but for the first, in 12 ms
    assert made.circuit_utilization > 0


def test_thinking_costs_what_the_plan_says() -> None:
    quick = run(et.computed(net(), fullest))
    slow = run(et.computed(net(), fullest, compute="1ms"))
    assert slow.meta["schedule"]["weeks"] <= 12 < quick.meta["schedule"]["weeks"]


def test_a_function_is_given_demand_names_and_time(tmp_path: Path) -> None:
    seen = tmp_path / "seen.py"
    seen.write_text(
        "def look(demand, network):\n"
        "    import json\n"
        f"    with open({str(tmp_path / 'seen.jsonl')!r}, 'a') as out:\n"
        "        row = [network.now_ns, network.racks, network.circuit_bps, str(demand.dtype), demand.shape]\n"
        "        print(json.dumps(row), file=out)\n"
        "    return [([('r0', 'r1')], '500us')]\n"
    )
    run(et.computed(net(), f"{seen}:look"))
    first, second, *_ = (tmp_path / "seen.jsonl").read_text().splitlines()
    assert first == '[0, ["r0", "r1", "r2", "r3"], 80000000000, "uint64", [4, 4]]'
    assert second.startswith("[520000,")  # as the first week ends


def plan_with(folder: Path, code: str, name: str = "f") -> Path:
    (folder / "my.py").write_text(code)
    plan = folder / "plan.toml"
    plan.write_text(
        'duration = "6ms"\ntdf = 1\n[network]\nracks = 3\nhosts = 1\n'
        f'[schedule]\nkind = "my.py:{name}"\n[[bulk]]\nfrom = 0\nto = 1\n'
    )
    return plan


GOOD = "def f(demand, network):\n    return [([(0, 1)], '400us'), ([1, 2, 0], 300_000)]\n"


def test_a_plans_code_runs_only_if_asked_for(tmp_path: Path, etalon: Callable[..., Answer]) -> None:
    ran = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).write_text('yes')\n"
    plan = plan_with(tmp_path, ran + GOOD)
    refused = etalon("run", plan, "--out", tmp_path / "run", "--no-figures")
    assert refused.code == 2
    assert (
        "plan.toml: the plan runs code of my.py; read it, then allow it with --code" in refused.err
    )
    assert not (tmp_path / "ran").exists()
    with pytest.raises(PlanError, match="allow it with --code"):
        et.run(str(plan))
    assert et.load(plan).sources == {"my.py": (tmp_path / "my.py").read_text()}  # type: ignore[union-attr]
    assert not (tmp_path / "ran").exists()
    made = etalon("run", plan, "--out", tmp_path / "run", "--no-figures", "--code")
    assert made.code == 0, made.err
    assert (tmp_path / "ran").exists()


pytestmark = pytest.mark.usefixtures("nothing_stays_allowed")


def test_a_runs_folder_keeps_the_source(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, GOOD)
    made = et.run(str(plan), code=True)
    folder = made.save(tmp_path / "run")
    assert (folder / "my.py").read_text() == GOOD
    shutil.rmtree(tmp_path / "my.py", ignore_errors=True)
    (tmp_path / "my.py").unlink()
    again = et.run(str(folder / "plan.toml"), code=True)
    assert again.meta["digest"] == made.meta["digest"]
    assert again.plan.digest == made.plan.digest


def test_the_source_is_part_of_the_identity(tmp_path: Path) -> None:
    one = et.load(plan_with(tmp_path, GOOD))
    other = et.load(plan_with(tmp_path, GOOD + "# a word more\n"))
    assert one.digest != other.digest  # type: ignore[union-attr]


def test_a_saved_plan_does_not_replace_other_code(tmp_path: Path) -> None:
    plan = et.load(plan_with(tmp_path, GOOD))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "my.py").write_text("mine")
    with pytest.raises(PlanError, match=r"my\.py: already holds"):
        plan.save(tmp_path / "other" / "plan.toml")  # type: ignore[union-attr]
    assert (tmp_path / "other" / "my.py").read_text() == "mine"
    assert not (tmp_path / "other" / "plan.toml").exists()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("None", r"my\.py:1: f answers None: it must be a list of \(matching, duration\)"),
        ("[([(0, 3)], '400us')]", r"day 0: there is no rack 3 \(racks 0\.\.2, or r0\.\.r2\)"),
        ("[([(0, 'r7')], '400us')]", 'there is no rack "r7"'),
        ("[([(0, 0)], '400us')]", "would join rack 0 to itself"),
        ("[([(0, 1), (0, 2)], '400us')]", "rack 0 is the source of two circuits"),
        ("[([(0, 1), (2, 1)], '400us')]", "rack 1 is the destination of two circuits"),
        ("[([1, 1, -1], '400us')]", "rack 1 is the destination|would join"),
        ("[([1, 2], '400us')]", "has 2 destinations for 3 racks"),
        ("[([(0, 1)], '40us')]", 'day 0 lasts "40us", shorter than the shortest day of 180us'),
        ("[([(0, 1)], 'soon')]", 'day 0 lasts "soon", which does not start with a number'),
        ("[([(0, 1)], '3ms')]", "longer than the window of 2 ?ms"),
        ("[([(0, 1)], '400us')] * 9", "its 9 days and nights last 3.78 ?ms"),
        ("[(0, 1)]", "day 0"),
        ("7", "raised TypeError: 'int' object is not iterable"),
    ],
)  # fmt: skip
def test_answers_are_checked_as_files_are(tmp_path: Path, answer: str, said: str) -> None:
    plan = plan_with(tmp_path, f"def f(demand, network):\n    return {answer}\n")
    with pytest.raises(EtalonError, match=said) as raised:
        et.run(str(plan), code=True)
    assert "it was given 3 racks at 0 ns with 0B in all" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_exception_ends_the_run_with_its_place(tmp_path: Path) -> None:
    code = "def g(x):\n    return 1 / x\n\n\ndef f(demand, network):\n    return g(0) if demand.any() else []\n"
    plan = plan_with(tmp_path, code)
    with pytest.raises(
        EtalonError, match=r"my\.py:2: f raised ZeroDivisionError: .*most of it"
    ) as e:
        et.run(str(plan), code=True)
    assert isinstance(e.value.__cause__, ZeroDivisionError)


def test_places_of_captured_functions_are_those_of_the_script() -> None:
    def broken(demand: Demand, network: Surroundings) -> Any:
        return TABLE[99]

    line = broken.__code__.co_firstlineno + 1
    with pytest.raises(
        EtalonError, match=rf"test_python_schedulers\.py:{line}: broken raised IndexError"
    ):
        run(et.computed(net(), broken))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def g(): pass\n", 'my.py defines no "f"; it defines g'),
        ("def f(\n", r"my\.py:1: not valid Python"),
        ("raise OSError('no')\ndef f(demand, network): return []\n", r"my\.py:1: OSError: no"),
        ("import nowhere_to_be_found\nf = 1\n", "my.py:1: ModuleNotFoundError"),
        ("f = 1\n", "f is not a function"),
    ],
)
def test_files_that_are_no_schedulers_are_refused(tmp_path: Path, code: str, said: str) -> None:
    with pytest.raises(EtalonError, match=said):
        et.run(str(plan_with(tmp_path, code)), code=True)


def test_what_cannot_be_kept_is_refused() -> None:
    thing = object()

    def uses(demand: Demand, network: Surroundings) -> Any:
        return [thing]

    with pytest.raises(PlanError, match="uses uses thing, a object, which cannot be kept"):
        et.computed(net(), uses)


def test_what_a_function_uses_is_kept() -> None:
    factor = 3

    def closes(demand: Demand, network: Surroundings) -> Any:
        return [([(0, int(TABLE[1]) * factor - 2)], "400us")] if np.any(demand) else []

    text = et.computed(net(), closes).source["closes.py"]  # type: ignore[attr-defined]
    assert "factor = 3" in text
    assert "import numpy as np" in text
    space: dict[str, Any] = {}
    exec(compile(text, "closes.py", "exec"), space)
    assert space["closes"](np.ones((2, 2)), None) == [([(0, 1)], "400us")]
    text = et.computed(net(), fullest).source["fullest.py"]  # type: ignore[attr-defined]
    assert "def column" in text
    assert "SHARE = 1" in text


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages", "mine"])
def test_modules_of_the_user_and_of_the_system_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    name = f"of_{folder.partition('-')[0]}"
    place = tmp_path / folder
    place.mkdir()
    (place / f"{name}.py").write_text("ONE = 1\n")
    monkeypatch.syspath_prepend(place)
    module = importlib.import_module(name)

    def uses(demand: Demand, network: Surroundings) -> Any:
        return [([(0, module.ONE)], "400us")]

    if folder == "mine":
        with pytest.raises(PlanError, match="uses the module of_mine, which is not installed"):
            et.computed(net(), uses)
    else:
        text = et.computed(net(), uses).source["uses.py"]  # type: ignore[attr-defined]
        assert f"import {name} as module" in text


def test_each_run_begins_anew(tmp_path: Path) -> None:
    code = "calls = []\ndef f(demand, network):\n    calls.append(1)\n    return [([(0, 1)], 180_000 + 1000 * len(calls))]\n"
    plan = plan_with(tmp_path, code)
    runs = [et.run(str(plan), code=True).meta["digest"] for _ in range(2)]
    assert runs[0] == runs[1]


def test_sweeps_take_functions_and_resume(tmp_path: Path) -> None:
    def sweep() -> Any:
        return et.sweep(
            net(), et.computed(net(), "solstice"), et.bulk(0, 1),
            {"schedule.kind": ["solstice", fullest]}, duration="6ms", tdf=1, folder=tmp_path / "s", jobs=2,
        )  # fmt: skip

    made = sweep()
    assert made.table["schedule.kind"].to_list() == ["solstice", "fullest.py:fullest"]
    assert sweep().table.equals(made.table)
    loaded = et.load(tmp_path / "s")
    assert [one.plan.digest for one in loaded.runs] == [one.plan.digest for one in made.runs]  # type: ignore[union-attr]


def test_one_week_without_a_run() -> None:
    demand = np.array([[0, 9_000_000, 0], [0, 0, 1], [0, 0, 0]])
    week = et.schedule(demand, fullest)
    assert week.configurations[0]["sources"] == [-1, 0, -1]
    # 180 us at 80 Gb/s.
    assert week.served.tolist() == [[0, 1_800_000, 0], [0, 0, 0], [0, 0, 0]]
    assert week.scheduler == "fullest"
    assert et.schedule(demand, "max-weight").served.sum() == 9_000_001


def test_the_shared_properties() -> None:
    checked = et.testing.check(fullest, cases=40)
    assert "3 properties hold" in repr(checked)
    figure = checked.plot()
    assert figure.axes[0].get_ylabel() == "carried in a week (%)"


def bad_day(demand: Demand, network: Surroundings) -> Any:
    """Too short where there is much demand."""
    return [([(0, 1)], 180_000 if demand.max() < 5_000_000 else 1000)]


def unsteady(demand: Demand, network: Surroundings) -> Any:
    """Depends on more than its arguments."""
    return [([(0, 1)], 180_000 + int(np.random.random() * 1e6))]


def test_properties_that_are_missing_are_found() -> None:
    with pytest.raises(CheckFailed, match=r"day 0 lasts 1000, shorter than .* the demand: \[\["):
        et.testing.check(bad_day, cases=40)
    with pytest.raises(AssertionError, match=r"draw random numbers only from network\.rng"):
        et.testing.check(unsteady, cases=40)


def test_the_random_stream_is_the_seeds() -> None:
    def draws(demand: Demand, network: Surroundings) -> Any:
        return [([(0, 1)], 180_000 + int(network.rng.integers(1_000_000)))]

    et.testing.check(draws, cases=20)
    seeds = [run(et.computed(net(), draws), seed=seed).meta["digest"] for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]
